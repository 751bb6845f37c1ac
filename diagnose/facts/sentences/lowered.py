"""The words of a paste in lower case, and where literals stand in them: most are nowhere, and one look tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from diagnose.facts.sentences.prose import fresh
from diagnose.literals import Haystack
from diagnose.types import Paste

_NARROW, _AROUND = 60, 40  # characters of a line that a console breaks, and of a literal


@dataclass(frozen=True, slots=True)
class Lowered:
    """Every line, and all of them as one text in which a word that a console broke is whole as well.

    ``new`` are the places of lines that no program repeats: only there a person speaks. ``places`` keeps where a
    literal stands, since many records begin with the same.
    """

    lines: tuple[str, ...]
    whole: Haystack
    new: frozenset[int]
    places: dict[str, frozenset[int]] = field(default_factory=dict)

    def places_of(self, literal: str) -> frozenset[int]:
        """The places of the lines that hold the literal."""
        if literal not in self.places:
            lines = enumerate(self.lines) if literal in self.whole else ()
            self.places[literal] = frozenset([i for i, words in lines if literal in words])
        return self.places[literal]

    def beginnings_of(self, literal: str) -> frozenset[int]:
        """The same; of a literal that no line holds whole the lines in which it begins."""
        places = self.places_of(literal)
        return places or (frozenset(self._broken_at(literal)) if literal in self.whole else places)

    def _broken_at(self, literal: str) -> Iterator[int]:
        """The places of the lines in which a literal begins that goes on in the next one."""
        for i, (words, after) in enumerate(pairwise(self.lines)):
            end, start = words[-_AROUND:], after[:_AROUND]
            if literal in end + start or literal in f"{end.rstrip()} {start.lstrip()}":
                yield i

    def holding(self, literals: Iterable[str]) -> list[int]:
        """The places of the lines that hold any of the literals, in the order of the text."""
        return sorted({i for literal in literals for i in self.places_of(literal)})

    def holding_all(self, alternatives: Iterable[Sequence[str]]) -> list[int]:
        """The places of the lines that hold every literal of one of the alternatives."""
        return sorted({i for one in alternatives for i in frozenset.intersection(*map(self.places_of, one))})


def lower(paste: Paste) -> Lowered:
    """The words of every line, in lower case."""
    lines = tuple([line.words.lower() for line in paste.lines])
    whole = f" {' '.join([words.strip() for words in lines])} {' '.join(_broken(lines))} "
    return Lowered(lines, Haystack(whole), fresh(paste.lines))


def _broken(lines: Sequence[str]) -> Iterator[str]:
    """What stands around the place where a narrow console broke a word."""
    for words, after in pairwise(lines):
        if len(words) >= _NARROW and words[-1:].isalnum() and after[:1].isalnum():
            yield words[-_AROUND:] + after[:_AROUND]
