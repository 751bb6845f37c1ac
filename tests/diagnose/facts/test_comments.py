"""What comments of scripts say of running out, and what headings say."""

from __future__ import annotations

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current

COMMAND = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\\n    trainer.n_gpus_per_node=8 \\\n    trainer.nnodes=1"
SCRIPT = (
    "#!/bin/bash\nset -x\n# Empirical value that stops the CuMemAllocator wake-up OOM under vLLM\nUTIL=0.6\n" + COMMAND
)


def kind(text: str) -> object:
    return read_facts(read(text), {}, current()).values.get("oom_kind")


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT,
        f"8x H100 80GB, does it fit?\n\n{SCRIPT}",
        f"#!/bin/bash\n# without offload this OOMs on 40GB cards\n{COMMAND}\n\n8x H100 80GB, will it fit?",
        COMMAND.replace("\n", "\n    # Note: use beta=0; otherwise it leads to Out-of-Memory (OOM) errors\n", 1),
        COMMAND.replace("8 \\", "8 \\  # 16 OOMs"),
        f"export A=1\n\n# more OOMs on one node\n\n{COMMAND}",
        "micro = 4  # 8 OOMs in backward\ntrainer = GRPOTrainer(args=args)",
        "args = GRPOConfig(\n    # 8 OOMs in backward\n    per_device_train_batch_size=4,\n)",
        "data:\n  train_batch_size: 8  # 16 OOMs\n  max_length: 512",
        f"{COMMAND}\n# this OOMs with less than 8 cards",
    ],
)
def test_a_comment_tells_no_failure(text: str) -> None:
    assert kind(text) is None


@pytest.mark.parametrize(
    "comment",
    [
        'export CUDA_VISIBLE_DEVICES="0,1,2,3" # you can choose which gpus to use',
        "GPUS=8  # how many GPUs does this need? see the docs",
    ],
)
def test_a_comment_asks_nothing_of_this_run(comment: str) -> None:
    script = f"#!/bin/bash\n{comment}\n{COMMAND}\n\ntorch.OutOfMemoryError: CUDA out of memory."
    assert "asks_hardware" not in read_facts(read(script), {}, current()).values
    asked = f"{script}\n\nHow many GPUs are needed for this?"
    assert read_facts(read(asked), {}, current()).values["asks_hardware"] is True


