"""Flags that a sentence leads to: the last one of a row without a word of its own ends with its clause."""

import pytest

from diagnose.ingest import read


def _flags(text):
    return {one.key: one.value for one in read(text).settings}


@pytest.mark.parametrize("text", ["should I use --adam_offload, or more cards?", "what is --adam_offload; a switch?"])
def test_a_flag_that_stands_alone_before_a_comma_is_not_set(text):
    assert "adam_offload" not in _flags(text)


@pytest.mark.parametrize("end", [", no adam offload.", "; still OOM", "，还是 OOM"])
def test_the_last_switch_of_a_row_is_set_where_a_comma_ends_it(end):
    assert _flags(f"one card, --zero_stage 2 --vllm_gpu_memory_utilization 0.3 --vllm_enable_sleep{end}") == {
        "zero_stage": "2",
        "vllm_gpu_memory_utilization": "0.3",
        "vllm_enable_sleep": "true",
    }


@pytest.mark.parametrize("remark", ["(deepspeed --num_gpus 1)", "(yes, really)", "（which I need）"])
def test_a_remark_in_brackets_is_no_value_of_the_switch_before_it(remark):
    flags = _flags(f"python train.py --micro_train_batch_size 1 --gradient_checkpointing {remark}")
    assert flags["gradient_checkpointing"] == "true"


def test_a_pair_in_brackets_is_one():
    assert _flags("python train.py --betas (0.9,0.95) --lr 1e-6")["betas"] == "(0.9,0.95)"


SAID = "host has 1TB, free -h says 870G available!! why is it killing my process. 4x L40S, docker run --gpus all --memory 96g"


@pytest.mark.parametrize("line", [SAID, SAID.replace("1TB,", "1TB"), SAID.replace("available!!", "available.")])
def test_a_sentence_that_tells_of_commands_is_none(line):
    assert not read(line).commands


@pytest.mark.parametrize(
    "line",
    [
        "srun -p gpu -N 1 --gres=gpu:8 --ntasks 1 train",
        "mpirun -np 8 -H host1:4,host2:4 prog --zero_stage 3 --lr 1",
        "docker run -it -v /data:/data image --gpus all --memory 96g",
    ],
)
def test_short_options_before_flags_are_of_a_command(line):
    assert read(line).commands
