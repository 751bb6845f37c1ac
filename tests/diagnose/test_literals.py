"""Many literals in one text: the short cut over repeated lines tells the same as the text itself."""

from __future__ import annotations

import pytest

from diagnose.literals import Haystack

LOG = "".join(f"step:{i} - loss:{i / 7:.3f} rank{i % 2}\n" for i in range(50)) + "out of memory at GPU 0"


@pytest.mark.parametrize("literal", ["step: - ", "lossrank", "step:50", "memory\nat", "outof"])
def test_a_literal_that_only_stands_across_numbers_or_lines_is_absent(literal: str) -> None:
    assert literal not in LOG
    assert literal not in Haystack(LOG)


@pytest.mark.parametrize("literal", ["step:", " - loss:", "out of memory at GPU ", "GPU 0", "step:49 - ", "rank1", ""])
def test_a_literal_that_stands_in_the_text_is_found_with_and_without_digits(literal: str) -> None:
    assert literal in LOG
    assert literal in Haystack(LOG)


def test_a_log_that_repeats_itself_is_kept_short() -> None:
    assert len(Haystack(LOG).between) < len(LOG) / 10
