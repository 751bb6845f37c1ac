"""The names of the catalogue, and which of them a misspelt word means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diagnose.knowledge import Knowledge
from kb.search.index import CATALOGUE
from kb.search.tokens import query_words

SHORTEST = 4  # letters of a word that is corrected: shorter ones are near to everything


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that ``word`` is one slip away from (two from eight letters on); None when it is a name, or near to none.

    A slip is a letter too many, too few, changed, or two swapped (Damerau 1964). Of equally near names the first by letters.
    """
    slips = 0 if len(word) < SHORTEST else 1 if len(word) < 8 else 2
    best: tuple[int, str] | None = None
    for name in names:
        if name == word:
            return None
        if abs(len(name) - len(word)) <= slips:
            away = distance(word, name, slips)
            if away <= slips and (best is None or (away, name) < best):
                best = (away, name)
    return best[1] if best else None


def distance(left: str, right: str, at_most: int) -> int:
    """Slips between two words, or any number above ``at_most`` as soon as there must be more."""
    two_before: list[int] = []
    before = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        now = [row]
        for column, other in enumerate(right, 1):
            slips = min(before[column] + 1, now[column - 1] + 1, before[column - 1] + (letter != other))
            swapped = row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other
            now.append(min(slips, two_before[column - 2] + 1) if swapped else slips)
        if min(now) > at_most:
            return at_most + 1
        two_before, before = before, now
    return before[-1]


def names(knowledge: Knowledge) -> frozenset[str]:
    """Every name of the catalogue's records and each of its parts, in small letters."""
    return frozenset(name for name in _all(knowledge) if len(name) >= SHORTEST - 1)


def _all(knowledge: Knowledge) -> Iterator[str]:
    for kind in CATALOGUE:
        for record in getattr(knowledge, kind).values():
            for words in (record.title, record.slug, *getattr(record, "aliases", ())):
                for word in query_words(words):
                    yield word.whole
                    yield from word.tokens
