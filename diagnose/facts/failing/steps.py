"""The step at which it failed: named in words, else the last counter that the trainer printed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.facts.sentences.lowered import Lowered
from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line, Paste

_AT = r"\b(?:at|around|about|after|until|till|near|by|past|from|for|made it|runs?|in|on)"
_ROUGHLY = r"(?:(?:the|about|around|roughly|some|only|just|global|training|~)\s+)*"
_NUMBER = r"(?P<step>\d{1,7})"
_TO = r"(?:\s*(?:-|–|~|\.\.|至|到)\s*|\s+(?:to|through|until|till)\s+)"
# the first number of a range of steps that went well is none at which it failed
_ALONE = rf"(?!{_TO}(?:step\s*)?#?\d)"
_WORDS = (
    re.compile(rf"\bsteps?\s*#?\d{{1,7}}{_TO}(?:step\s*)?#?{_NUMBER}\b", re.I | re.A),
    re.compile(rf"{_AT}\s+{_ROUGHLY}step\s*#?{_NUMBER}\b{_ALONE}", re.I | re.A),
    re.compile(
        rf"(?:{_AT}|~)\s*{_ROUGHLY}~?{_NUMBER}(?:st|nd|rd|th)?\s+"
        r"(?:(?:training|global|optimi[sz]er)\s+)?(?:steps?|iterations?|iters?)\b",
        re.I | re.A,
    ),
    re.compile(
        rf"(?:第|到|训练?了?|约|大概|大约|跑了?)\s*{_NUMBER}\s*(?:多|几)?\s*(?:个\s*)?(?:步|steps?|iter|迭代)",
        re.I | re.A,
    ),
    re.compile(rf"(?<![\w=]){_NUMBER}\s*步(?:左右|时|的时候|之后|后|就)", re.A),
    re.compile(rf"\b(?:in|at|on|during)\s+(?:iteration|iter)\s*#?{_NUMBER}\b{_ALONE}", re.I | re.A),
    re.compile(
        rf"(?:^|[\s(（,，。;；、：])(?:global[_ ])?step\s*[#:=]?\s*{_NUMBER}\b(?!\s*[/.]\d){_ALONE}", re.I | re.A
    ),
)
# in lower case; every line that counts steps holds one
OF_COUNTERS = ("step", "iter", "%|")
# in lower case; any of the forms above holds one of the first
_STEP = ("step", "iter", "步", "迭代")
_FAILURE = re.compile(
    r"oom|out of memory|就报|爆|挂|崩|炸|溢出|报错|失败|杀|fail|crash|dies|died|dead\b|stops?\b|kill|runs? out|ran out",
    re.A,
)
# a step that went well is none at which it failed, and neither is a number that a program prints for itself
_WELL = re.compile(
    r"^\s*(?:(?:is|was|are|were|runs?|ran|went|goes|all|still|again|completely)\s+){0,3}(?:\w+\s+but\s+)?(?:fine|ok|okay|well|through|passe[sd]|works?)\b"
    r"|^\s*(?:都|也|是|还|完全|一切|倒是?){0,2}(?:能过|能跑|正常|没问题|过了|过(?=[，,。;；\s]|$)|好的|可以|成功|跑通|没事|不会)|^\s*(?:完整|顺利|正常)?地?(?:跑|走|训|做)完",
    re.I | re.A,
)
_PRINTED = re.compile(r"@\s*$", re.A)
# a step in words; only beside a word of failure
_ORDINALS = {word: number for number, word in enumerate(("first", "second", "third", "fourth", "fifth"), 1)}
_ORDINALS |= {word: number for number, word in enumerate("一二三四五六七八九十", 1)}
_SPOKEN = re.compile(
    r"\b(?P<step>first|second|third|fourth|fifth)\s+(?:(?:training|global|optimi[sz]er|[A-Z]{3,5})\s+)?(?:step|iteration)\b"
    r"|第(?P<ordinal>[一二三四五六七八九十])(?![一二三四五六七八九十百])(?:个)?\s*(?:步|step|iter|次迭代)",
    re.I | re.A,
)
# “before the first step”, “还没进第一步”: it never came so far, unless only its end did not come
_NOT_YET = re.compile(
    r"(?:还没有?|没有?|尚?未)(?:开始|进入?|走|跑|到){0,2}\s*$|\bbefore (?:even )?(?:the )?(?:very )?$"
    r"|\b(?:never|not even) (?:reach\w*|g[eo]t\w* to) the (?:very )?$",
    re.I | re.A,
)
_ENDS = re.compile(r"\s*(?:is |was |could |can )?(?:finish|complet|end|done|over)|\s*(?:完|结束)", re.I | re.A)
# “step 1: 310GB, step 50: 520GB” reads a gauge at each, and the last one is how far it came
_READING = r"(?:\s*[:：=]\s*~?|\s{1,8})[\d.,]+\s*[GMT]i?B?(?![A-Za-z])"
_IS_READING = re.compile(_READING, re.I | re.A)
# as a heading over a step's metrics, and as an entry of a dictionary
_HEADING = re.compile(rf"^\s*step\s+{_NUMBER}\s*$", re.I | re.A)
# the metrics of a step in one line: “step:12 - actor/pg_loss:0.01 - …”
_METRICS = re.compile(r"^\s*step\s*[:=]\s*\d+\s+-\s+[A-Za-z][\w/.@-]*\s*[:=]", re.A)
_COUNTERS = (
    _HEADING,
    re.compile(rf"['\"](?:global_)?step['\"]\s*:\s*{_NUMBER}\b", re.A),
    re.compile(rf"['\"]iteration['\"]\s*:\s*['\"]{_NUMBER}/\d", re.A),
    re.compile(rf"global_step/max_steps['\"]?\s*[:=]\s*['\"]?{_NUMBER}/\d", re.A),
    # with a decimal, or as a timing, it is the time of a step: “timing_s/step:210.3”
    re.compile(rf"(?<!timing_s/)\bstep\s*[:=]\s*{_NUMBER}\b(?!\.\d|\s*/?\s*epoch)", re.I | re.A),
    re.compile(
        rf"(?:^|\|)\s*(?P<bar>[^|]{{0,40}}?)\s*\d{{1,3}}%\s*\|[^|]*\|\s*{_NUMBER}(?:\.0+)?/(?P<total>[\d.]+)\s*\[", re.A
    ),
    re.compile(rf"\b(?:iteration|iter|step)\s+{_NUMBER}\s*/\s*\d+", re.I | re.A),
    re.compile(rf"\b(?:iteration|iter|step)\s*{_NUMBER}(?={_READING})", re.I | re.A),
)
# a bar with another label counts something else: shards, prompts, graphs, rows of a data set, batches within a step
_TRAINING_BAR = re.compile(
    r"^(?!.*\b(?:mini|micro)[- _]?batch)(?:.*\b)?(?:train\w*|epoch|step\w*|global\w*|progress|episode)\b.*$|^$",
    re.I | re.A,
)
_NEAR = 60
# a number that somebody rounds, and how far the counted one may lie beyond it
_ROUGH = re.compile(r"~|\b(?:about|around|roughly|some)\b|约|大概|多|几|左右", re.I | re.A)
_BEYOND = 1.5
_SHORTLY = 16  # “it crashed at step 180”


def read_step(paste: Paste, lowered: Lowered, stages: int = 0, evaluating: bool = False) -> Fact | None:
    """The failing step as a fact, or None: as it is named, but as the trainer counted it where the words round it.

    Up to ``stages`` a number in words is that of a part of the recipe. ``evaluating``: it failed in one, whose bar may be the last.
    """
    told = _in_words(paste, lowered, stages)
    if told and not _ROUGH.search(told.written):
        return told
    counted_to = _by_counters(paste, evaluating)
    if told is None or counted_to is None:
        return told or counted_to
    return counted_to if int(told.value) <= int(counted_to.value) <= _BEYOND * int(told.value) else told


def _in_words(paste: Paste, lowered: Lowered, stages: int) -> Fact | None:
    """Of several named steps the first that a word of failure follows, in a line of attempts the last."""
    first: Fact | None = None
    for i in lowered.holding(_STEP):
        line = paste.lines[i]
        # once a step is named only a line that also tells of a failure can tell more
        if first and not _FAILURE.search(lowered.lines[i]):
            continue
        named = [(fact, failed) for fact, failed in _named(line) if not 0 < int(fact.value) <= stages]
        if at := [fact for fact, failed in named if failed]:
            return max(at, key=_place)  # of several attempts in one sentence the latest
        first = first or next((fact for fact, _ in named), None)
    return first


def _by_counters(paste: Paste, evaluating: bool) -> Fact | None:
    """The last step that the trainer counted."""
    if evaluating and (bar := _training_bar(paste)):
        return _fact(*bar)
    for line in reversed(paste.lines):
        if counters := list(counted(line)):
            return _fact(line, counters[-1])
    return None


def _place(fact: Fact) -> int:
    return fact.span.start if fact.span else 0


def _training_bar(paste: Paste) -> tuple[Line, re.Match[str]] | None:
    """The training's last bar where that of an evaluation, which counts to another total and began later, stands behind it.

    A loop of evaluation gives its bar no label (huggingface/transformers v4.51.0 src/transformers/trainer_callback.py: on_prediction_step).
    """
    counters = [(line, found) for line in paste.lines for found in counted(line)]
    totals = [found["total"] if "total" in found.re.groupindex else "" for _, found in counters]
    if not totals or not totals[-1]:
        return None
    before = [total for total in totals[: totals.index(totals[-1])] if total]
    return counters[len(totals) - 1 - totals[::-1].index(before[-1])] if before else None


def _named(line: Line) -> Iterator[tuple[Fact, bool]]:
    """Every step that the words name and that did not go well, with whether a word of failure follows, or stands right before it."""
    if _HEADING.match(line.words) or _METRICS.match(line.words) or "%|" in line.words:
        return
    for form in _WORDS:
        found = list(form.finditer(line.words))
        for i, match in enumerate(found):
            end = found[i + 1].start() if i + 1 < len(found) else match.end() + _NEAR
            after = line.words[match.end() : min(end, match.end() + _NEAR)].lower()
            well = form is not _WORDS[0] and _WELL.match(after)
            if (
                not well
                and not _IS_READING.match(line.words, match.end())
                and not _PRINTED.search(line.words[: match.start()])
            ):
                before = line.words[max(0, match.start() - _SHORTLY) : match.start()].lower()
                yield _fact(line, match), bool(_FAILURE.search(after) or _FAILURE.search(before))
    yield from _spoken(line)


def _spoken(line: Line) -> Iterator[tuple[Fact, bool]]:
    """The steps that are named by an ordinal, on a line that tells of a failure."""
    if not _FAILURE.search(line.words.lower()):
        return
    found = list(_SPOKEN.finditer(line.words))
    for i, match in enumerate(found):
        end = found[i + 1].start() if i + 1 < len(found) else len(line.words)
        after = line.words[match.end() : min(end, match.end() + _NEAR)].lower()
        never = _NOT_YET.search(line.words[: match.start()]) and not _ENDS.match(after)
        if not never and not _WELL.match(after):
            number = _ORDINALS[(match["step"] or match["ordinal"]).lower()]
            told = Fact("step", number, "read", written=match[0], span=span_of(line, match))
            yield told, bool(_FAILURE.search(after))


def counted(line: Line) -> Iterator[re.Match[str]]:
    """The places where a trainer's own counters name a step on a line, each with a group ``step``."""
    words = line.words.lower()
    if not any(word in words for word in OF_COUNTERS):
        return
    for form in _COUNTERS:
        for found in form.finditer(line.words):
            if "bar" not in form.groupindex or _TRAINING_BAR.match(found["bar"].strip(" :")):
                yield found


def _fact(line: Line, found: re.Match[str]) -> Fact:
    return Fact("step", int(found["step"]), "read", written=found[0].strip(), span=span_of(line, found, "step"))
