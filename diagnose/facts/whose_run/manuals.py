"""Lines that tell of no run of one's own: a page of documentation, a table that compares runs, the boxes of a form for issues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from diagnose.facts.hardware.card_look import OF_CARDS
from diagnose.types import Hit, Line, Paste

_TITLE = re.compile(
    r"\s*(?:#{1,6}\s*|\*\*|\d{1,2}(?:\.\d{1,2})*[.、]?\s+|Q\d{0,2}\s*[:：.]\s*)?"
    r"(?:FAQs?|frequently asked questions|trouble-?shooting|Q\s?&\s?A|(?:tuning |memory |useful |practical )?tips|best practices"
    r"|(?:hardware|memory|gpu|vram|system) requirements|(?:performance|memory) (?:tuning|optimi[sz]ations?)"
    r"|how (?:to|do i|can i)\b[^.\n]{3,80}[?？]"
    r"|常见问题\S{0,6}|故障排[除查]|问题排查|最佳实践|(?:硬件|显存)(?:要求|需求|占用|优化)\S{0,4}|调优指南|使用说明|注意事项)(?![a-z])[^\n]{0,60}$",
    re.I | re.A,
)
_QUESTION = re.compile(r"\s*[#*\s]{0,8}(?:Q\d{0,2}|问)\s*[:：.、]", re.I | re.A)
_ANSWER = re.compile(r"\s*[#*\s]{0,8}(?:A\d{0,2}|答)\s*[:：.、]", re.I | re.A)
_ADVICE = re.compile(
    r"\b(?:we (?:recommend|suggest|advise)|(?:is|are) recommended|recommended|if you\b|you (?:can|may|might|should|could|need)\b"
    r"|(?:reduce|lower|decrease|enable|consider|increase|try) (?:the |`|\w*_\w|reducing|lowering|enabling|to\b|using)|if OOM\b)"
    r"|建议|推荐|可以?(?:尝试|通过|考虑|适当|使用|减小|降低|开启)|请(?:尝试|减小|降低|检查|确认|参考)|如(?:果|遇到)",
    re.I | re.A,
)
# somebody's own words: then a page may stand beside them, and is left to what else tells advice
_OWN = re.compile(
    r"\b(?:i|i['’](?:m|ve|d)|my|mine|me)\b|\bwe (?:get|got|hit|see|have|are|ran|run|use|tried|keep|only)\b"
    r"|\b(?:help|any ideas?|thanks?|thank you)\b|我|咱|求助|请问|救命|大佬|跪求|急|谢谢|多谢",
    re.I | re.A,
)
# a sentence that counts cards and advises nothing is of a run
_SENTENCE = re.compile(r"[.。;；!！?？]+(?=\s|$|[^\x00-\x7f])", re.A)
_CARDS = re.compile(rf"(?<![\w.-])\d{{1,4}}{OF_CARDS}", re.I | re.A)
_BOX = re.compile(r"\s*[-*+]\s*\[(?P<tick>[ xX✓√])\]\s*(?P<words>.*)", re.A)
# what somebody confirms by a tick before an issue can be sent
_FORMAL = re.compile(
    r"\b(?:search\w*|read|checked|agree\w*|confirm\w*|follow\w*|understand|duplicat\w*|latest version|up[- ]to[- ]date)\b"
    r"|搜索|阅读|查[看阅找]|确认|同意|重复|最新版本?",
    re.I | re.A,
)
_RULE = re.compile(r"[\s|:+-]{3,}$", re.A)
_BY_TOOL = re.compile(r"\d\s*Mi?B\s*/|\d\s*/\s*\d{3,}|\b[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:", re.A)
_CELLS, _ROWS = 3, 3  # of a table that compares: a title and two runs


def of_no_run(paste: Paste) -> frozenset[int]:
    """The numbers of the lines in which nobody tells of a run."""
    if _is_manual(paste):
        return frozenset(line.number for line in paste.lines)
    return frozenset((*_boxes(paste.lines), *_compared(paste.lines)))


def without_hits(hits: tuple[Hit, ...], paste: Paste, aside: frozenset[int]) -> tuple[Hit, ...]:
    """The hits without those that such lines give; what a program printed into a table stays."""
    if not aside:
        return hits
    whole = len(aside) == len(paste.lines)
    ticked = frozenset(_boxes(paste.lines))
    return tuple(
        hit
        for hit in hits
        if hit.span.line not in aside or (hit.signature.strength > 1 and not whole and hit.span.line not in ticked)
    )


def _is_manual(paste: Paste) -> bool:
    """Whether all of it is a page for everybody: it has such a title, gives advice, and nobody speaks of a run of his own."""
    if paste.frames or paste.commands:
        return False
    words = [line.words for line in paste.lines]
    titled = any(_TITLE.match(one) for one in words) or _asks_and_answers(words)
    if not titled or not any(_ADVICE.search(one) for one in words):
        return False
    return not any(
        _OWN.search(one) or _printed(line) or _counts_cards(one)
        for one, line in zip(words, paste.lines, strict=True)
        if not _QUESTION.match(one)
    )


def _counts_cards(words: str) -> bool:
    return any(_CARDS.search(one) and not _ADVICE.search(one) for one in _SENTENCE.split(words))


def _asks_and_answers(words: Sequence[str]) -> bool:
    asked = [at for at, one in enumerate(words) if _QUESTION.match(one)]
    return bool(asked) and any(_ANSWER.match(one) for one in words[asked[0] :])


def _printed(line: Line) -> bool:
    """Whether a program printed the line: it has a log's prefix, or the figures of a refusal."""
    return line.offset > 4 or bool(re.search(r"tried to allocate \d", line.words, re.I | re.A))


def _boxes(lines: Sequence[Line]) -> Iterator[int]:
    """Boxes without a tick, and those that are ticked so that the issue can be sent."""
    for line in lines:
        if (box := _BOX.match(line.words)) and (box["tick"] == " " or _FORMAL.search(box["words"])):
            yield line.number


def _compared(lines: Sequence[Line]) -> Iterator[int]:
    """The rows of tables of three columns and more: several runs stand in them, and none is this one."""
    block: list[Line] = []
    for line, after in pairwise((*lines, Line(0, "", ""))):
        if _cells(line.words) >= _CELLS or (block and _RULE.match(line.words)):
            block.append(line)
        if block and (line is not block[-1] or after.number != line.number + 1 or not _goes_on(after.words)):
            rows = [one for one in block if not _RULE.match(one.words)]
            if len(rows) >= _ROWS and len({_cells(one.words) for one in rows}) == 1 and not any(map(_of_tool, rows)):
                yield from (one.number for one in block)
            block = []


def _goes_on(words: str) -> bool:
    return _cells(words) >= _CELLS or bool(_RULE.match(words))


def _cells(words: str) -> int:
    mark = "|" if "|" in words else "\t"
    return len(words.strip().strip("|").split(mark))


def _of_tool(line: Line) -> bool:
    """Whether a tool of the cards printed the row."""
    return bool(_BY_TOOL.search(line.words))
