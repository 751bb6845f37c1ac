"""A failure that a change put an end to, printed above the one that came in its place: “with that it went away, but now I get: …”.

The run of now has the second. What was printed of the first is left out, with its figures and its traceback; settings stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from diagnose.facts.failing.advised import FAILS
from diagnose.facts.sentences.lowered import lower
from diagnose.facts.sentences.prose import spoken
from diagnose.types import Line, Paste

_NOT = r"(?<!not )(?<!n['’]t )(?<!never )"
_IT = (
    r"(?:(?:that|this|the|it|上面|之前|原来|刚才|这个|那个|第一个)(?:\s?的)?\s*(?:one|(?:(?:first|old|original|above|previous|earlier|cuda|gpu)\s+)?"
    r"(?:error|oom|crash|failure|problem|issue|traceback)s?(?: above)?|报?错误?|问题|OOM)?)"
)
_GONE = (
    rf"\b{_IT}\s+(?:(?:is|was|has|now)\s+){{0,2}}{_NOT}(?:gone|went away|go(?:es)? away|disappeared|vanished|solved|fixed)\b"
    r"|(?:上面|之前|原来|刚才|这个|那个|第一个)(?:的|这个)?(?:报错|错误?|问题|OOM)?(?:就|已经?|也)?(?:没有?了|消失了?|解决了|不报了|不爆了|好了)"
)
_CHANGED = (
    r"\b(?:then|so|next|after that|afterwards)\b,?\s+(?:i|we)\s+(?:\w+\s+)?(?:set|changed?|lower(?:ed)?|reduced|cut|dropped|raised|turned"
    r"|switched|enabled|disabled|added|moved|put)\b"
    r"|\b(?:after|with|since)\s+(?:that|this|the)\s+(?:change|fix|setting)\b"
    r"|\bafter\s+(?:i\s+|we\s+)?(?:changing|setting|lowering|reducing|turning|switching|enabling|adding)\b"
    r"|[改换调设降升加开关][成到为至小大低高开启掉了]{1,2}[^。；\n]{0,40}?(?:之后|以后|后)"
)
# what announces the failure below it
_NOW = (
    r"(?:\bnow\b|\bbut then\b|\b(?:an?|the)\s+(?:new|different|another|other|second|next)\s+(?:error|one|failure|crash|oom)\b"
    r"|\banother (?:error|one|failure|crash)\b|\b(?:new|different)\s+(?:error|failure|crash)\b"
    r"|现在|变成了?|又(?:报|出现|来)|新的?(?:报?错|问题))"
)
_TURN = re.compile(rf"(?:{_GONE}|{_CHANGED})[^\n]{{0,100}}?{_NOW}", re.I | re.A)
_ASKED = re.compile(r"[?？吗]\s*$", re.A)
# a program's own last word, or torch's, Ray's and the kernel's on memory
_PRINTED = re.compile(
    r"Traceback \(most recent call last\)|(?:^|[\s:])(?:[\w.]{1,80}\.)?\w{0,40}(?:Error|Exception)(?:\(\w{1,40}\))?: "
    r"|\bCUDA (?:Error|error): |\bOut of memory: Killed process|\boom[-_]kill|\bOOMKilled\b|^Killed\b|\btried to allocate \d",
    re.I | re.A,
)
# what stands below it: a line of code, Ray's account of a node, what torch says of its own message
_GOES_ON = re.compile(
    r"\s{2,}\S|\s*$|Memory on the node|Top \d+ memory users|PID\b|\d+\s+\d|During handling|The above exception"
    r"|CUDA kernel errors|For debugging|Compile with|Of the allocated",
    re.A,
)
_PROGRAM = 3  # words of a command that name what it runs
_RANK = re.compile(r"(?i:(?:node|machine|local)[_-]rank)$|^RANK$", re.A)
_FAILED = re.compile(rf"(?<![A-Za-z]){FAILS}", re.I | re.A)


def of_failure_now(paste: Paste) -> Paste:
    """The paste without what was printed of a failure that gave way to the one below: it is told so, or the program was started again."""
    return _of_second_start(_of_turn(paste))


def _of_second_start(paste: Paste) -> Paste:
    """The paste without what stands printed above the last command of which another of the same program stands above, with a failure
    between the two and one below.

    Commands of several nodes of one run are none of these. What people say above stays.
    """
    printed = [line.number for line in paste.lines if _PRINTED.search(line.words)]
    nodes = {one.command for one in paste.settings if _RANK.search(one.key)}
    commands = [one for at, one in enumerate(paste.commands) if one.words and at not in nodes]
    for last in reversed(commands):
        above = [
            one for one in commands if one.last_line < last.first_line and one.words[:_PROGRAM] == last.words[:_PROGRAM]
        ]
        if above and any(above[-1].last_line < at < last.first_line for at in printed) and printed[-1] > last.last_line:
            return _without_message(paste, last.first_line, lambda line: line)
    return paste


def _of_turn(paste: Paste) -> Paste:
    turns = [line.number for line in paste.lines if _TURN.search(line.words) and not _ASKED.search(line.words)]
    if not turns:
        return paste
    printed = [line.number for line in paste.lines if _PRINTED.search(line.words)]
    turn = next(
        (one for one in reversed(turns) if any(at < one for at in printed) and any(at > one for at in printed)), 0
    )
    said = {line.number for line in spoken(paste, lower(paste).new) if not _PRINTED.search(line.words)}
    if turn not in said:
        return paste
    return _without_message(paste, turn, _without_words)


def _without_message(paste: Paste, turn: int, others: Callable[[Line], Line]) -> Paste:
    """The paste with blanks in the place of messages above the turn; ``others`` of the lines that are none of these."""
    own = {one.span.line for one in paste.settings}
    own |= {number for one in paste.commands for number in range(one.first_line, one.last_line + 1)}
    frames = {one.line for one in paste.frames}
    left = {number for number in _of_message(paste.lines, turn, frames) if number not in own}
    lines = tuple(
        line if line.number >= turn else _blank(line) if line.number in left else others(line) for line in paste.lines
    )
    kept = tuple(one for one in paste.frames if one.line > turn)
    return replace(paste, lines=lines, frames=kept, text="\n".join(line.text for line in lines))


def told_so(before: Paste, paste: Paste) -> tuple[str, ...]:
    """What a person should know where a failure was left out."""
    if paste is before:
        return ()
    return ("A failure stands there that has given way to another; only the later one was read",)


def _of_message(lines: Sequence[Line], turn: int, frames: set[int]) -> Iterator[int]:
    """The lines that a program printed of failures above the turn."""
    inside = False
    for line in lines:
        if line.number >= turn:
            return
        told = line.number in frames or bool(_PRINTED.search(line.words))
        inside = told or (inside and bool(_GOES_ON.match(line.words)))
        if inside:
            yield line.number


def _blank(line: Line) -> Line:
    return replace(line, text=" " * len(line.text), words=" " * len(line.words))


def _without_words(line: Line) -> Line:
    """Dots for the failure in what is said of it."""
    words = _FAILED.sub(lambda found: "·" * len(found[0]), line.words)
    text = line.text[: line.offset] + words if line.text.endswith(line.words) else line.text
    return line if words == line.words else replace(line, text=text, words=words)
