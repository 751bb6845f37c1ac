"""Text → tokens: words, keys whole and in parts, and pairs of Chinese, Japanese or Korean letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MAX_LETTERS = 80  # of one token; longer runs are keys of nobody
TITLE = "t:"  # stands before a token that is in the title

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}](?:[^\W{_CJK}]|[.\-/+](?=[^\W{_CJK}]))*")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_MARK = re.compile(r"[_\-/+]+|(?<!\d)\.|\.(?!\d)")  # 2.5 stays whole: 2 and 5 would find everything


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query: the tokens that must all be there, or the ``whole`` of them in one token.

    ``open``: the last token, or the whole one, counts by its beginning.
    """

    written: str
    tokens: tuple[str, ...]
    whole: str
    open: bool = False


def document_tokens(title: str, text: str) -> str:
    """The distinct tokens of a page between blanks, sorted; those of the title also with a mark."""
    titled = set(_tokens(title))
    return " ".join(sorted({*titled, *_tokens(text), *(TITLE + token for token in titled)}))


def query_words(query: str, *, open_end: bool = True) -> tuple[Word, ...]:
    """What a person typed, word by word. The last word may still be unfinished: it is found by its beginning."""
    runs = list(_RUN.finditer(_fold(query)))
    words = []
    for run in runs:
        if re.match(rf"[{_CJK}]", run[0]):
            pairs = _pairs(run[0])
            words.append(Word(run[0], tuple(pairs[:-1] or pairs), "", open=len(run[0]) == 1))
        else:
            last = open_end and run is runs[-1]
            words.append(Word(run[0], _parts(run[0]), run[0].lower(), open=last))
    return tuple(word for word in words if word.tokens)


def needs(words: tuple[Word, ...]) -> tuple[tuple[str, bool], ...]:
    """The tokens that a page must have for these words, each with whether its beginning is enough."""
    return tuple((token, word.open and token == word.tokens[-1]) for word in words for token in word.tokens)


def _fold(text: str) -> str:
    """Full-width letters as narrow ones, ligatures apart; case is kept to find OutOfMemoryError in its parts."""
    return unicodedata.normalize("NFKC", text).replace("\0", " ")


def _tokens(text: str) -> Iterator[str]:
    for run in _RUN.finditer(_fold(text)):
        if re.match(rf"[{_CJK}]", run[0]):
            yield from _pairs(run[0])
        elif len(run[0]) <= MAX_LETTERS:
            yield from _whole(run[0])
            yield from _parts(run[0])
            yield from _pieces(run[0])


def _pairs(run: str) -> list[str]:
    """显存不足 → 显存, 存不, 不足, 足: each letter with the next one, the last alone, so that one letter is found by prefix."""
    return [run[place : place + 2] for place in range(len(run))]


def _whole(word: str) -> Iterator[str]:
    """The word as it stands, each run of its dotted parts (``rollout.n`` in ``actor_rollout_ref.rollout.n``), ZeRO-3 as zero3."""
    lower = word.lower()
    yield lower
    dotted = re.split(r"(?<!\d)\.|\.(?!\d)", lower)
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
