"""Cases of others, with what is the same here and what differs in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.knowledge.records import Case
from diagnose.types import CaseMatch
from diagnose.vocabulary import FACTS, Value
from diagnose.words import in_sentence, value_words
from kb.evidence import Mark, marks_of
from kb.mini import Mini
from kb.tags import case_tags

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
        tags=tags(match.case, frameworks),
        same=tuple(_said(id, value, frameworks) for id, value in match.same[:5]),
        differs=tuple(
            f"{_said(id, there, frameworks)}, here {_named(id, here, frameworks)}"
            for id, here, there in match.differs[:3]
            if id in FACTS
        ),
        marks=marks_of(*match.case.fixes),
    )


def _said(id: str, value: Value, frameworks: Mapping[str, str]) -> str:
    """A fact as it stands in a row of them: words speak for themselves, a figure needs its name."""
    words = _named(id, value, frameworks)
    return words if isinstance(value, str) or id not in FACTS else f"{in_sentence(FACTS[id].title)} {words}"


def _named(id: str, value: Value, frameworks: Mapping[str, str]) -> str:
    if id == "framework":
        return frameworks.get(str(value), str(value))
    return value_words(id, value) if id in FACTS else str(value)


def tags(case: Case, frameworks: Mapping[str, str]) -> tuple[str, ...]:
    """The words below a title, with the framework's title first."""
    framework = str(case.facts.get("framework", ""))
    return case_tags(frameworks.get(framework, framework), case.facts, case.solved)
