"""How the cards are split, in the one word that a framework's key takes, where a sentence has it: “allocation sglang:d4+d4, OOM”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from diagnose.facts.sentences.prose import span_of
from diagnose.facts.settings.spelling import normal
from diagnose.facts.whose_run.almost import almost
from diagnose.knowledge.records import Framework
from diagnose.types import Line, Paste, Setting

_LONG = 2000
_SIZES = r"(?:[dptcme]\d{1,4}){1,6}"


class _Words(NamedTuple):
    """``whole``: words in several parts with the key that takes them; ``single``: one name and its sizes, with the key by the name."""

    whole: str
    single: dict[str, str]
    form: re.Pattern[str]


def with_splits(paste: Paste, speech: Sequence[Line], framework: Framework) -> Paste:
    """The paste with such words of sentences as the settings that they would be, where no setting of the key stands there."""
    words = _words(framework)
    if not words.whole and not words.single:
        return paste
    given = {normal(setting.key) for setting in paste.settings}
    told = tuple(one for one in _settings(speech, words) if normal(one.key) not in given)
    return replace(paste, settings=(*paste.settings, *told)) if told else paste


def _settings(speech: Sequence[Line], words: _Words) -> Iterator[Setting]:
    found: dict[str, list[Setting]] = {}
    for line in speech:
        for match in words.form.finditer(line.words) if len(line.words) <= _LONG else ():
            key = words.whole if "+" in match[0] else words.single.get(match["name"].lower(), "")
            if key and not almost(line.words, match):
                found.setdefault(key, []).append(
                    Setting(key, match[0].replace(" ", ""), "sentence", span_of(line, match))
                )
    for settings in found.values():
        if len({setting.value for setting in settings}) == 1:
            yield settings[0]


@lru_cache(maxsize=128)
def _words(framework: Framework) -> _Words:
    """The keys that take a word of sizes, and the names with which such a word begins: those of the tables of the same keys."""
    split = [key for key in framework.keys if key.product is not None]
    alone = {key.key for key in split if key.part is None}
    whole = next((key.key for key in split if key.key not in alone), "")
    names: dict[str, str] = {}
    for key in framework.keys:
        if key.values and key.key in alone:
            names |= {name.lower(): key.key for name in key.values}
    joined = {name.lower() for key in framework.keys if key.key == whole for name in key.values}
    said = "|".join(sorted({*names, *joined}, key=len, reverse=True)) or r"(?!)"
    sizes = rf"(?:\[\w{{1,20}}\])?[:.]\(?(?:attn:)?{_SIZES}(?:\|ffn:{_SIZES})?\)?"
    # the part behind the plus may go without a name: it is the trainer's
    second = rf"(?:\s?\+\s?(?:(?:{said}){sizes}|{_SIZES}))?"
    form = re.compile(rf"(?<![\w.=:/-])(?P<name>{said}){sizes}{second}(?![\w:])", re.I | re.A)
    return _Words(whole, names, form)
