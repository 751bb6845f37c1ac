"""What people write without a log at hand, from the text to the advice: ``tests/data/sentences.toml``. A new one is a new entry."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text

PASTES = tomllib.loads((Path(__file__).parent / "data" / "sentences.toml").read_text(encoding="utf-8"))["paste"]


@pytest.fixture(scope="module", params=PASTES, ids=[one["text"].strip()[:40] for one in PASTES])
def one(request):
    knowledge = current()
    return diagnose(request.param["text"], {}, knowledge, tuple(knowledge.cases.values())), request.param


def test_the_failure_is_what_the_text_says_and_no_more(one):
    found, expected = one
    assert (found.kind, found.phase, found.facts.planned) == (
        expected.get("kind"),
        expected.get("phase"),
        expected.get("planned", False),
    )
    if "pool" in expected:
        assert found.pool == expected["pool"]


def test_what_the_text_says_is_read(one):
    found, expected = one
    assert {id: found.facts.values.get(id) for id in expected["facts"]} == expected["facts"]
    assert not set(expected.get("absent", ())) & set(found.facts.values)


def test_what_is_on_or_was_tried_is_not_advised_again(one):
    found, expected = one
    levers = [given.lever.slug for given in found.prescriptions]
    assert not set(expected.get("never", ())) & set(levers)
    if "first" in expected:
        assert levers[0] == expected["first"]


def test_the_first_question_is_the_natural_one(one):
    found, expected = one
    if "asks" in expected:
        assert found.questions[0].question.fact == expected["asks"]


def test_what_the_figures_lack_is_named(one):
    found, expected = one
    assert set(expected.get("lacks", ())) <= set(found.estimate.missing)


def test_the_summary_in_chinese_tells_no_figure_and_no_key_that_the_english_answer_does_not(one):
    found, _ = one
    chinese, english = (to_text(replace(found, paste=replace(found.paste, text=text))) for text in ("显存不够用了", ""))
    summary = chinese.removesuffix(english)
    assert summary.startswith("中文摘要：")
    sizes, keys = r"\d[\d,]*\.\d(?= GiB|–|）| →)", r"[a-z]\w*(?:[._]\w+)+"
    assert set(re.findall(sizes, summary)) <= set(re.findall(r"\d[\d,]*\.\d", english))
    assert set(re.findall(keys, summary)) <= set(re.findall(keys, english))
