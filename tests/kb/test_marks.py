"""The marks of evidence: one for each case, beside the count."""

from __future__ import annotations

from kb.evidence import marks
from kb.templatetags.marks import drawn


def test_no_case_has_no_marks() -> None:
    assert drawn(marks(0, 0, 0)) == ""


def test_each_case_is_a_mark_and_the_count_stands_beside_it() -> None:
    mark = '<svg><use href="#p-w"/></svg>'
    assert drawn(marks(2, 0, 0)) == f'<span><span class="w" aria-hidden="true">{mark}{mark}</span> 2 worked</span>'


def test_of_very_many_cases_the_words_stand_alone() -> None:
    assert drawn(marks(20, 0, 1)) == "<span>20 worked</span><span>1 only suggested</span>"
