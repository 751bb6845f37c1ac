"""The state of a visit: answers by vocabulary id, in a form, in the query string, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from diagnose.facts import parse_answer
from diagnose.types import Diagnosis, Facts
from diagnose.vocabulary import FACTS, Value

DONT_KNOW = "unknown"
ALONE = "command_alone"  # in a link: its facts are those of a launch command of which nobody says how it went
ASSUMED = "assumed"  # in a link: names a fact of it that nobody told
_NAMED = ("model", "gpu_model", "framework")  # free words unless the catalogue holds them
_ALONE = ("rollout_mode", "rollout_engine")
_WORD = re.compile(r"[a-z0-9][a-z0-9_+.-]{0,23}", re.I)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person answered. ``errors`` holds the cure for each answer that does not fit, ``written`` the words as typed.

    ``alone``: they came by the link of a launch command alone. ``assumed`` are those that nobody gave: a link holds what was assumed.
    """

    values: dict[str, Value] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    errors: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    alone: bool = False
    assumed: tuple[str, ...] = ()


def read_answers(pairs: Iterable[tuple[str, str]]) -> Answers:
    """Answers from names and values in their order; a later one outranks an earlier one, passing over too; an empty one says nothing."""
    values: dict[str, Value] = {}
    errors: dict[str, str] = {}
    written: dict[str, str] = {}
    skipped: dict[str, None] = {}
    assumed: dict[str, None] = {}
    alone = False
    for name, text in _named(pairs):
        alone = alone or (name, text) == (ALONE, "true")
        passed = text if name == "skip" else name if text == DONT_KNOW else ""
        if passed in FACTS:
            skipped[passed] = None
            values.pop(passed, None)
        if name == ASSUMED and text in values:
            assumed[text] = None
        if passed or name not in FACTS or not text.strip():
            continue
        try:
            values[name] = parse_answer(name, text[:200])
            for before in (errors, skipped, assumed):
                before.pop(name, None)
        except ValueError as refusal:
            errors[name], written[name] = str(refusal), text[:200]
    return Answers(values, tuple(skipped), errors, written, alone, tuple(id for id in assumed if id in values))


def _named(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pairs with two fields put into facts: ``other`` names the fact of ``other_value``, ``card`` is ``A100:80``."""
    other = ""
    for name, text in pairs:
        if name == "other":
            other = text
        elif name == "other_value":
            yield other, text
        elif name == "card":
            card, _, size = text.rpartition(":")
            yield from (("gpu_model", card), ("gpu_mem_gib", size))
        else:
            yield name, text


def as_text(value: Value) -> str:
    """An answer as it stands in a field or in the query string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def certain(diagnosis: Diagnosis) -> dict[str, Value]:
    """The facts that the paste or the person makes certain, each in its own unit, without words that only the paste knows.

    That an engine runs alone, and which, follows from its command, which is none of them.
    """
    facts = diagnosis.facts
    alone = _ALONE if facts.serves else ()
    kept = (id for id in FACTS if id in facts.stated and (facts.stated[id].certain or id in alone))
    return {id: value for id in kept if (value := public(id, facts)) is not None}


def public(id: str, facts: Facts) -> Value | None:
    """A fact's value if it may stand in an address: numbers, options, versions, and names that the catalogue holds."""
    value = facts.values.get(id)
    if not isinstance(value, str):
        return value
    if id == "dataset":
        return " ".join(facts.datasets) or None
    if id == "framework" and facts.fork:
        return facts.fork.id
    if id in _NAMED:
        record = {"model": facts.model, "gpu_model": facts.gpu, "framework": facts.framework}[id]
        if record is None or (id == "framework" and facts.framework and facts.framework.fallback):
            return None
        return record.title if id == "model" else value if _WORD.fullmatch(value) else record.slug
    return value if FACTS[id].type == "choice" or _WORD.fullmatch(value) else None


def query(values: Mapping[str, Value], skipped: Iterable[str] = ()) -> str:
    """The query string of answers, in their order."""
    return link_of(Answers(dict(values), tuple(skipped)))


def link_of(answers: Answers) -> str:
    """The query string of answers and of what was passed over."""
    return urlencode([*as_pairs(answers), *(("skip", id) for id in answers.skipped)])


def as_pairs(answers: Answers) -> list[tuple[str, str]]:
    """Name and text of each answer, as a form and an address carry them; then which of them nobody gave."""
    told = [(id, as_text(value)) for id, value in answers.values.items()]
    taken = [(ASSUMED, id) for id in answers.assumed]
    return [*told, *taken, (ALONE, "true")] if answers.alone and told else [*told, *taken]
