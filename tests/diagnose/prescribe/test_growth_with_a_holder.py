"""Memory that grows in processes which hold a step's samples: no other engine comes first."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

TEXT = (
    "verl 0.6.0, Qwen2.5-VL-32B, 16 x H100, 主机内存持续上涨\n"
    "Top 10 memory users:\nPID     MEM(GB) COMMAND\n"
    "31021   612.20  ray::{worker}\n31022   609.98  ray::{worker}\n31023   60.98  ray::TaskRunner.run\n\n"
    "Memory on the node (IP: 33.1.2.3, ID: beef) where the task (actor ID: 00aa, name=x, pid=31021, memory used=612.20GB)"
    " was running was 1914.22GB / 2015.06GB (0.949957), which exceeds the memory usage threshold of 0.95.\n"
)


@pytest.mark.parametrize(
    ("worker", "near"),
    [("AgentLoopWorker.generate_sequences", False), ("WorkerDict.actor_rollout_generate_sequences", True)],
)
def test_another_release_of_the_engine_is_near_the_front_only_where_it_may_hold_the_memory(
    worker: str, near: bool
) -> None:
    found = diagnose(TEXT.format(worker=worker), {}, current(), ())
    assert found.kind == "memory_growth"
    assert ("downgrade.vllm" in [one.lever.slug for one in found.prescriptions[:4]]) == near
