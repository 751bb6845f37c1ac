"""Several attempts told one after the other, “Attempt 1: …”: the last one that failed is the run, and it keeps what it does not change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.hardware.card_patterns import WENT_WELL
from diagnose.types import Line, Paste, Setting

_HEAD = re.compile(
    r"^[\s#*>-]{0,8}(?:(?:attempt|try|trial|run|experiment)\s*#?\s*(?P<number>\d{1,2})|第\s*(?P<zh>[\d一二三四五六七八九])\s*次(?:尝试|试|实验|跑|运行)?)"
    r"(?:\s*[(（][^)）\n]{1,24}[)）])?\s*\**\s*[:：,，]",
    re.I | re.A,
)
_ZH = "一二三四五六七八九"
# parts of keys that name what a sentence may say of them: “batch 1” of per_device_train_batch_size
_PART = re.compile(r"[a-z]{4,}", re.A)
_EVERYWHERE = frozenset(("size", "device", "train", "steps", "vllm", "actor", "rollout", "model", "config"))


def of_last_attempt(paste: Paste, said: Sequence[Line]) -> tuple[Paste, tuple[Line, ...]]:
    """The paste and what people wrote without the other attempts, but for settings of which the last one says nothing."""
    blocks = _blocks(said)
    failed = [block for block in blocks if _failed(block)]
    if len(blocks) < 2 or not failed:
        return paste, tuple(said)
    last = failed[-1]
    others = {line.number for block in blocks if block is not last for line in block}
    words = " ".join(line.words.lower() for line in last)
    kept = tuple(one for one in paste.settings if one.span.line not in others or not _named(one, words))
    lines = tuple(replace(line, words="") if line.number in others else line for line in paste.lines)
    return replace(paste, lines=lines, settings=kept), tuple(line for line in said if line.number not in others)


def _blocks(said: Sequence[Line]) -> list[list[Line]]:
    """The lines of each attempt, up to the next one or an empty line; none where their numbers do not go up one by one."""
    heads = [(at, found) for at, line in enumerate(said) if (found := _HEAD.match(line.words))]
    numbers = [_number(found) for _, found in heads]
    if numbers != list(range(1, len(numbers) + 1)):
        return []
    ends = [*(at for at, _ in heads), len(said)]
    return [_paragraph(said[start:end]) for start, end in pairwise(ends)]


def _number(found: re.Match[str]) -> int:
    word = found["number"] or found["zh"]
    return int(word) if word.isdigit() else _ZH.index(word) + 1


def _paragraph(lines: Sequence[Line]) -> list[Line]:
    block: list[Line] = []
    for line in lines:
        if not line.words.strip() or (block and line.number != block[-1].number + 1):
            break
        block.append(line)
    return block


def _failed(block: Sequence[Line]) -> bool:
    words = " ".join(line.words for line in block)
    failure, well = FAILURE.search(words), WENT_WELL.search(words)
    return failure is not None and (well is None or well.start() < failure.start())


def _named(setting: Setting, words: str) -> bool:
    """Whether the words speak of what the setting is of."""
    parts = set(_PART.findall(setting.key.lower())) - _EVERYWHERE
    return any(part in words for part in parts)
