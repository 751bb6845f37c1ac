"""Two texts side by side: which fields differ, which lines, and which words within a line. Bounded like ``kb.lines``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from diagnose.knowledge.loader import split as split_document
from kb.lines import matching, split

CONTEXT = 3
MOST_WORDS = 40_000  # old words × new words compared, all lines of a page together
ALIKE = 0.4  # lines that share less are two lines, not one that changed
SHOWN = 400  # letters of a value in the table of fields

# A run of letters, one Chinese character, a run of spaces, or one sign.
_WORD = re.compile(r"[^\W\u2e80-\u9fff]+|\s+|.", flags=re.S)

Part = tuple[str, bool]  # words, and whether they changed


@dataclass(frozen=True)
class Side:
    """One line of one text; ``number`` is 0 where this text has no such line."""

    number: int
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Row:
    """A line on both sides (``same``, ``change``), on one (``del``, ``add``), or ``skip``: how many equal lines are not shown."""

    kind: str
    old: Side
    new: Side
    skipped: int = 0


@dataclass(frozen=True)
class FieldChange:
    """A field of the front matter with its two values in words; None where it is absent."""

    field: str
    old: str | None
    new: str | None


def rows(old: str, new: str, whole: bool = False) -> list[Row]:
    """The lines of both texts side by side, with ``CONTEXT`` equal ones round each change, or all."""
    before, after = split(old), split(new)
    found: list[Row] = []
    words = [MOST_WORDS]
    i = j = 0
    for in_old, in_new, many in matching(before, after):
        found += _changed(before[i:in_old], after[j:in_new], i, j, words)
        same = [Row("same", *_both(before[in_old + k], in_old + k, in_new + k)) for k in range(many)]
        first, last = i == 0 and j == 0 and not found, in_old + many == len(before) and in_new + many == len(after)
        found += same if whole else _shortened(same, 0 if first else CONTEXT, 0 if last else CONTEXT)
        i, j = in_old + many, in_new + many
    return [row for row in found if row.kind != "skip" or row.skipped]


def fields(old: str, new: str) -> list[FieldChange] | None:
    """The fields that differ, in the order of the newer text; None where one of the two has no front matter that can be read."""
    try:
        before, after = (tomllib.loads(split_document(text)[0]) for text in (old, new))
        return list(_fields(before, after, ""))
    except (ValueError, RecursionError):
        return None


def _fields(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[FieldChange]:
    for key in [*new, *(key for key in old if key not in new)]:
        was, now, name = old.get(key), new.get(key), f"{path}{key}"
        if was == now and type(was) is type(now):
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            yield from _fields(was, now, f"{name}.")
        elif _tables(was) and _tables(now):
            yield from _listed(was or [], now or [], name)
        else:
            yield FieldChange(name, _words(was), _words(now))


def _listed(old: list[dict[str, Any]], new: list[dict[str, Any]], name: str) -> Iterator[FieldChange]:
    """Lists of tables: equal ones are paired first, so that one put in at the top does not change all below it."""
    i = j = 0
    for in_old, in_new, many in matching([repr(item) for item in old], [repr(item) for item in new]):
        for was, now in zip_longest(old[i:in_old], new[j:in_new]):
            j_here = j + 1
            if was is not None and now is not None:
                yield from _fields(was, now, f"{name}[{j_here}].")
            else:
                number = j_here if was is None else i + 1
                yield FieldChange(f"{name}[{number}]", _words(was), _words(now))
            i, j = i + (was is not None), j + (now is not None)
        i, j = in_old + many, in_new + many


def _tables(value: Any) -> bool:
    return value is None or (isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value))


def _words(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        words = "true" if value else "false"
    elif isinstance(value, dict):
        words = " · ".join(f"{key}: {_words(item)}" for key, item in value.items())
    elif isinstance(value, list):
        words = "\n".join(str(_words(item)) for item in value)
    else:
        words = str(value)
    return words if len(words) <= SHOWN else words[:SHOWN] + " …"


def _changed(before: list[str], after: list[str], i: int, j: int, words: list[int]) -> list[Row]:
    """Lines that were replaced, paired in order; those that share words are one line that changed."""
    found = []
    for k, (was, now) in enumerate(zip_longest(before, after)):
        if was is None or now is None:
            old, new = (_one(was, i + k + 1), _one(now, j + k + 1))
            found.append(Row("add" if was is None else "del", old, new))
        else:
            parts = _within(was.rstrip("\n"), now.rstrip("\n"), words)
            found.append(Row("change", Side(i + k + 1, parts[0]), Side(j + k + 1, parts[1])))
    return found


def _within(old: str, new: str, left: list[int]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The words of two lines with those marked that differ; nothing is marked where hardly any is the same, or the budget is spent."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    cost = len(before) * len(after)
    if cost > left[0] or not cost:
        return ((old, False),), ((new, False),)
    left[0] -= cost
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return ((old, False),), ((new, False),)
    olds: list[Part] = []
    news: list[Part] = []
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        olds += [("".join(before[a:a_end]), tag != "equal")] if a < a_end else []
        news += [("".join(after[b:b_end]), tag != "equal")] if b < b_end else []
    return tuple(olds), tuple(news)


def _both(line: str, i: int, j: int) -> tuple[Side, Side]:
    parts = ((line.rstrip("\n"), False),)
    return Side(i + 1, parts), Side(j + 1, parts)


def _one(line: str | None, number: int) -> Side:
    return Side(0) if line is None else Side(number, ((line.rstrip("\n"), False),))


def _shortened(same: list[Row], lead: int, tail: int) -> list[Row]:
    hidden = len(same) - lead - tail
    if hidden <= 1:
        return same
    skip = Row("skip", Side(0), Side(0), hidden)
    return [*same[:lead], skip, *(same[len(same) - tail :] if tail else [])]
