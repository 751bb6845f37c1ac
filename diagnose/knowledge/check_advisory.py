"""What must hold for an advisory beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from diagnose import vocabulary
from diagnose.conditions import version
from diagnose.knowledge.advisory import Advisory
from diagnose.knowledge.check_words import word_misfits
from diagnose.knowledge.loader import Problem

if TYPE_CHECKING:
    from diagnose.knowledge import Knowledge

OUTCOMES = ("prescribed", "check", "nothing")


def check_advisory(advisory: Advisory, knowledge: Knowledge) -> Iterator[Problem]:
    """One record against the vocabulary, the levers and the signatures, and its range against itself."""
    place = f"advisories/{advisory.slug}.md"
    if advisory.package != advisory.package.lower().replace("_", "-"):
        yield Problem(f"{place}: package", f"“{advisory.package}”: write it in small letters, with - for _")
    if advisory.slug in knowledge.levers:
        yield Problem(place, "has the name of a lever: rename the file")
    yield from word_misfits(place, "lever", advisory.lever, knowledge.levers)
    for signature in advisory.signatures:
        yield from word_misfits(place, "signatures", signature, knowledge.signatures)
    for family in advisory.families:
        yield from word_misfits(place, "families", family, {model.family for model in knowledge.models.values()})
    for id in advisory.moves:
        yield from word_misfits(place, "moves", id, vocabulary.FACTS)
    kinds = advisory.when.get("oom_kind")
    if not isinstance(kinds, list):
        yield Problem(f"{place}: when.oom_kind", "is missing: list the kinds of failure that it causes")
    yield from _range(place, advisory)
    for i, example in enumerate(advisory.examples):
        yield from word_misfits(place, f"example[{i}].gives", example.gives, OUTCOMES)
    if not {"prescribed", "nothing"} <= {example.gives for example in advisory.examples}:
        yield Problem(f"{place}: example", "needs one that gives “prescribed” and one that gives “nothing”")


def _range(place: str, advisory: Advisory) -> Iterator[Problem]:
    """A way out, and an end that lies behind the beginning."""
    if (advisory.fixed is None) == (advisory.last_good is None):
        yield Problem(f"{place}: fixed", "give either fixed, or last_good where no version mends it")
    for name, point in (("fixed", advisory.fixed), ("last_good", advisory.last_good)):
        if point and not version(point.version) and not (point.commit and point.date):
            yield Problem(f"{place}: {name}", "needs a version, or a commit and its date")
    since = version(advisory.introduced.version)
    if advisory.last_good and not since:
        yield Problem(
            f"{place}: introduced.version", "is missing: an older version is good only before one that is not"
        )
    if advisory.fixed and since and version(advisory.fixed.version) and version(advisory.fixed.version) <= since:
        yield Problem(f"{place}: fixed.version", "is not behind introduced.version: exchange them")
    if advisory.last_good and since and version(advisory.last_good.version) >= since:
        yield Problem(f"{place}: last_good.version", "is not before introduced.version: exchange them")
