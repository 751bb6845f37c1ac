"""The lists of the first page."""

from __future__ import annotations

from collections import Counter

import pytest
from django.test import Client

from diagnose.knowledge import current
from kb.cases import Counts
from wizard.home import _kinds


def test_a_kind_is_shown_by_its_usual_line_and_else_by_its_name() -> None:
    rows = {
        kind: (line, told)
        for kind, line, _, told in _kinds(current(), Counts(3, Counter(other=2, memory_growth=1), {}))
    }
    assert rows["host_ram"] == ("Ray: the node is running low on memory", True)
    assert rows["gpu_oom"] == ("CUDA out of memory (torch 2.1 and later)", True)
    assert rows["other"] == ("Not settled", False)
    assert rows["memory_growth"] == ("Memory grows over steps", False)


def test_kinds_with_cases_come_first() -> None:
    rows = _kinds(current(), Counts(3, Counter(host_shm=2, host_ram=1), {}))
    assert [kind for kind, _, _, _ in rows[:2]] == ["host_shm", "host_ram"]


@pytest.mark.django_db
def test_the_first_page_names_the_usual_lines() -> None:
    page = Client().get("/").content.decode()
    assert "vLLM: no available memory for the cache blocks" in page
    assert "oom_kill event" not in page
