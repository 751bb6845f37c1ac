"""The rollout engine that a text says the run moved to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.sentences.prose import asked, clause_of, span_of
from diagnose.facts.whose_run.almost import ALMOST
from diagnose.types import Fact, Line

_MOVED = re.compile(
    r"\b(?:switch|mov|chang|migrat)\w*\s+(?:(?!to\b)[\w.=-]+\s+){0,6}to\s+(?:the\s+)?(?P<word>vllm|sglang)\b"
    r"|(?:换成|改成|换到|改用|换为|换了|切换?[到成])\s*(?P<word1>vllm|sglang)(?![a-z])",
    re.I | re.A,
)
_WELL = re.compile(
    r"\b(?:fine|works?|worked|no (?:problem|oom)\w*|ok|gone|solved|helped|without (?:any )?(?:problem|trouble|oom))\b"
    r"|没有?问题|正常|能跑|可以跑|好了",
    re.I | re.A,
)


def moved_engine(speech: Sequence[Line], stated: Mapping[str, Fact]) -> Fact | None:
    """The engine that the text says the run moved to; it outranks one that a sentence sets in the same line or where all went well."""
    named = [line for line in speech if any(engine in line.words.lower() for engine in ("vllm", "sglang"))]
    places = [(line, match) for line in named for match in _MOVED.finditer(line.words)]
    told = [
        Fact(
            "rollout_engine",
            (match["word"] or match["word1"]).lower(),
            "read",
            written=match[0],
            span=span_of(line, match),
        )
        for line, match in places
        if not _advised(line.words, match) and not _went_well(line.words[match.start() :])
    ]
    if len({fact.value for fact in told}) != 1:
        return None
    moved, before = told[0], stated.get("rollout_engine")
    if before is None or before.origin == "default":
        return moved
    line = next((line for line in speech if before.span and line.number == before.span.line), None)
    if line is None or before.span is None or before.origin != "read":
        return None
    start = before.span.start - line.offset
    setting = re.compile(re.escape(line.words[start : before.span.end - line.offset])).search(line.words, start)
    beside = any(line.number == fact.span.line for fact in told if fact.span)
    return moved if setting and (beside or _went_well(clause_of(line.words, setting)[1])) else None


def _advised(words: str, moved: re.Match[str]) -> bool:
    """Whether a move is merely advised or asked about; the word for it is one of advice as well."""
    start, clause = clause_of(words, moved)
    around = clause.replace(moved[0], "")
    return bool(ALMOST.search(around) or re.search(r"可以|能不?能?|\bcan\b", around, re.A)) or asked(
        words, start, clause
    )


def _went_well(words: str) -> bool:
    return bool(_WELL.search(words)) and not FAILURE.search(words)
