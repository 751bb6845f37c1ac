"""A number of machines that is asked and denied at once, and machines beside a setup."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("verl GRPO, 64 nodes? no 8. 8 H100 each. Qwen2.5-72B. cuda OOM", 8),
        ("verl GRPO, 64 nodes? no, only 8, 8 H100 each. Qwen2.5-72B. cuda OOM", 8),
        ("verl GRPO, 64 nodes, 8 H100 each. Qwen2.5-72B. cuda OOM", 64),
    ],
)
def test_it_takes_the_number_that_is_put_right(text: str, nodes: int) -> None:
    assert diagnose(text, {}, current(), ()).facts.values.get("n_nodes") == nodes


def test_it_drops_the_number_that_is_denied_alone() -> None:
    facts = diagnose("verl GRPO, 64 nodes? no. 8 H100. Qwen2.5-72B. cuda OOM", {}, current(), ()).facts
    assert facts.values.get("n_nodes") != 64


def test_a_setup_is_a_machine_beside_their_number() -> None:
    facts = diagnose("verl GRPO Qwen2.5-32B, 8xA100 setup, 2 nodes. cuda OOM in update_actor", {}, current(), ()).facts
    assert facts.values["n_gpus"] == 16


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("SFT Qwen2.5-7B with swift on one 4090, OOM", "ms-swift"),
        ("LoRA fine-tuning with swift, Qwen2.5-7B, 4090 OOM", "ms-swift"),
        ("We use swift to train Qwen2.5-7B, 4090 OOM", "ms-swift"),
        ("We SFT Qwen2.5-7B on a dataset of Swift and Kotlin code, one 4090, OOM", None),
        ("SFT Qwen2.5-7B so that it writes apps with Swift, one 4090, OOM", None),
    ],
)
def test_swift_is_the_trainer_only_where_something_is_trained_with_it(text: str, framework: str | None) -> None:
    assert diagnose(text, {}, current(), ()).facts.values.get("framework") == framework
