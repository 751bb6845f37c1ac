"""Which framework the paste shows, and which version of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Paste, Span

# A command, a key, a path or a literal is the program's own mark; a name may be a mere comparison.
MARK, NAME = 2, 1


@dataclass(frozen=True, slots=True)
class Detected:
    """The framework, or the slugs of several between which the paste leaves the choice."""

    framework: Framework | None = None
    fact: Fact | None = None
    candidates: tuple[str, ...] = ()


def detect(paste: Paste, answered: Fact | None, knowledge: Knowledge) -> Detected:
    """An answer first; else the strongest evidence, then the lowest rank; a tie is left open."""
    if answered is not None:
        known = knowledge.frameworks.get(str(answered.value))
        return Detected(known or knowledge.fallback, answered)
    whole = "\n".join(line.text for line in paste.lines)
    lowered = whole.lower()
    found = {
        slug: evidence
        for slug, framework in knowledge.frameworks.items()
        if not framework.fallback and (evidence := _evidence(framework, paste, whole, lowered))
    }
    if not found:
        return Detected()
    order = {slug: (-strength, knowledge.frameworks[slug].detect.rank) for slug, (strength, _) in found.items()}
    best = sorted(slug for slug in found if order[slug] == min(order.values()))
    if len(best) > 1:
        return Detected(candidates=tuple(best))
    return Detected(knowledge.frameworks[best[0]], Fact("framework", best[0], "read", span=found[best[0]][1]))


def version_of(framework: Framework | None, paste: Paste, answered: Fact | None) -> Fact | None:
    """The version that was answered or that the paste gives for the framework's package; unknown is absent."""
    if answered is not None or framework is None:
        return answered
    package = framework.package.lower().replace("_", "-")
    for found in paste.packages:
        if package and found.name.lower().replace("_", "-") == package:
            line = next((line for line in paste.lines if line.number == found.line), None)
            span = Span(found.line, 0, len(line.text)) if line else None
            return Fact("framework_version", found.version, "read", written=found.version, span=span)
    return None


def _evidence(framework: Framework, paste: Paste, whole: str, lowered: str) -> tuple[int, Span | None] | None:
    """How strong the evidence is and where it stands; None when there is none or something rules the framework out.

    ``whole`` are all lines as one text, ``lowered`` the same in lower case: what is not in there is in no line.
    """
    marks = framework.detect
    if any(literal.lower() in lowered for literal in marks.unless):
        return None
    for span in _marks(framework, paste, whole):
        return MARK, span
    for name in marks.names:
        if name.lower() not in lowered:
            continue
        word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.I)
        for line in paste.lines:
            if found := word.search(line.text):
                return NAME, Span(line.number, found.start(), found.end())
    return None


def _marks(framework: Framework, paste: Paste, whole: str) -> Iterator[Span | None]:
    marks = framework.detect
    for command in paste.commands:
        if any(literal in " ".join(command.words) for literal in marks.commands):
            yield Span(command.first_line, 0, len(_text(paste, command.first_line)))
    for setting in paste.settings:
        if setting.key.startswith(marks.keys):
            yield setting.span
    for frame in paste.frames:
        if any(part in frame.path for part in marks.paths):
            yield Span(frame.line, 0, len(_text(paste, frame.line)))
    for literal in (*marks.commands, *marks.literals):
        for line in paste.lines if literal in whole else ():
            if (start := line.text.find(literal)) >= 0:
                yield Span(line.number, start, start + len(literal))


def _text(paste: Paste, number: int) -> str:
    return next((line.text for line in paste.lines if line.number == number), "")
