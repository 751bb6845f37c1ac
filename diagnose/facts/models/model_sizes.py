"""The size of a model in words, where nothing names it: “7B”, a script's name, what a run is called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.hardware.cards import names
from diagnose.facts.models.model_names import NAMED, plain, size_of
from diagnose.facts.models.model_words import SCRIPT, SIZED, of_a_run, standing
from diagnose.facts.sentences.prose import span_of
from diagnose.knowledge import Knowledge
from diagnose.types import Fact, Line, Paste

_SIZE_WORDS = re.compile(
    r"(?<![A-Za-z0-9_.\-/:])(\d{1,3}(?:\.\d{1,2})?)\s?[-]?([bB])(?=$|\.(?!\d)|[\s,，。、;；:：)）?？!！\u4e00-\u9fff]|\s*(?:model|模型"
    r"|规模))(?!:\d)(?!\s*(?:param\w*\s+)?(?:tokens|images))",
    re.A,
)
# “70亿参数”, “a 7 billion parameter model”, “a 500M model”; a number of parameters alone may be that of adapters
_SPELLED = (
    (
        re.compile(r"(?<![\d.])(?P<n>\d{1,4}(?:\.\d{1,2})?)\s?亿\s?(?:个)?(?:的)?(?:参数|规模|模型)", re.A),
        0.1,
    ),
    (
        re.compile(
            r"(?<![\w.])(?P<n>\d{1,3}(?:\.\d{1,2})?)[ -]billion(?:[ -]param(?:eter)?s?)?[ -](?:\w{1,20} )?(?:models?|LLM)\b",
            re.I | re.A,
        ),
        1.0,
    ),
    (
        re.compile(
            r"(?<![\w.])(?P<n>\d{2,3})[ -]?(?:M|million)(?:[ -]param(?:eter)?s?)?[ -]?(?:models?\b|LLM\b|(?:的)?模型)",
            re.A,
        ),
        0.001,
    ),
)
# several sizes of one family
_SIZES = re.compile(
    r"(?<![\w.])(?:[A-Za-z][\w.]{1,20}-)?\d{1,3}(?:\.\d{1,2})?[bB]?(?:\s?(?:/|、|和|与|\band\b|\bor\b|&)\s?\d{1,3}(?:\.\d{1,2})?[bB]?){1,4}"
    r"(?<=[bB])(?![\w/])",
    re.A,
)
_CALLED = re.compile(r"\s*-?(?:sized?\s+)?(?:的)?(?:models?\b|模型|规模|policy\b|actor\b|LLM\b)", re.I | re.A)
# a size of a model beside the one that is trained: “a remote reward model 70B”, “70B 的裁判模型”
_OTHERS = (
    r"(?:(?:(?:external|remote|frozen)\s+)?(?:reward|judge|verifier|embedding|teacher|draft)(?:\s+(?:model|server))"
    r"|genrm|奖励模型|裁判模型|打分模型|教师模型)"
)
_OTHERS_BEFORE = re.compile(
    r"(?<!train )(?<!training )(?<!train a )(?<!training a )(?<!训练)(?<!训)(?<!训练 )(?<!训 )(?<![\w-])"
    rf"{_OTHERS}\s*(?:is|of|是|用的?是?|为|[:：=(（])?\s*(?:an?\s+)?$",
    re.I | re.A,
)
_OTHERS_BEHIND = re.compile(rf"\s*-?(?:sized?\s+)?(?:的)?\s*{_OTHERS}", re.I | re.A)
_SIZE_IN_NAME = re.compile(
    r"(?<![A-Za-z0-9.])([1-9]\d{0,2}(?:[.p]\d{1,2})?|0[.p]?\d{1,2})b(?![A-Za-z0-9])", re.I | re.A
)


def size_in_words(speech: Sequence[Line], knowledge: Knowledge) -> Fact | None:
    """``7B`` in words; of several sizes the only one that is called a model's, else none. A card's name is no size."""
    cards = names(knowledge.gpus).words
    found: dict[float, Fact] = {}
    called: set[float] = set()
    compared: set[float] = set()
    for line in speech:
        for listed in _SIZES.finditer(line.words) if SIZED.search(line.words) else ():
            for size in re.findall(r"(?<![\w.])\d{1,3}(?:\.\d{1,2})?(?=[bB]?(?:\W|$))", listed[0], re.A):
                value = plain(float(size))
                found.setdefault(
                    float(value), Fact("params_b", value, "read", written=listed[0], span=span_of(line, listed))
                )
        for match in _SIZE_WORDS.finditer(line.words):
            if f"{match[1]}b" in cards or not float(match[1]) or _of_another(line.words, match):
                continue
            value = plain(float(match[1]))
            aside, moved = standing(line.words, match)
            if aside:
                compared.add(float(value))
            if moved:
                called.add(float(value))
            found.setdefault(float(value), Fact("params_b", value, "read", written=match[0], span=span_of(line, match)))
            if _CALLED.match(line.words[match.end() :]):
                called.add(float(value))
    spelled = dict(_spelled(speech))
    found, called = spelled | found, called | spelled.keys()
    sizes = called if len(called) == 1 else (set(found) - compared or set(found))
    if not found:
        return _size_in_names(speech)
    return found[sizes.pop()] if len(sizes) == 1 else None


def _spelled(speech: Sequence[Line]) -> Iterator[tuple[float, Fact]]:
    """Sizes in words for a thousand million or a hundred, which are called a model's."""
    for line in speech:
        for form, each in _SPELLED:
            for match in form.finditer(line.words):
                value = plain(round(float(match["n"]) * each, 3))
                if value and not _of_another(line.words, match):
                    yield float(value), Fact("params_b", value, "read", written=match[0], span=span_of(line, match))


def _of_another(words: str, size: re.Match[str]) -> bool:
    """Whether the size is that of a model beside the one that is trained; a reward model may be what is trained."""
    before = words[max(0, size.start() - 60) : size.start()]
    behind = _OTHERS_BEHIND.match(words, size.end()) and not re.search(
        r"\btrain\w*\s+(?:an?\s+)?$|训练?\s*$", before, re.I | re.A
    )
    return bool(_OTHERS_BEFORE.search(before) or behind)


def size_of_script(paste: Paste) -> Fact | None:
    """The only size in what the commands start: ``python -m playground.orz_7b_ppo``."""
    started = {word for command in paste.commands for word in command.words}
    lines = [replace(line, words=f" -m {word}") for line in paste.lines for word in started if word in line.words]
    sizes = {float(fact.value): fact for line in lines if (fact := _size_in_names([line])) is not None}
    return next(iter(sizes.values())) if len(sizes) == 1 else None


def _size_in_names(speech: Sequence[Line]) -> Fact | None:
    """The only size in what scripts and runs are called, as in ``orz_32b_ppo.py`` and ``grpo-7b``; a p may stand for the point."""
    found: dict[float, Fact] = {}
    for line in speech:
        scripts = [(script, script[0]) for script in SCRIPT.finditer(line.words)]
        runs = [(name, name["name"]) for name in NAMED.finditer(line.words) if of_a_run(name["name"])]
        for place, words in (*scripts, *runs):
            for size in _SIZE_IN_NAME.finditer(words):
                value = plain(size_of(size[1]))
                span = span_of(line, place)
                found.setdefault(float(value), Fact("params_b", value, "read", written=place[0], span=span))
    return next(iter(found.values())) if len(found) == 1 else None
