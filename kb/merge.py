"""Two edits of one text joined by lines, and what cannot be joined without asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kb.lines import matching, split

MINE, THEIRS, BOTH = "mine", "theirs", "both"


@dataclass(frozen=True)
class Region:
    """Lines that both changed, each in their own way; ``line`` is where they stand in my text, counted from 1."""

    base: tuple[str, ...]
    mine: tuple[str, ...]
    theirs: tuple[str, ...]
    line: int

    def chosen(self, choice: str) -> tuple[str, ...]:
        """The lines that stand for a choice; both stand, theirs first, where nothing was chosen."""
        return {MINE: self.mine, THEIRS: self.theirs}.get(choice, self.theirs + self.mine)


@dataclass(frozen=True)
class Merge:
    """The joined text in parts: settled lines, and regions where a person must choose. ``joined`` counts what joined by itself."""

    parts: tuple[tuple[str, ...] | Region, ...]
    joined: int

    @property
    def regions(self) -> tuple[Region, ...]:
        return tuple(part for part in self.parts if isinstance(part, Region))

    def text(self, choices: Mapping[int, str] | None = None) -> str:
        """The joined text; ``choices`` are by the number of the region."""
        lines: list[str] = []
        number = 0
        for part in self.parts:
            if isinstance(part, Region):
                lines += part.chosen((choices or {}).get(number, BOTH))
                number += 1
            else:
                lines += part
        return "".join(lines)


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Joins what two people made of ``base``. Changes join where an unchanged line stands between them."""
    old, my, their = (split(text) for text in (base, mine, theirs))
    parts: list[tuple[str, ...] | Region] = []
    o = m = t = joined = 0
    for start, in_mine, in_theirs, many in _shared(old, my, their):
        was, own, other = tuple(old[o:start]), tuple(my[m:in_mine]), tuple(their[t:in_theirs])
        if own == other or other == was:
            parts.append(own)
            joined += own != was and own != other
        elif own == was:
            parts.append(other)
        else:
            parts.append(Region(was, own, other, m + 1))
        parts.append(tuple(old[start : start + many]))
        o, m, t = start + many, in_mine + many, in_theirs + many
    return Merge(tuple(part for part in parts if part), joined)


def _shared(old: list[str], my: list[str], their: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """The blocks of ``old`` that both others hold: where in each, and how long. The last is empty and stands at the ends."""
    mine, theirs = matching(old, my), matching(old, their)
    i = j = 0
    while i < len(mine) and j < len(theirs):
        (a, a_my, a_many), (b, b_their, b_many) = mine[i], theirs[j]
        start, end = max(a, b), min(a + a_many, b + b_many)
        if start < end:
            yield start, a_my + start - a, b_their + start - b, end - start
        if a + a_many <= b + b_many:
            i += 1
        else:
            j += 1
    yield len(old), len(my), len(their), 0
