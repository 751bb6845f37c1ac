"""Text → tokens: words, keys whole and in parts, and pairs of Chinese, Japanese or Korean letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MAX_LETTERS = 80  # of one token; longer runs are keys of nobody
TITLE = "t:"  # stands before a token that is in the title

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{CJK}]+|[^\W{CJK}](?:[^\W{CJK}]|[.\-/+](?=[^\W{CJK}]))*")
_OF_CJK = re.compile(rf"[{CJK}]")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_MARK = re.compile(r"[_\-/+]+|(?<!\d)\.|\.(?!\d)")  # 2.5 stays whole: 2 and 5 would find everything

# Tokens that must all be there, each with whether its beginning is enough; a clause is met by any one of its ways.
All = tuple[tuple[str, bool], ...]
Clause = tuple[All, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query: the tokens that must all be there, or the ``whole`` of them in one token.

    ``open``: the last token, or the whole one, counts by its beginning. ``same``: phrases of which each does as well.
    ``weak``: nearly every page has it. ``empty``: it tells nothing.
    """

    written: str
    tokens: tuple[str, ...]
    whole: str
    open: bool = False
    same: tuple[str, ...] = ()
    weak: bool = False
    empty: bool = False

    def needs(self) -> All:
        """The tokens that must all be there, each with whether its beginning is enough."""
        return tuple((token, needs_no_more(token) or (self.open and token == self.tokens[-1])) for token in self.tokens)


def document_tokens(title: str, text: str) -> str:
    """The distinct tokens of a page between blanks, sorted; those of the title also with a mark."""
    titled = set(_tokens(title))
    return " ".join(sorted({*titled, *_tokens(text), *(TITLE + token for token in titled)}))


def query_words(query: str, *, open_end: bool = True) -> tuple[Word, ...]:
    """What a person typed, word by word. The last word may still be unfinished: it is found by its beginning."""
    runs = list(_RUN.finditer(fold(query)))
    words = []
    for run in runs:
        if _OF_CJK.match(run[0]):
            pairs = _pairs(run[0])
            words.append(Word(run[0], tuple(pairs[:-1] or pairs), ""))
        else:
            last = open_end and run is runs[-1]
            words.append(Word(run[0], _parts(run[0]), run[0].lower(), open=last))
    return tuple(word for word in words if word.tokens)


def needs_no_more(token: str) -> bool:
    """Whether this is a Chinese letter alone, which stands in pages as the first of two."""
    return len(token) == 1 and _OF_CJK.match(token) is not None


def tokens_of(phrase: str) -> tuple[str, ...]:
    """The tokens that a page with this phrase has, its words in their parts."""
    return tuple(dict.fromkeys(token for word in query_words(phrase, open_end=False) for token in word.tokens))


def fold(text: str) -> str:
    """Full-width letters as narrow ones, ligatures apart; case is kept to find OutOfMemoryError in its parts."""
    return unicodedata.normalize("NFKC", text).replace("\0", " ")


def _tokens(text: str) -> Iterator[str]:
    for run in {match[0] for match in _RUN.finditer(fold(text))}:
        if _OF_CJK.match(run):
            yield from _pairs(run)
        elif len(run) <= MAX_LETTERS:
            yield from _of_word(run)


@lru_cache(maxsize=20_000)  # pages share most of their words
def _of_word(word: str) -> tuple[str, ...]:
    return (*_whole(word), *_parts(word), *_pieces(word))


def _pairs(run: str) -> list[str]:
    """显存不足 → 显存, 存不, 不足, 足: each letter with the next one, the last alone, so that one letter is found by prefix."""
    return [run[place : place + 2] for place in range(len(run))]


def _whole(word: str) -> Iterator[str]:
    """The word as it stands, each run of its dotted parts (``rollout.n`` in ``actor_rollout_ref.rollout.n``), ZeRO-3 as zero3."""
    lower = word.lower()
    yield lower
    dotted = _DOT.split(lower)
    for start in range(len(dotted)):
        for end in range(start + 1, len(dotted) + 1):
            yield ".".join(dotted[start:end])
    if "-" in lower and len(lower) < 20:
        yield lower.replace("-", "")


def _pieces(word: str) -> Iterator[str]:
    """out, of, memory and error in OutOfMemoryError."""
    for part in _MARK.split(word):
        if re.search(r"[a-z][A-Z]", part):
            yield from (piece.lower() for piece in _CAMEL.findall(part))


def _parts(word: str) -> tuple[str, ...]:
    """The parts between marks: gpu, memory and utilization."""
    return tuple(dict.fromkeys(part.lower() for part in _MARK.split(word) if part))
