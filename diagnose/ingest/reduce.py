"""From a long text to at most 64 kB of it: the lines that can bear a fact, chosen by cheap tests of their shape.

Lines are looked at before anything is redacted, since redacting a megabyte costs more than reading it; nothing but the chosen
lines leaves this module, and those are redacted in one piece.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from diagnose.ingest.normalise import count_lines, numbered, with_gaps
from diagnose.ingest.redact import hide_key_blocks, redact

LIMIT = 64_000  # bytes of the reduced paste
LONGEST = 4_000  # characters of a line that is taken out of a longer text
_HEAD = 6_000
_TAIL = 10_000
_SHORT = 400  # characters up to which a line can be a setting
_SAME_SHAPE = 6  # lines that differ in numbers only

# Literals that tell a class, by class; found in the whole text at once.
_LITERALS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "error",
        (
            "rror: ", "ut of memory", "OOM", "oom-kill", "low on memory", "memory pressure", "available memory", "ree memory on device",
            "xception: ", "Killed", "exit code", "exitcode", "return code", "SIGKILL", "ALLOC_FAILED", "Tried to allocate", "KV cache",
            "/dev/shm", "爆显存", "显存", "内存",
        ),
    ),  # fmt: skip
    (
        "memory",
        (
            "emory usage", "emory users", "MEM(GB)", "ray::", "MiB /", "GPU blocks", "Max_MA", "memory allocated", "emory used",
            "leep mode", "weights took", "weights take", "GiB", "Mem:",
        ),
    ),  # fmt: skip
    ("frame", ('File "', "Traceback (most")),
    ("setting", (" --", "=$", "Namespace(", "Config(", "Arguments(", "overrides", " ....", "export ", "config: ", "json = {")),
    ("package", ("==", "version", "版本")),
)  # fmt: skip
_SETTING = re.compile(
    r"(?:\([^()\n]{1,80}\)[ \t]*)?[-+~*\"'`\s]{0,40}[A-Za-z_][\w.]{1,100}[\"'`]?(?:[ ]?[:=]|[ ]{2,}\S+$)"
)
_COLUMN = re.compile(r"[A-Za-z][\w.-]{1,60}[ \t]{2,}\d[\w.+]{1,40}")
_DIGITS = {ord(digit): None for digit in "0123456789"}

# Bytes that each class may take before the others have had theirs, in the order in which they choose.
_SHARES = (("error", 12_000), ("setting", 16_000), ("frame", 10_000), ("memory", 5_000), ("package", 3_000))


def reduce_text(text: str) -> str:
    """The redacted text where it is at most 64 kB, else its telling lines with ``⋯ n lines ⋯`` where others were."""
    if _size(text) <= 2 * LIMIT:
        whole = redact(text)[0]
        if _size(whole) <= LIMIT:
            return whole
    total = count_lines(text)
    rows = [(number, _cut(line)) for number, line in numbered(hide_key_blocks(text).split("\n"))]
    budget = LIMIT - 6_000
    while True:
        reduced = redact(with_gaps(_chosen(rows, budget), total))[0]
        if _size(reduced) <= LIMIT or budget < 1_000:
            return reduced
        budget = budget * 3 // 4


def classify(lines: Sequence[str]) -> dict[int, str]:
    """The class of each line that has one: error, memory, frame, setting or package, by index."""
    classes: dict[int, str] = {}
    text = "\n".join(lines)
    starts = _starts(lines)
    for name, words in reversed(_LITERALS):
        for word in words:
            _mark(text, word, name, starts, classes)
    for at, line in enumerate(lines):
        if at not in classes and line and len(line) <= _SHORT:
            if _SETTING.match(line) or line[-1] == "\\":
                classes[at] = "setting"
            elif _COLUMN.match(line):
                classes[at] = "package"
    return classes


def shape(line: str) -> str:
    """What makes two lines the same but for their numbers."""
    return line.translate(_DIGITS) if line.isascii() else re.sub(r"\d+", "", line)


def _mark(text: str, word: str, name: str, starts: list[int], classes: dict[int, str]) -> None:
    at = text.find(word)
    while at >= 0:
        line = bisect_right(starts, at) - 1
        classes[line] = name
        if line + 1 >= len(starts):
            return
        at = text.find(word, starts[line + 1])


def _starts(lines: Iterable[str]) -> list[int]:
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    return starts


def _chosen(rows: list[tuple[int, str]], budget: int) -> list[tuple[int, str]]:
    lines = [line for _, line in rows]
    picker = _Picker(lines, budget)
    picker.take(range(len(lines)), min(_HEAD, budget // 6))
    picker.take(range(len(lines) - 1, -1, -1), min(_TAIL, budget // 4))
    by_class: dict[str, list[int]] = {name: [] for name, _ in _SHARES}
    for at, name in sorted(classify(lines).items()):
        by_class[name].append(at)
    for name, share in _SHARES:
        picker.take(_with_source(by_class[name], lines, name), share, distinct=name)
    for name, _ in _SHARES:
        picker.take(_with_source(by_class[name], lines, name), budget, distinct=name)
    return [rows[at] for at in sorted(picker.picked)]


def _with_source(indexes: list[int], lines: list[str], name: str) -> Iterable[int]:
    """The lines of a class; behind a frame also its source line."""
    if name != "frame":
        return indexes
    return [other for at in indexes for other in (at, at + 1) if other < len(lines)]


class _Picker:
    """Takes lines while there is room: all of a class have a share, and of lines of one shape only the first few are taken."""

    def __init__(self, lines: list[str], budget: int) -> None:
        self.lines, self.left = lines, budget
        self.picked: set[int] = set()
        self.seen: dict[str, int] = {}

    def take(self, indexes: Iterable[int], share: int, distinct: str = "") -> None:
        for at in indexes:
            if at in self.picked:
                continue
            line = self.lines[at]
            size = _size(line) + 1 + 20 * (at - 1 not in self.picked)
            if size > share or size > self.left:
                if not distinct or self.left < 100:
                    return
                continue
            if distinct and self._repeats(line, distinct):
                continue
            self.picked.add(at)
            share -= size
            self.left -= size

    def _repeats(self, line: str, distinct: str) -> bool:
        """Frames and settings repeat when they are the same to the letter; other lines when only their numbers differ."""
        exact, loose = "=" + line, shape(line)
        again = self.seen.get(exact, 0) >= 1 if distinct in ("frame", "setting") else self.seen.get(loose, 0) >= 2
        if not again and self.seen.get(loose, 0) >= _SAME_SHAPE:
            again = True
        if not again:
            self.seen[exact] = self.seen.get(exact, 0) + 1
            self.seen[loose] = self.seen.get(loose, 0) + 1
        return again


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _cut(line: str) -> str:
    """A line of at most 4,000 characters, parted at a blank where there is one near."""
    if len(line) <= LONGEST:
        return line
    at = line.rfind(" ", LONGEST - 400, LONGEST)
    return line[: at if at > 0 else LONGEST] + "…"
