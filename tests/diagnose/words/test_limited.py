"""A limit that a program sets for its own process."""

from __future__ import annotations

from diagnose.allocator import fragmented
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 40.25 GiB "
    "is free. Including non-PyTorch memory, this process has 38.88 GiB memory in use. {}Of the allocated memory 36.50 GiB is allocated by "
    "PyTorch, and 1.25 GiB is reserved by PyTorch but unallocated."
)


def test_a_limit_of_the_process_is_no_card_in_pieces() -> None:
    found = diagnose(OOM.format("39.57 GiB allowed; "), {}, current(), ())
    assert fragmented(found.facts) is False
    assert "torch may take 39.6 GiB in this process" in " ".join(to_text(found).split())
    assert found.prescriptions[0].lever.slug != "allocator.expandable_segments"


def test_without_such_a_limit_it_is() -> None:
    assert fragmented(diagnose(OOM.format(""), {}, current(), ()).facts) is True
