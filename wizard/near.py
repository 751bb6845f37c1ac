"""Cases of others, with what is the same here and what differs in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.knowledge.records import Case
from diagnose.types import CaseMatch
from diagnose.vocabulary import FACTS, Value
from diagnose.words import in_sentence, value_words
from kb.evidence import Mark, marks
from kb.mini import Mini

NEAR = 5


@dataclass(frozen=True, slots=True)
class Near:
    """A case with what is the same here and what differs, in words."""

    case: Case
    picture: Mini | None
    tags: tuple[str, ...]
    same: tuple[str, ...]
    differs: tuple[str, ...]
    marks: tuple[Mark, ...]


def cases(
    matches: Sequence[CaseMatch], pictures: Mapping[str, Mini | None], frameworks: Mapping[str, str]
) -> tuple[Near, ...]:
    """The nearest cases; ``frameworks`` maps slugs to titles."""
    return tuple(_near(match, pictures, frameworks) for match in matches[:NEAR])


def _near(match: CaseMatch, pictures: Mapping[str, Mini | None], frameworks: Mapping[str, str]) -> Near:
    return Near(
        case=match.case,
        picture=pictures.get(match.case.slug),
        tags=case_tags(match.case, frameworks),
        same=tuple(_said(id, value, frameworks) for id, value in match.same[:5]),
        differs=tuple(
            f"{_said(id, there, frameworks)}, here {_named(id, here, frameworks)}"
            for id, here, there in match.differs[:3]
            if id in FACTS
        ),
        marks=case_marks(match.case),
    )


def _said(id: str, value: Value, frameworks: Mapping[str, str]) -> str:
    """A fact as it stands in a row of them: words speak for themselves, a figure needs its name."""
    words = _named(id, value, frameworks)
    return words if isinstance(value, str) or id not in FACTS else f"{in_sentence(FACTS[id].title)} {words}"


def _named(id: str, value: Value, frameworks: Mapping[str, str]) -> str:
    if id == "framework":
        return frameworks.get(str(value), str(value))
    return value_words(id, value) if id in FACTS else str(value)


def case_tags(case: Case, frameworks: Mapping[str, str]) -> tuple[str, ...]:
    """Framework, cards, model, kind: what tells cases apart at a glance."""
    facts = case.facts
    size = f" {facts['gpu_mem_gib']:g}GB" if isinstance(facts.get("gpu_mem_gib"), (int, float)) else ""
    card = f"{facts['gpu_model']}{size}" if "gpu_model" in facts else size.strip()
    count = f" × {facts['n_gpus']}" if "n_gpus" in facts else ""
    kind = value_words("oom_kind", facts["oom_kind"]) if "oom_kind" in facts else ""
    solved = {True: "solved", False: "open"}.get(case.solved) if case.solved is not None else ""
    framework = str(facts.get("framework", ""))
    parts = (
        frameworks.get(framework, framework),
        f"{card}{count}".strip(" ×"),
        str(facts.get("model", "")),
        kind,
        solved,
    )
    return tuple(part for part in parts if part)


def case_marks(case: Case) -> tuple[Mark, ...]:
    """The remedies of one case by outcome."""
    told = [fix.worked for fix in case.fixes]
    return marks(told.count(True), told.count(False), told.count(None))
