"""A form changes what was edited and nothing else."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.knowledge import CONTENT
from diagnose.vocabulary import FACTS
from kb import fields, front, front_edit
from tests.kb.conftest import document

FENCE = re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE)
CASES = sorted((CONTENT / "cases").glob("*.md"))
ODD = """+++
# a remark that stays
title   =   'A "quoted" title'   # why
reviewed = 2026-11-01
sources = [ "https://a.example/1" ,
    # the second is the answer
    'https://a.example/2',]

[facts]   # in the order of the message
oom_kind = "gpu_oom"
n_gpus=8      # told twice
gpu_mem_gib = 0x50

[[claim]]
text = \"\"\"
Two
lines\"\"\"
verdict = "confirmed"
ground = "x"
+++
## Symptom

+++ is no fence here
"""


@pytest.mark.parametrize(
    ("name", "given_words", "says"),
    [
        ("facts.n_gpus", "many", "must be a whole number"),
        ("facts.n_gpus", "1.5", "must be a whole number"),
        ("facts.gpu_mem_gib", "nan", "too large"),
        ("facts.oom_kind", "gpu_omm", "unknown word “gpu_omm”, did you mean “gpu_oom”"),
        ("facts.has_ref", "maybe", "must be yes or no"),
        ("date", "yesterday", "must be a date as"),
        ("title", "a\x00b", "control character"),
    ],
)
def test_a_value_that_does_not_fit_is_told_and_the_text_stays(name: str, given_words: str, says: str) -> None:
    text, wrong = front_edit.apply(ODD, {name: given_words})
    assert text == ODD
    assert says in wrong[name]


def test_a_wrong_value_does_not_keep_the_others_out() -> None:
    text, wrong = front_edit.apply(ODD, {"facts.n_gpus": "many", "facts.tp": "2"})
    assert list(wrong) == ["facts.n_gpus"]
    assert "tp = 2\n" in text


@pytest.mark.parametrize("text", ["no fences", "+++\nbroken = [\n+++\n", "+++\n" + "a." * 30_000 + "a = 1\n+++\n"])
def test_a_text_without_readable_front_matter_has_no_fields(text: str) -> None:
    assert fields.shown("cases", text) == ()
    assert front_edit.apply(text, {"title": "New"})[0] == text


def test_a_comment_behind_the_value_and_everything_around_it_stay() -> None:
    text, _ = front_edit.apply(ODD, {"facts.n_gpus": "16"})
    assert text == ODD.replace("n_gpus=8 ", "n_gpus=16 ")


def test_a_field_that_is_emptied_takes_its_line_away() -> None:
    text, _ = front_edit.apply(ODD, {"facts.oom_kind": ""})
    assert text == ODD.replace('oom_kind = "gpu_oom"\n', "")


def test_a_source_that_is_added_leaves_the_others_and_their_remarks() -> None:
    text, _ = front_edit.apply(ODD, {"sources": "https://a.example/1\nhttps://a.example/2\nhttps://a.example/3"})
    assert "# the second is the answer" in text
    assert front.read(text)["sources"][-1] == "https://a.example/3"  # type: ignore[index]


def test_a_fact_where_there_are_none_begins_the_table() -> None:
    text, _ = front_edit.apply('+++\ntitle = "x"\n+++\nBody\n', {"facts.tp": "2"})
    assert front.read(text) == {"title": "x", "facts": {"tp": 2}}
    assert text.endswith("+++\nBody\n")


def test_what_nobody_touched_is_not_sent_back_as_a_change() -> None:
    groups = fields.shown("cases", ODD)
    posted = {f"f.{field.name}": field.value for group in groups for field in group.fields}
    assert fields.changed({**posted, "was": fields.as_rendered(groups)}) == {}
    assert fields.changed({**posted, "was": fields.as_rendered(groups), "f.facts.tp": "4"}) == {"facts.tp": "4"}


@pytest.mark.parametrize("was", ["", "no json", "[]", "7", json.dumps({"title": 5})])
def test_a_form_that_somebody_made_up_does_not_break_the_page(was: str) -> None:
    assert isinstance(fields.changed({"was": was, "f.title": "5"}), dict)


FACT = st.sampled_from([f"facts.{id}" for id in FACTS])
VALUE = st.one_of(
    st.text(max_size=20), st.integers(-5, 10**6).map(str), st.sampled_from(["true", "false", "gpu_oom", "0.85", ""])
)


@settings(max_examples=150, deadline=None)
@given(
    place=st.integers(0, len(CASES)),
    changes=st.dictionaries(st.one_of(FACT, st.sampled_from(["title", "summary"])), VALUE, max_size=4),
)
def test_a_form_changes_only_what_was_edited(place: int, changes: dict[str, str]) -> None:
    """Every key that was not edited has its value, every line that does not hold an edited key its bytes, the body all of them."""
    text = CASES[place].read_text() if place < len(CASES) else ODD
    before = tomllib.loads(FENCE.split(text, 2)[1])
    written, wrong = front_edit.apply(text, changes)
    after = tomllib.loads(FENCE.split(written, 2)[1])
    touched = {name for name in changes if name not in wrong}
    for name in touched:
        before.get("facts", {}).pop(name.removeprefix("facts."), None) if name.startswith("facts.") else before.pop(
            name, None
        )
        after.get("facts", {}).pop(name.removeprefix("facts."), None) if name.startswith("facts.") else after.pop(
            name, None
        )
    assert before == after
    assert FENCE.split(written, 2)[2] == FENCE.split(text, 2)[2]
    keys = {name.removeprefix("facts.") for name in touched}
    kept = [line for line in text.split("\n") if line.split("=")[0].strip() not in keys]
    lines = iter(written.split("\n"))
    assert all(line in lines for line in kept), "a line that nobody edited changed"


def test_the_fields_of_a_guide_hold_no_facts() -> None:
    assert [group.title for group in fields.shown("guides", document())] == ["About"]
    assert fields.shown("notes", document()) == ()
