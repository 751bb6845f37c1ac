"""What takes something away, and the encodings of a file that is uploaded."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from benchmarks.damage.shapes import Damage, each_line, replaced, substituted


def without_head(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[len(lines) * 3 // 10 :])


def without_tail(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[: len(lines) - len(lines) * 3 // 10])


def without_middle(text: str) -> str:
    lines = text.split("\n")
    third = max(1, len(lines) // 3)
    return "\n".join([*lines[:third], "...", *lines[2 * third :]])


def last_lines(count: int) -> Damage:
    return lambda text: "\n".join(text.split("\n")[-count:])


def narrow(width: int) -> Damage:
    """What stands right of a pane's edge is not copied."""
    return lambda text: each_line(text, lambda line: line[:width])


def misread(encoding: str) -> Damage:
    """UTF-8 shown as if it were another encoding."""
    return lambda text: text.encode().decode(encoding, "replace")


LOSSY: dict[str, Damage] = {
    "head lost": without_head,
    "tail lost": without_tail,
    "middle lost": without_middle,
    "last 20": last_lines(20),
    "last 40": last_lines(40),
    "last line cut": lambda text: text[: len(text.rstrip()) - 12],
    "narrow 80": narrow(80),
    "narrow 120": narrow(120),
    "no indents": substituted(r"(?m)^[ \t]+", ""),
    "all in one line": lambda text: re.sub(r"\s*\n\s*", " ", text),
    "line ends lost": replaced(("\n", "")),
    "misread as Latin-1": misread("latin-1"),
    "misread as GBK": misread("gbk"),
}
BYTES: dict[str, Callable[[str], bytes]] = {
    "UTF-16, mark": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 BE, mark": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-16": lambda text: text.encode("utf-16-le"),
    "UTF-8, mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "GB 18030": lambda text: text.encode("gb18030"),
}