@pytest.mark.parametrize(
    "text",
    [
        f"# OOM in actor update\n\nWe run this:\n{COMMAND}",
        f"# OOM in actor update\n{COMMAND}",
        f"# OOM in actor update\n```\n{COMMAND}\n```",
        f"{COMMAND}\n\n# It goes OOM in the actor update\n\nWe have 8 cards.",
        f"{COMMAND}\n# then OOM\nNo log beyond this.",
        "# Training OOMs after 20 steps\nWith this config: lr 1e-6, 8 cards.",
        f"{SCRIPT}\n\nIt OOMs at step 3.",
        f"# OOM in update_actor\n# step 3\n{COMMAND}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    ],
)
def test_a_heading_and_a_failure_elsewhere_tell_one(text: str) -> None:
    assert kind(text) is not None


def test_a_remark_behind_a_command_tells_of_the_machine() -> None:
    values = read_facts(read("accelerate launch -m axolotl.cli.train c.yml   # 2x A100 40GB"), {}, current()).values
    assert (values["n_gpus"], values["gpu_model"], values["gpu_mem_gib"]) == (2, "A100", 40)
    quoted = read_facts(read("python train.py --prompt 'a # 2x A100 40GB'"), {}, current()).values
    assert "gpu_model" not in quoted


CONFIG = """# Qwen2.5-7B on 8x A100-80GB
policy:
  model_name: /models/base  # Qwen2.5-7B
  lora_cfg:
    enabled: False  # Set to True to enable LoRA fine-tuning
    dim: 8  # LoRA rank, 16 or 32 for harder tasks
  # for PPO or DAPO, with Qwen/QwQ-32B for one
  micro_batch: 4  # Megatron reads this too, in server mode
  # profile the model in `update_policy`
  profiler:
    enable: false

  # 13 GiB on 4x H20 96GB
  num_processes: 8
"""


def test_comments_of_a_configuration_file_describe_its_keys() -> None:
    values = read_facts(read(f"uv run examples/run_dpo.py\n{CONFIG}\nCUDA out of memory."), {}, current()).values
    assert (values["gpu_model"], values["n_gpus"], values["params_b"]) == ("A100", 8, 7)
    assert not {"phase", "lora_rank"} & values.keys()
    assert (values["algo"], values["full_or_lora"]) == ("dpo", "full")
    assert (values["strategy"], values["rollout_mode"]) == ("fsdp2", "colocated")


@pytest.mark.parametrize(
    ("comment", "id", "value"),
    [
        ("# I use QLoRA here", "full_or_lora", "qlora"),
        ("# 32 goes OOM in the actor update", "phase", "actor_update"),
        ("# 我用的是 PPO", "algo", "ppo"),
        ("# GRPO trainer config", "algo", "grpo"),
    ],
)
def test_what_somebody_says_of_the_own_run_in_a_file_counts(comment: str, id: str, value: str) -> None:
    config = f"actor:\n  path: /models/base\n  {comment}\n  micro_batch: 4\n  lr: 1e-6\n"
    assert read_facts(read(f"{config}\ntorch.OutOfMemoryError: CUDA out of memory."), {}, current()).values[id] == value


def test_what_somebody_tried_counts_in_a_file_as_well() -> None:
    config = "actor:\n  path: /models/base\n  micro_batch_size: 1\n  gradient_checkpointing: true  # tried, did not help\n  lr: 1e-6\n"
    found = read_facts(read(f"{config}\ntorch.OutOfMemoryError: CUDA out of memory."), {}, current()).tried
    assert [one.lever for one in found] == ["checkpointing.activation.on"]


def test_what_a_dropped_comment_captured_is_no_fact() -> None:
    config = "trainer:\n  nodes: 1\n  # the job shuts down after 10 hours of training\n  redundant_time: 0\n"
    assert "steps_passed" not in read_facts(read(f"{config}\nCUDA out of memory."), {}, current()).values
    told = read_facts(read(f"{config}\nCUDA out of memory after 10 hours of training."), {}, current()).values
    assert told["steps_passed"] is True


@pytest.mark.parametrize(
    "comment", ["# sometimes workers that start at the same time die", "# in update_actor: see the docs"]
)
def test_a_place_in_a_comment_of_a_script_is_no_place_of_the_failure(comment: str) -> None:
    script = f"#!/bin/bash\n#SBATCH -N 2\n{comment}\nsleep 10\n{COMMAND}\n\ntorch.OutOfMemoryError: CUDA out of memory."
    assert "phase" not in read_facts(read(script), {}, current()).values


def test_comments_of_toml_describe_its_keys() -> None:
    config = (
        '[trainer.model]\nname = "Qwen/Qwen3-0.6B"\n# External endpoints expose no vLLM\nseq_len = 2048  # for PPO\n'
    )
    assert not {"rollout_engine", "algo"} & read_facts(read(config), {}, current()).values.keys()


def test_a_data_set_and_a_style_are_no_algorithm() -> None:
    for text in ("grpo on dapo-math-17k", "DAPO-style GRPO", "a PPO-like clipped loss in GRPO"):
        assert read_facts(read(text), {}, current()).values["algo"] == "grpo"


def test_what_a_file_lists_to_be_put_together_with_is_no_setting_of_it() -> None:
    """Presets of which a setting below names one, and keys of adapters that stand there whether there are any or not."""
    config = (
        "defaults:\n  - ../config/deepspeed_zero3@_here_\n  - ../config/deepspeed_zero3_cpuoffload@_here_\n"
        "actor_train:\n  strategy_args:\n    strategy_name: deepspeed_train\n    strategy_config: ${deepspeed_zero3}\n"
        "peft:\n  lora_dtype: null\n  lora_A_init: xavier\n"
    )
    values = read_facts(read(f"roll\n{config}"), {}, current()).values
    assert (values["zero_stage"], values["optimizer_on_cpu"], values["full_or_lora"]) == (3, False, "full")
