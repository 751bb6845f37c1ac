"""What a list narrows by, worked out from a case's facts when it is saved."""

from __future__ import annotations

import re
from collections.abc import Mapping

from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Gpu, Model
from diagnose.knowledge.records import Case
from diagnose.vocabulary import Value

# Upper edges in billions of parameters, with the word that stands in addresses and its words for people.
SIZES = {
    "to-2b": (2.0, "up to 2B"),
    "to-4b": (4.0, "2B to 4B"),
    "to-9b": (9.0, "4B to 9B"),
    "to-16b": (16.0, "9B to 16B"),
    "to-40b": (40.0, "16B to 40B"),
    "over-40b": (float("inf"), "over 40B"),
}
SOLVED, WORKED, FAILED, OPEN = "solved", "worked", "failed", "open"
OUTCOMES = {SOLVED: "solved", WORKED: "a fix worked", FAILED: "a fix failed", OPEN: "open"}


def gpu_model(facts: Mapping[str, Value], knowledge: Knowledge) -> str:
    """The slug of the GPU's record, or the word itself where the catalogue does not know it."""
    word = str(facts.get("gpu_model", ""))
    return (slug_of("gpus", word, knowledge) or word.lower())[:60]


def model_size(facts: Mapping[str, Value], knowledge: Knowledge) -> str:
    """The size class by the parameters that are told, that the catalogue knows, or that the name says; empty where none does."""
    size: object = facts.get("params_b")
    if not isinstance(size, (int, float)):
        word = str(facts.get("model", ""))
        slug = slug_of("models", word, knowledge)
        says = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)\s?b(?![a-z])", word, flags=re.I)
        size = knowledge.models[slug].published / 1e9 if slug else float(says[1]) if says else 0
    if not isinstance(size, (int, float)) or size <= 0:
        return ""
    return next(name for name, (edge, _) in SIZES.items() if size <= edge)


def trainers(knowledge: Knowledge) -> dict[str, str]:
    """Every framework's slug and every fork's id with its title: a case names either."""
    forks = {fork.id: fork.title for framework in knowledge.frameworks.values() for fork in framework.forks}
    return forks | {framework.slug: framework.title for framework in knowledge.frameworks.values()}


def outcome(case: Case) -> str:
    """How the case ended, by the strongest thing that is told."""
    if case.solved:
        return SOLVED
    told = [fix.worked for fix in case.fixes]
    return WORKED if True in told else FAILED if False in told else OPEN


_made: list[tuple[Knowledge, dict[str, dict[str, str]]]] = []


def slug_of(kind: str, word: str, knowledge: Knowledge) -> str:
    """The slug of what is called so by its slug, its title or an alias, of the ``gpus`` or the ``models``; empty where none is."""
    if not _made or _made[-1][0] is not knowledge:
        _made[:] = [(knowledge, {"gpus": _slugs(knowledge.gpus), "models": _slugs(knowledge.models)})]
    return _made[-1][1][kind].get(word.lower(), "")


def _slugs(records: Mapping[str, Gpu] | Mapping[str, Model]) -> dict[str, str]:
    """Every name in lower case → the slug of the first record that has it."""
    slugs: dict[str, str] = {}
    for slug, record in records.items():
        for name in (slug, record.title, *record.aliases):
            slugs.setdefault(name.lower(), slug)
    return slugs
