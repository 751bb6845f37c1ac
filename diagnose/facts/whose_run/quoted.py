"""What a mail or a reply quotes of somebody else: another's run where the writer tells of one's own, a question where it asks.

A log that somebody puts behind “>” is one's own, and what an answer quotes is the run that is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.failing.advised import FAILS, FAILS_ZH, without_advice
from diagnose.types import Line, Paste

_QUOTED = re.compile(r"\s{0,3}>{1,4}(?!>)(?:\s|[^\s\x00-\x40]|$)", re.A)
# who wrote what is quoted below
_WROTE = re.compile(
    r"\s{0,3}>?\s{0,3}(?:On\b[^\n]{6,120}\bwrote|@?[^\s:：]{1,40}(?: [^\s:：]{1,40})? (?:wrote|said|writes)"
    r"|[^\n]{1,80}写道)\s*[:：]\s*$",
    re.I | re.A,
)
# below it all is another's, without a sign before each line
_BELOW = re.compile(r"\s{0,3}(?:-{3,} ?(?:Original Message|原始邮件|Forwarded message)|_{10,}\s*$)", re.I | re.A)
_SPEAKS = re.compile(r"\b(?:i|we|me|my|our|i['’]m)\b|我|咱|楼主", re.I | re.A)
_ASKS = re.compile(r"\byou(?:r)?\b[^\n]*\?|[你您][^\n]*[?？]|\?\s*$|？\s*$", re.I | re.A)
_SAME = re.compile(
    r"\bsame (?:here|issue|problem|error|thing)\b|\bme too\b|(?:^|\s)\+1\b|\balso (?:have|get|see|hit)\b"
    r"|\bi (?:have|get|see|hit) (?:it|this|the same)\b"
    r"|我也(?:是|遇到|有|一样)|同样(?:的)?(?:问题|情况|报错)|一样的(?:问题|情况|报错)|同问",
    re.I | re.A,
)
# the writer goes on with what is quoted
_GOES_ON = re.compile(r"^\s*(?:update|edit|correction|更新|补充)\s*\d{0,2}\s*[:：]", re.I | re.A)
_FAILED = re.compile(rf"(?:\b(?:CUDA|GPU|host|system) )?{FAILS}|{FAILS_ZH}", re.I | re.A)


def without_quoted(paste: Paste) -> Paste:
    """The paste without what is quoted of another's run; where the writer only has “the same”, what ran out is kept."""
    quoted = _quoted(paste.lines)
    own = [line for line in paste.lines if line.number not in quoted and line.text.strip()]
    if not quoted or not own or any(_GOES_ON.match(line.text) for line in own):
        return paste
    words = [without_advice(line.words) for line in own]
    fails, same = (any(form.search(one) for one in words) for form in (_FAILED, _SAME))
    same = same and any(re.search(r"\d", one, re.A) for one in words)
    left = {
        number
        for block, speaks, asks in _blocks(paste.lines, quoted)
        if asks or (speaks and (fails or same))
        for number in block
    }
    return without(paste, left, keep_failure=not fails) if left else paste


def _quoted(lines: Sequence[Line]) -> set[int]:
    below = next((line.number for line in lines if _BELOW.match(line.text)), None)
    return {
        line.number
        for line in lines
        if _QUOTED.match(line.text) or _WROTE.match(line.text) or (below is not None and line.number >= below)
    }


def _blocks(lines: Sequence[Line], quoted: set[int]) -> Iterator[tuple[list[int], bool, bool]]:
    """Quoted lines in a row, whether somebody speaks of a run there, and whether nothing but a question stands there."""
    block: list[Line] = []
    for line in (*lines, None):
        if line is not None and (line.number in quoted or (block and not line.text.strip())):
            block.append(line)
            continue
        said = [one.text for one in block if one.text.strip(" >")]
        if said:
            named = any(_WROTE.match(one) or _BELOW.match(one) for one in said)
            speaks = named or any(_SPEAKS.search(one) for one in said)
            yield [one.number for one in block], speaks, all(_ASKS.search(one) for one in said)
        block = []


def without(paste: Paste, left: set[int], *, keep_failure: bool = False) -> Paste:
    """The paste with blanks in the place of these lines and nothing of what stands there; words of a failure may be kept."""
    lines = tuple(_blank(line, keep_failure) if line.number in left else line for line in paste.lines)
    return replace(
        paste,
        text="\n".join(line.text for line in lines),
        lines=lines,
        settings=tuple(one for one in paste.settings if one.span.line not in left),
        commands=tuple(replace(one, words=()) if one.first_line in left else one for one in paste.commands),
        frames=tuple(one for one in paste.frames if one.line not in left),
        packages=tuple(one for one in paste.packages if one.line not in left),
    )


def _blank(line: Line, keep_failure: bool) -> Line:
    """The line with blanks in the place of all words but those of a failure that is kept."""
    text = list(" " * len(line.text))
    for found in _FAILED.finditer(line.text) if keep_failure else ():
        text[found.start() : found.end()] = found[0]
    return replace(line, text="".join(text), words="".join(text)[line.offset :])
