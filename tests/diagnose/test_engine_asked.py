"""On which cards the engine runs is not asked where a whole command leaves it where it is by default."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

HOST = (
    "8x H100 80GB, host RAM 256 GB\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    "Memory on the node (IP: 10.0.0.1, ID: abc) where the task (actor ID: x, name=W.__init__, pid=100, memory used=40.00GB) was running "
    "was 250.10GB / 256.00GB (0.976953), which exceeds the memory usage threshold of 0.95.\n"
)
SETTINGS = (
    "policy.dtensor_cfg.enabled=true policy.dtensor_cfg.cpu_offload=true cluster.gpus_per_node=8 cluster.num_nodes=1 "
    "policy.max_total_sequence_length=4096 policy.train_micro_batch_size=1\n"
)
WHOLE = f"uv run examples/run_grpo.py policy.model_name=Qwen/Qwen2.5-7B-Instruct {SETTINGS}"


def asked(text: str) -> list[str]:
    return [one.question.fact for one in diagnose(text, {}, current(), ()).questions]


def test_it_asks_where_only_a_part_is_pasted() -> None:
    assert "rollout_mode" in asked(f"The relevant flags:\n{WHOLE}{HOST}")


@pytest.mark.parametrize("runner", ["", "python "])
def test_it_does_not_ask_of_a_whole_command(runner: str) -> None:
    assert "rollout_mode" not in asked(WHOLE.replace("uv run ", f"uv run {runner}") + HOST)
