"""What a person typed → the words to look for: phrases that mean the same as one, and those that tell little known as such."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

from kb.search.tokens import CJK, Clause, Word, fold, needs_no_more, query_words, tokens_of

_COUNT = re.compile(
    r"(?<!\w)\d{1,4}\s*[x×]\s*(?=[a-z]{0,3}\d)|(?<=\d)\s*[x×]\s*\d{1,4}(?!\w)", re.IGNORECASE
)  # 8x in 8xA100, x8 behind it
_FILE = Path(__file__).with_name("words.toml")


def read_query(query: str, *, open_end: bool = True) -> tuple[Word, ...]:
    """The words of a query in their order, each with what means the same; the last may be unfinished."""
    text, words, at = _COUNT.sub("", fold(query)), list[Word](), 0
    for found in _phrases().finditer(text):
        words += (*query_words(text[at : found.start()], open_end=False), *_known(found[0]))
        at = found.end()
    rest = query_words(text[at:], open_end=open_end)
    if words and not rest and open_end:  # what looks whole may be unfinished all the same
        words[-1] = replace(words[-1], open=words[-1].whole != "")
    return tuple(replace(word, empty=word.empty or needs_no_more(word.written)) for word in (*words, *rest))


def strong(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words that a page must have: those that tell something, the weak ones where there are no others, else all."""
    telling = tuple(word for word in words if not word.empty)
    return tuple(word for word in telling if not word.weak) or telling or words


def clauses(words: tuple[Word, ...]) -> tuple[Clause, ...]:
    """What a page must have for all of these words, each word in one of its ways."""
    return tuple(
        (word.needs(), *(tuple((token, needs_no_more(token)) for token in tokens_of(phrase)) for phrase in word.same))
        for word in words
    )


def _known(phrase: str) -> list[Word]:
    """The word for a phrase of the file."""
    key = _key(phrase)
    empty, weak, same = _file()
    word = Word(phrase, tokens_of(phrase), phrase.lower() if len(tokens_of(phrase)) == 1 else "")
    group = tuple(other for other in same.get(key, ()) if other != key)
    return [replace(word, same=group, weak=key in weak, empty=key in empty)] if word.tokens else []


def _key(phrase: str) -> str:
    return re.sub(r"[\s_-]+", " ", phrase.lower())


@cache
def _file() -> tuple[frozenset[str], frozenset[str], dict[str, tuple[str, ...]]]:
    """The empty words, the weak ones, and of each other phrase those that mean the same."""
    told = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    same: dict[str, tuple[str, ...]] = {}
    for group in told["same"]:
        for phrase in group:
            same[_key(phrase)] = tuple(dict.fromkeys((*same.get(_key(phrase), ()), *group)))
    return frozenset(map(_key, told["empty"])), frozenset(map(_key, told["weak"])), same


@cache
def _phrases() -> re.Pattern[str]:
    """Every phrase of the file, the longest first; one in Latin letters does not begin or end inside a word or a key."""
    empty, weak, same = _file()
    known = sorted({*empty, *weak, *same}, key=lambda phrase: (-len(phrase), phrase))
    ways = {phrase: re.escape(phrase).replace(r"\ ", r"[\s_-]+") for phrase in known}
    chinese = [way for phrase, way in ways.items() if re.search(rf"[{CJK}]", phrase)]
    latin = [way for phrase, way in ways.items() if not re.search(rf"[{CJK}]", phrase)]
    # what must stand around the Latin ones is written once: for each of them anew it would take seconds to compile. A Chinese phrase
    # that begins like a Latin one goes on behind it, and is looked for first.
    word = rf"[^\W{CJK}]"
    around = rf"(?<!{word})(?<!{word}[._\-/+])(?:{'|'.join(latin)})(?!{word}|[._\-/+=(]+{word})"
    return re.compile(f"{'|'.join(chinese)}|{around}", re.IGNORECASE)
