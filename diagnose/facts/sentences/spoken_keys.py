"""A framework's own keys with their words apart: “train batch size 256”, “max num seqs = 128”, “enforce eager on”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from diagnose.conditions import holds, in_range
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.sentences.run_words import the_only
from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal, places
from diagnose.facts.whose_run.almost import almost, in_vain
from diagnose.ingest.helped import helped
from diagnose.knowledge.frameworks import Key
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Line, Paste, Span
from diagnose.vocabulary import FACTS, Value

_IS = r"\s*(?:=|:|：|of|is|was|at|to|为|是|(?:设|调|开|给|改)(?:置|的|了){0,2}(?:[为成到]了?)?)?\s*"
_VALUE = {
    "int": r"(?P<value>\d{1,3}(?:,\d{3})+|\d{1,7}[kK]?|two|four|eight|sixteen)(?![\w%]|[.,]\d)",
    "number": r"(?P<value>\d{1,7}(?:\.\d{1,4})?|\.\d{1,4})(?![\w%]|\.\d)",
    "bool": r"(?P<value>true|false|on|off|enabled|disabled)\b",
}
_NUMERALS = {"two": "2", "four": "4", "eight": "8", "sixteen": "16"}
_WIDE = "    "  # blanks in the place of a former value: “from 0.8 to 0.9”
_SAID = {"enabled": "true", "disabled": "false", **_NUMERALS}
_LONG = 2000
_FILES = ("yaml", "json")
# of a card, of a step or of the whole run: no key's words alone
_EVERYDAY = ("batch size",)
_SHORT = re.compile(r"\b(?:bsz?|batch(?! size))\b", re.A)
# a batch by its number, no size: “at train batch 5”, “train batch 5 of 40”
_NUMBERED = re.compile(r"\b(?:at|in|on|during|of|the|first|this|each|every)\s+$|第\s*$", re.I | re.A)
_OF_MORE = re.compile(r"\s*(?:/|of\b|out\b)", re.I | re.A)


class _Spoken(NamedTuple):
    """``marks``: the first words of all keys, of which a line holds one or is passed over."""

    form: re.Pattern[str]
    keys: Mapping[str, tuple[Key, ...]]
    marks: tuple[str, ...]


def spoken_keys(
    speech: Sequence[Line], stated: Mapping[str, Fact], framework: Framework | None, *, alone: bool = False
) -> dict[str, Fact]:
    """Facts that sentences give by a key's words and nothing else does, each by the one value that is said.

    None by a key that the version, where it is told, or the algorithm does not look at. ``alone``: no command tells of the run; then
    also what it failed with in a try.
    """
    if framework is None or framework.fallback:
        return {}
    found: dict[str, list[Fact]] = {}
    tried: dict[str, list[Fact]] = {}
    for fact, line, match in _facts(speech, stated, framework):
        if not almost(line.words, match):
            found.setdefault(fact.id, []).append(fact)
        elif alone and in_vain(line.words, match):
            tried.setdefault(fact.id, []).append(fact)
    return the_only(tried | found)


def _facts(
    speech: Sequence[Line], stated: Mapping[str, Fact], framework: Framework
) -> Iterator[tuple[Fact, Line, re.Match[str]]]:
    told, values = stated.get("framework_version"), {id: fact.value for id, fact in stated.items()}
    version = str(told.value) if told is not None and told.certain else None
    for type in _VALUE:
        spoken = _spoken(framework, type)
        for line in speech:
            if len(line.words) > _LONG or not any(mark in line.words.lower() for mark in spoken.marks):
                continue
            for match in spoken.form.finditer(line.words):
                if "_" in match["key"] and match["value"].lower() not in _NUMERALS and _WIDE not in match[0]:
                    continue  # a setting, where its value is no word for a number and stands right behind it
                if _WIDE in match[0] and helped(line.words, match.end()) or _counts_batches(line.words, match):
                    continue
                key = _in_force(spoken.keys[_plain(match["key"])], version, values)
                fact = _fact(key, line, match) if key else None
                if fact is not None and fact.id not in stated:
                    yield fact, line, match


def _counts_batches(words: str, match: re.Match[str]) -> bool:
    """Whether a batch without the word size is one of many: the number tells which."""
    if "size" in match["key"].lower() or not match["key"].lower().endswith("batch"):
        return False
    return bool(_NUMBERED.search(words[: match.start()]) or _OF_MORE.match(words, match.end()))


def in_words(told: Mapping[str, Fact], paste: Paste, framework: Framework | None) -> dict[str, Fact]:
    """The facts without those that stand in a setting of the framework's own: it tells them by its key, or has no effect."""
    if framework is None or framework.fallback:
        return dict(told)
    own, there = places(framework)[0], {normal(one.key) for one in paste.settings}
    gives = {(word, framework.keys[place].fact) for word in there & own.keys() for place in own[word]}
    rows = [one.span for one in paste.settings if one.shape in _FILES and normal(one.key) in own]
    return {
        id: fact
        for id, fact in told.items()
        if (normal(fact.written.partition("=")[0]), id) not in gives and not any(_holds(fact.span, row) for row in rows)
    }


def _holds(words: Span | None, value: Span) -> bool:
    """Whether the words are those of a setting’s value."""
    return words is not None and words.line == value.line and words.start <= value.start < words.end


def _in_force(keys: Sequence[Key], version: str | None, values: Mapping[str, Value]) -> Key | None:
    """The first entry that the run looks at; an old one tells of an old version where none is named."""
    there = (one for one in keys if version is None or in_range(one.since, one.until, version))
    return next((one for one in there if holds(one.when, values) is not False), None)


def _fact(key: Key, line: Line, match: re.Match[str]) -> Fact | None:
    word = match["value"].lower()
    value = written.of(key.fact, _SAID.get(word, word))
    if value is None:
        return None
    value = not value if key.negated else value
    return Fact(key.fact, value, "read", unit=key.unit, written=match[0].strip(), span=span_of(line, match))


@lru_cache(maxsize=128)
def _spoken(framework: Framework, type: str) -> _Spoken:
    """The keys of facts of one type by their last words; none that several facts share, that hangs on a condition, or of a single word."""
    told: dict[str, list[Key]] = {}
    for key in framework.keys:
        counted = key.above is not None or key.product is not None
        if key.fact and not (key.dead or counted):
            for name in (key.key, *key.aliases):
                told.setdefault(_plain(name.rsplit(".", 1)[-1]), []).append(key)
    keys = {
        words: tuple(own)
        for words, own in told.items()
        if " " in words and words not in _EVERYDAY and len({(key.fact, key.unit, key.negated) for key in own}) == 1
        if FACTS[own[0].fact].type == type and not own[0].when
    }
    names = "|".join(_said(words) for words in sorted(keys, key=len, reverse=True)) or r"(?!)"
    form = re.compile(rf"(?<![\w.-])(?P<key>{names}){_IS}{_VALUE[type]}", re.I | re.A)
    return _Spoken(form, keys, tuple({words.split(" ", 1)[0] for words in keys}))


def _said(words: str) -> str:
    """A key's words as people write them, the size of a batch in short as well: “train bs 256”, “train batch 256”."""
    return re.escape(words).replace(r"batch\ size", r"(?:batch\ size|batch|bsz?)").replace(r"\ ", "[ _-]")


def _plain(name: str) -> str:
    return _SHORT.sub("batch size", re.sub(r"[ _-]+", " ", name).strip().lower())
