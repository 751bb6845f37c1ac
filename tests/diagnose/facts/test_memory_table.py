"""torch.cuda.memory_summary() beside a message that prints no figures of its own."""

from __future__ import annotations

from diagnose.allocator import fragmented
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Facts

_TABLE = (
    "|            CUDA OOMs: {ooms}            |        cudaMalloc retries: 3         |\n"
    "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
    "| Allocated memory      |  32814 MiB |  37012 MiB |  48211 GiB |  48179 GiB |\n"
    "| GPU reserved memory   |  38550 MiB |  38900 MiB |  41000 MiB |   2450 MiB |\n"
)
_MESSAGE = (
    "SFT of Qwen2.5-7B with LoRA on one A100 40GB\n"
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB{more}.\n"
)


def _facts(ooms: int, more: str = "", times: int = 1) -> Facts:
    return diagnose(_MESSAGE.format(more=more) + _TABLE.format(ooms=ooms) * times, {}, current(), ()).facts


def test_what_is_reserved_and_unused_is_the_difference() -> None:
    facts = _facts(1)
    assert facts.values["torch_allocated_gib"] == 32.04
    assert facts.values["torch_reserved_gib"] == 5.6
    assert fragmented(facts) is True


def test_the_figures_of_the_message_outrank_a_table() -> None:
    facts = _facts(
        1, ". 39.38 GiB total capacity; 36.50 GiB already allocated; 0.20 GiB free; 36.80 GiB reserved in total"
    )
    assert facts.values["torch_allocated_gib"] == 36.5


def test_a_table_that_counts_no_failure_tells_another_moment() -> None:
    assert "torch_reserved_gib" not in _facts(0).values


def test_of_two_tables_nobody_knows_which_is_of_the_failure() -> None:
    assert "torch_reserved_gib" not in _facts(1, times=2).values
