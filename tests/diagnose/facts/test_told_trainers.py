"""Cards that train beside an engine that is served from others, as people say it."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

TRL = (
    "{words}\ntrl 0.16.0, GRPO, Qwen2.5-1.5B-Instruct\nper_device_train_batch_size 8\nnum_generations 6\n"
    '  File "trl/trainer/grpo_trainer.py", line 1063, in compute_loss\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB.\n"
)


def read(words):
    return diagnose(TRL.format(words=words), {}, current(), []).facts.values


@pytest.mark.parametrize(
    ("words", "trains"),
    [
        ("4x L40S 48GB, server mode vllm on gpu 3 (so 3 training processes)", 3),
        ("8x A100 80GB, vllm server mode, 6 training ranks", 6),
        ("4x L40S 48GB, server mode, vLLM server runs on GPU 3", 3),
        ("8x A100 80GB, server mode, vllm on gpus 6,7", 6),
        ("8 卡 A100 80G，server 模式，vllm 放在 gpu 4-7", 4),
        ("4 卡 L40S 48G，server 模式，3 个训练进程", 3),
    ],
)
def test_the_cards_beside_the_engine_train(words, trains):
    assert read(words)["trainer_gpus"] == trains


@pytest.mark.parametrize(
    "words",
    [
        "4x L40S 48GB, server mode vllm on gpu 7 of the other machine",
        "4x L40S 48GB, vllm colocate, vllm on gpu 3 prints",
        "4x L40S 48GB, server mode, 4 training processes",
    ],
)
def test_what_is_no_part_of_the_runs_cards_takes_none_away(words):
    assert read(words)["trainer_gpus"] == 4


def test_prompts_rounded_down_leave_the_micro_batch_as_it_is_written():
    """4 × 8 rows hold five whole groups of 6 and a rest."""
    found = read("4x L40S 48GB, vllm colocate")
    assert (found["micro_batch"], found["train_batch_size"]) == (8, 5)


@pytest.mark.parametrize(
    ("text", "algo"),
    [
        ("Mixtral ppo oom\n\ntrain_dpo mixtral-8x7b-instruct, zero3, bs 1", "dpo"),
        ("RLHF PPO 显存不足\n跑 train_sft.py 的时候爆显存", "sft"),
        ("PPO oom after the train_sft and train_dpo stages", "ppo"),
        ("PPO oom\nrunning train_sft first, then train_ppo_ray", "ppo"),
    ],
)
def test_a_trainer_that_is_named_as_what_runs_outranks_the_heading(text, algo):
    found = diagnose(f"{text}\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n8x A100 80GB\n", {}, current(), [])
    assert found.facts.values["algo"] == algo
