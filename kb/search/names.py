"""The names of the catalogue's pages: which pages a query names, and which name a misspelt word means."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from diagnose.knowledge import Knowledge
from diagnose.knowledge.record import Record
from kb.catalogue import lever_keys
from kb.search.query import clauses, strong
from kb.search.tokens import Clause, Word, query_words, tokens_of

CATALOGUE = ("levers", "signatures", "advisories", "gpus", "models", "frameworks", "datasets", "logs")
SHORTEST = 5  # letters of a word that is corrected: shorter ones are near to everything
_NOT_QUITE = 0.99  # a name of the same words in another order: model_max_length is no max_model_len
MOST_PARTS = 16  # of a query that are looked up as names: what is longer is a sentence

Page = tuple[str, str]  # kind and slug


@dataclass(frozen=True)
class Named:
    """How well a page's name is the query: the share of the query that the name covers × the share of the name that the query covers."""

    score: float
    name: str


class Names:
    """Every name of every page of the catalogue, by its tokens put together and by each token."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.whole: dict[str, dict[Page, str]] = defaultdict(dict)
        self.pages: dict[str, set[Page]] = defaultdict(set)
        self.names: dict[Page, list[tuple[str, frozenset[str]]]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        for page, name in _all(knowledge):
            tokens = tokens_of(name)
            if not tokens:
                continue
            self.whole["".join(tokens)].setdefault(page, name)
            self.names[page].append((name, frozenset(tokens)))
            words = {*tokens, *(word.whole for word in query_words(name) if word.whole)}
            for token in words:
                self.pages[token].add(page)
            self.counts.update(words)
        self.order = {page: place for place, page in enumerate(self.names)}

    def named(self, words: tuple[Word, ...]) -> dict[Page, Named]:
        """Pages that the query names in whole or in part."""
        found: dict[Page, Named] = {}
        for page, named in (*self._in_whole(words), *self._in_part(words)):
            if page not in found or named.score > found[page].score:
                found[page] = named
        return found

    def share(self, page: Page, needed: tuple[Clause, ...]) -> float:
        """Of what is needed, how much the page's names have together."""
        tokens = frozenset[str]().union(*(tokens for _, tokens in self.names.get(page, ())))
        return sum(met(clause, tokens) for clause in needed) / len(needed)

    def _in_whole(self, words: tuple[Word, ...]) -> Iterator[tuple[Page, Named]]:
        """Pages of which the query holds a whole name, however it is parted: ``rtx4090`` is RTX 4090."""
        telling = strong(words)
        parts = [(token, word in telling) for word in words for token in word.tokens][:MOST_PARTS]
        asked = sum(len(word.tokens) for word in telling)
        for start in range(len(parts)):
            for end in range(start + 1, len(parts) + 1):
                met = sum(told for _, told in parts[start:end])
                pages = self.whole.get("".join(token for token, _ in parts[start:end]), {}) if met else {}
                for page, name in pages.items():
                    yield page, Named(min(1.0, met / asked), name)

    def _in_part(self, words: tuple[Word, ...]) -> Iterator[tuple[Page, Named]]:
        """Pages whose names together have all that is asked for."""
        wanted = clauses(strong(words))
        ways = [set().union(*(self._having(way) for way in clause)) for clause in wanted]
        for page in set.intersection(*ways) if ways else ():
            best = max((self._covered(name, tokens, wanted) for name, tokens in self.names[page]), key=_score)
            yield page, Named(min(best.score, _NOT_QUITE), best.name)

    def _having(self, way: Iterable[tuple[str, bool]]) -> set[Page]:
        return set.intersection(*(self._with(token, begins) for token, begins in way))

    def _with(self, token: str, begins: bool) -> set[Page]:
        if not begins:
            return self.pages.get(token, set())
        return set().union(*(pages for other, pages in self.pages.items() if other.startswith(token)))

    def _covered(self, name: str, tokens: frozenset[str], wanted: tuple[Clause, ...]) -> Named:
        met, covered = 0, set[str]()
        for clause in wanted:
            for way in clause:
                there = {other for token, begins in way for other in tokens if _is(other, token, begins)}
                if all(any(_is(other, token, begins) for other in tokens) for token, begins in way):
                    met, covered = met + 1, covered | there
                    break
        return Named(met / len(wanted) * len(covered) / len(tokens), name)


def _score(named: Named) -> float:
    return named.score


def met(clause: Clause, tokens: Collection[str]) -> bool:
    """Whether a page of these tokens has one of the ways."""
    return any(
        all(any(other.startswith(token) for other in tokens) if begins else token in tokens for token, begins in way)
        for way in clause
    )


def _is(token: str, wanted: str, begins: bool) -> bool:
    return token.startswith(wanted) if begins else token == wanted


_made: list[tuple[Knowledge, Names]] = []


def of(knowledge: Knowledge) -> Names:
    """The names of this knowledge, gathered on first use."""
    if not _made or _made[-1][0] is not knowledge:
        _made[:] = [(knowledge, Names(knowledge))]
    return _made[-1][1]


def nearest(word: str, names: Mapping[str, int]) -> str | None:
    """The name that ``word`` is one slip away from (two from eight letters on); None when it is a name, or near to none.

    A slip is a letter too many, too few, changed, or two swapped (Damerau 1964). Of equally near names the one that most pages have.
    """
    slips = 0 if len(word) < SHORTEST else 1 if len(word) < 8 else 2
    best: tuple[int, int, str] | None = None
    for name, count in names.items():
        if name == word:
            return None
        if len(name) >= SHORTEST - 1 and abs(len(name) - len(word)) <= slips:
            away = distance(word, name, slips)
            if away <= slips and (best is None or (away, -count, name) < best):
                best = (away, -count, name)
    return best[2] if best else None


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


def names_of(record: Record, knowledge: Knowledge) -> Iterator[str]:
    """What a page is called: by its title, in its words, by its aliases, by the messages and the keys that it is about."""
    yield record.title
    yield record.slug
    if record.chinese:
        yield record.chinese
    yield from (*getattr(record, "aliases", ()), *getattr(record, "folders", ()), *getattr(record, "words", ()))
    if getattr(record, "strength", 1) > 1:  # of a person's words each alone is too common
        for line in record.literals:  # type: ignore[attr-defined]
            yield " ".join(line)
            yield from (literal for literal in line if len(tokens_of(literal)) > 1)
    if hasattr(record, "sizes"):
        yield from (word for word in record.title.split() if re.search(r"\d", word))  # 4090 is the RTX 4090
    if hasattr(record, "changes"):
        for key in (key for row in lever_keys(record, knowledge) for key in row.keys):  # type: ignore[arg-type]
            yield key
            if len(tokens_of(last := key.rpartition(".")[2])) > 1:  # “optimizer” alone names no key
                yield last


def _all(knowledge: Knowledge) -> Iterator[tuple[Page, str]]:
    for kind in CATALOGUE:
        for slug, record in sorted(getattr(knowledge, kind).items(), key=lambda item: (len(item[0]), item[0])):
            for name in dict.fromkeys(names_of(record, knowledge)):
                yield (kind, slug), name
