"""What DeepSpeed is told goes where the person told it the rest: into its JSON, or into the launcher's file; no file is made up."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 28.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which "
    "5.02 GiB is free.\n"
)
TRL = "trl sft --model_name_or_path Qwen/Qwen2.5-7B --dtype bfloat16 --per_device_train_batch_size 1 --max_length 2048"
LAUNCHED = "accelerate launch --config_file ds.yaml sft.py --model_name_or_path Qwen/Qwen2.5-7B --dtype bfloat16 --max_length 2048\nTRL\n"
JSON = '{\n  "zero_optimization": {"stage": 2, "overlap_comm": true},\n  "bf16": {"enabled": true}\n}\n'
YAML = "deepspeed_config:\n  gradient_accumulation_steps: 1\n  zero_stage: 2\ndistributed_type: DEEPSPEED\nnum_processes: 2\n"


def changed(text: str, slug: str) -> list[tuple[str, str]]:
    found = diagnose(text + "2x A100 80GB\n" + OOM, {}, current(), ())
    return [(one.key, one.after) for lever in found.prescriptions if lever.lever.slug == slug for one in lever.changes]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"{TRL} --deepspeed local/zero2.json\n", "zero_optimization.offload_optimizer.device"),
        (f"{JSON}{TRL} --deepspeed ds.json\n", "zero_optimization.offload_optimizer.device"),
        (YAML + LAUNCHED, "deepspeed_config.offload_optimizer_device"),
    ],
)
def test_an_offload_is_spelled_as_the_file_that_tells_the_stage_takes_it(text, key):
    assert changed(text, "offload.optimizer.on") == [(key, "cpu")]


@pytest.mark.parametrize(
    ("file", "after"),
    [
        ("ds_config_zero2.json", "ds_config_zero3.json"),
        ("deepspeed_configs/zero2.json", "deepspeed_configs/zero3.json"),
        ("conf/ds_z2_bf16.json", "conf/ds_z3_bf16.json"),
        ("ds_config_stage2.json", "ds_config_stage3.json"),
    ],
)
def test_a_file_of_one_s_own_keeps_its_name_but_for_the_stage(file, after):
    text = f"deepspeed --num_gpus 2 train.py --deepspeed {file} --model_name_or_path Qwen/Qwen2.5-7B --bf16 --gradient_checkpointing\n"
    assert changed(text, "shard.zero_stage.up") == [("deepspeed", after)]


@pytest.mark.parametrize(
    ("file", "key", "after"),
    [
        ("local_scripts/zero2.json", "deepspeed", "local_scripts/zero3.json"),
        ("ds_stage2_bf16.json", "deepspeed", "ds_stage3_bf16.json"),
        ("zero2_offload.json", "deepspeed", "zero3_offload.json"),
        ("conf/ds_config.json", "zero_optimization.stage", "3"),
    ],
)
def test_trl_is_given_the_next_stage_where_it_takes_deepspeeds_file(file, key, after):
    assert changed(f"{TRL} --deepspeed {file}\n", "shard.zero_stage.up") == [(key, after)]


@pytest.mark.parametrize(
    ("text", "key", "after"),
    [
        (
            "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full --torch_dtype bfloat16 --deepspeed zero3_offload",
            "deepspeed",
            "zero3",
        ),
        (
            "llamafactory-cli train --stage sft --finetuning_type full --model_name_or_path Qwen/Qwen2.5-7B-Instruct --bf16 true "
            "--deepspeed examples/deepspeed/ds_z3_offload_config.json",
            "deepspeed",
            "examples/deepspeed/ds_z3_config.json",
        ),
    ],
)
def test_an_offload_is_taken_back_by_the_word_that_does_not_name_the_host(text, key, after):
    failed = "8x H200 141GB\nOut of memory: Killed process 4 (python) total-vm:187340116kB, anon-rss:133561216kB\n"
    found = diagnose(f"{text}\n{failed}", {}, current(), ())
    changes = [
        one for lever in found.prescriptions if lever.lever.slug == "offload.optimizer.off" for one in lever.changes
    ]
    assert (key, after) in [(one.key, one.after) for one in changes]


@pytest.mark.parametrize("file", ["conf/zero3_offload.json", "my_zero2_offload.json"])
def test_an_offload_that_a_file_of_one_s_own_names_is_taken_back_inside_it(file):
    text = f"{TRL} --deepspeed {file}\n8x H200 141GB\nOut of memory: Killed process 4 (python) total-vm:187340116kB, anon-rss:133561216kB\n"
    found = diagnose(text, {}, current(), ())
    changes = [
        one for lever in found.prescriptions if lever.lever.slug == "offload.optimizer.off" for one in lever.changes
    ]
    assert [(one.key, one.after) for one in changes] == [("zero_optimization.offload_optimizer.device", "none")]


def test_a_state_that_only_moves_between_the_phases_is_kept_on_the_host_by_deepspeed_too() -> None:
    text = (
        "ROLL, Qwen2.5-32B on two machines with 8 H20 96GB, strategy_name: deepspeed_train, strategy_config ${deepspeed_zero3}, "
        "per_device_train_batch_size: 1\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 540.00 MiB. GPU 3 has a total capacity of 95.22 GiB of which "
        "268.00 MiB is free. Of the allocated memory 92.40 GiB is allocated by PyTorch, "
        "and 1.01 GiB is reserved by PyTorch but unallocated.\n"
        '  File "/w/roll/distributed/strategy/deepspeed_strategy.py", line 398, in train_step\n    self.model.step()\n'
        '  File "/w/site-packages/deepspeed/runtime/zero/stage3.py", line 2101, in step\n    self._optimizer_step(sub_group_id)\n'
    )
    first = diagnose(text, {}, current(), ()).prescriptions[0]
    assert first.lever.slug == "offload.optimizer.step.on"
    assert [(one.key, one.after) for one in first.changes] == [
        ("actor_train.strategy_args.strategy_config", "${deepspeed_zero3_cpuoffload}")
    ]
