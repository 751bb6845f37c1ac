"""Chinese numerals of a hundred and more in digits: “response 一万六”, “batch 一百二十八”."""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.types import Line

_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_NUMERAL = re.compile(r"[一二两三四五六七八九][零一二两三四五六七八九十百千万]{1,10}")


def in_digits(line: Line) -> Line:
    """The line with digits for such numerals, blanks after them, so that all else stays in its place; those that would not fit stay."""
    words = _NUMERAL.sub(_written, line.words) if any(unit in line.words for unit in "百千万") else line.words
    return line if words == line.words else replace(line, words=words)


def _written(found: re.Match[str]) -> str:
    said = found[0]
    number = _number(said)
    if number is None or number < 100:
        return said
    short = f"{number // 1000}k" if number % 1000 == 0 else str(number)
    return short.ljust(len(said)) if len(short) <= len(said) else said


def _number(said: str) -> int | None:
    """The number; a digit behind the last unit counts in the unit below it: 一万六 is 16,000. None for a mere row of digits."""
    total = section = digit = 0
    unit = 0
    for sign in said:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
            unit = 1 if sign == "零" else unit
            continue
        unit = _UNITS[sign]
        if unit == 10_000:
            total, section, digit = (total + section + digit) * unit, 0, 0
        else:
            section, digit = section + (digit or 1) * unit, 0
    if not unit:
        return None
    rest = digit * (unit // 10) if digit and unit > 10 and said[-1] in _DIGITS else digit
    return total + section + rest
