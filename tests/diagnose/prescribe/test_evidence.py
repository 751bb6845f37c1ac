from __future__ import annotations

import pytest

from diagnose.prescribe.evidence import count
from diagnose.types import CaseMatch
from tests.diagnose.prescribe.conftest import make_case

GPU = {"oom_kind": "gpu_oom"}


def near(case, score):
    return CaseMatch(case, score, (), ())


def test_a_suggestion_is_no_success():
    case = make_case("a", GPU, ("one", None))
    record = count([case], [near(case, 0.9)], "gpu_oom")["one"]
    assert (record.evidence.worked, record.evidence.suggested) == ((), ("a",))
    assert record.near == 0


def test_a_failure_counts_as_much_as_a_success():
    cases = [make_case("a", GPU, ("one", True)), make_case("b", GPU, ("one", False))]
    record = count(cases, [near(case, 0.5) for case in cases], "gpu_oom")["one"]
    assert (record.evidence.worked, record.evidence.failed, record.near) == (("a",), ("b",), 0)


def test_a_case_that_is_not_near_is_shown_and_does_not_weigh():
    case = make_case("a", GPU, ("one", True))
    record = count([case], [near(case, 0.24)], "gpu_oom")["one"]
    assert (record.evidence.worked, record.near) == (("a",), 0)


def test_a_little_nearer_moves_the_advice_a_little():
    """A case more in the base makes each word less rare, and each case a little nearer or farther."""
    case = make_case("a", GPU, ("one", True))
    weights = [count([case], [near(case, score / 100)], "gpu_oom")["one"].near for score in range(20, 60)]
    assert weights == sorted(weights)
    assert max(after - before for before, after in zip(weights, weights[1:], strict=False)) < 0.06
    assert weights[-1] == pytest.approx(0.59)


def test_a_case_about_the_other_memory_says_nothing():
    assert count([make_case("a", {"oom_kind": "host_ram"}, ("one", True))], [], "gpu_oom") == {}


def test_a_case_that_tried_and_suggests_counts_as_tried_only():
    record = count([make_case("a", GPU, ("one", None), ("one", True))], [], "gpu_oom")["one"]
    assert (record.evidence.worked, record.evidence.suggested) == (("a",), ())


def test_a_case_counts_once_however_often_it_says_so():
    record = count([make_case("a", GPU, ("one", True), ("one", True))], [], "gpu_oom")["one"]
    assert record.evidence.worked == ("a",)


def test_a_case_in_which_it_worked_for_one_and_failed_for_another_counts_as_both():
    evidence = count([make_case("a", GPU, ("one", True), ("one", False))], [], "gpu_oom")["one"].evidence
    assert (evidence.worked, evidence.failed) == (("a",), ("a",))


def test_nearer_cases_stand_first():
    far, close = make_case("a", GPU, ("one", True)), make_case("z", GPU, ("one", True))
    record = count([far, close], [near(far, 0.45), near(close, 0.8)], "gpu_oom")["one"]
    assert record.evidence.worked == ("z", "a")
    assert record.near == pytest.approx(1.25)
