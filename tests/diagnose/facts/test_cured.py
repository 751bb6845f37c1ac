"""What somebody says to have ended the failure is no setting of the run that failed."""

from __future__ import annotations

import pytest

from tests.diagnose.facts.conftest import levers, told

RUN = "TinyZero, 2 x A100 80GB, Qwen2.5-3B, bash scripts/train_tiny_zero.sh\nverl/workers/fsdp_workers.py, update_critic\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
KEY = "critic.model.enable_gradient_checkpointing=True"


@pytest.mark.parametrize(
    "cure",
    [
        f"adding {KEY} solved it",
        f"{KEY} fixed it for me",
        f"Fixed by {KEY}.",
        f"Solved: {KEY}",
        f"The fix was {KEY}",
        f"the solution was to add {KEY}",
        f"It works with {KEY}",
        f"with {KEY} it works now",
        f"I set {KEY} and it works now",
        f"edit: passing {KEY} did the trick",
        f"no OOM with {KEY}",
        f"using {KEY} avoids the OOM",
        f"加上 {KEY} 就好了",
        f"改成 {KEY} 之后解决了",
        f"{KEY} 就不OOM了",
    ],
)
def test_what_ended_the_failure_was_not_on_in_the_run_that_failed(values, cure):
    assert values(RUN + OOM + cure).get("critic_gradient_checkpointing") is not True


@pytest.mark.parametrize(
    "words",
    [
        f"I already use {KEY}",
        f"still OOM with {KEY}",
        f"{KEY} did not fix it",
        f"this is not fixed by {KEY}",
        f"with {KEY} it works for 3 steps and then OOMs",
        f"it works with {KEY} on 8 cards, on 2 it OOMs",
        f"is it solved by {KEY}?",
        f"加上 {KEY} 没解决",
    ],
)
def test_what_did_not_end_it_was(values, words):
    assert values(RUN + OOM + words)["critic_gradient_checkpointing"] is True


def test_a_run_that_fails_elsewhere_behind_the_cure_has_it(values):
    text = f"{RUN}OOM in the rollout was solved by {KEY}.\nNow it dies in update_actor:\n{OOM}"
    assert values(text)["critic_gradient_checkpointing"] is True


def test_a_change_starts_from_the_value_that_failed():
    text = (
        "verl GRPO, 4 x H20, qwen3-4b: actor_rollout_ref.rollout.gpu_memory_utilization=0.85\n"
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n"
        "fixed by actor_rollout_ref.rollout.gpu_memory_utilization=0.6\n"
    )
    found = told(text)
    assert found.facts.values["gpu_memory_utilization"] == 0.85
    assert "rollout.gpu_memory_utilization.down" not in levers(found)
    assert any(
        "cured" in one.why and one.lever.slug == "rollout.gpu_memory_utilization.down" for one in found.not_advised
    )
