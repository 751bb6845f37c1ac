"""The levers that ship: what a page of one must hold, whatever its words are."""

from __future__ import annotations

import re

import pytest

from diagnose.knowledge import current
from diagnose.vocabulary import KINDS, PHASES

LEVERS = sorted(current().levers.values(), key=lambda lever: lever.slug)


@pytest.mark.parametrize("lever", LEVERS, ids=lambda lever: lever.slug)
def test_a_lever_says_what_it_does_when_it_helps_and_when_not(lever):
    headings = re.findall(r"^## (.+)$", lever.body, flags=re.M)
    assert headings == ["What it does", "When it helps", "When it does not"]
    assert lever.cost
    assert lever.verify
    assert lever.undo
    assert lever.words


@pytest.mark.parametrize("lever", LEVERS, ids=lambda lever: lever.slug)
def test_the_kinds_and_phases_of_a_lever_exist(lever):
    assert set(lever.when.get("oom_kind", ())) <= set(KINDS)
    assert set(lever.when.get("phase", ())) <= set(PHASES)
    assert lever.pools


@pytest.mark.parametrize("lever", [one for one in LEVERS if not one.changes], ids=lambda lever: lever.slug)
def test_a_lever_that_changes_no_fact_says_so(lever):
    assert lever.keyless


def test_a_larger_engine_share_is_for_a_missing_cache_alone():
    assert current().levers["rollout.gpu_memory_utilization.up"].when["oom_kind"] == ["vllm_no_kv_blocks"]


def test_raising_the_kill_line_is_the_last_of_all():
    assert max(LEVERS, key=lambda lever: lever.order).slug == "ray.memory_threshold.up"
