"""Which lines of a long log tell something, by cheap tests on its bytes: what repeats is folded, then literals are looked for.

A log of a hundred megabytes is mostly the same few lines with other numbers. So the numbers are taken out of a whole block at
once, and only the first few lines of each form that is left are looked at; searching a literal in all of those together costs
less than any pattern would on one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

SAME_FORM = 6  # lines that differ in numbers only
_SHORT = 400  # bytes up to which a line can be a setting
_KNOWN = 50_000  # forms that are remembered

# Literals that tell a class, by class; found in all lines at once. Later ones outrank earlier ones.
LITERALS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("package", ("==", "version", "版本", ".dist-info")),
    ("setting", (" --", "=$", "Namespace(", "Config(", "Arguments(", "verrides", " ....", "xport ", "config: ", "json = {")),
    ("frame", ('File "', "Traceback (most")),
    (
        "memory",
        (
            "emory", "MEM(GB)", "ray::", "iB", "GPU blocks", "Max_MA", "Mem", "VRAM", "HBM",
        ),
    ),
    (
        "error",
        (
            "rror: ", "OOM", "oom-kill", "oom_kill", "xception: ", "Killed", "killed", "xit code", "xit Code",
            "xitcode", "eturn code", "SIGKILL", "Tried to allocate", "KV cache", "/dev/shm", "显存", "内存",
        ),
    ),
)  # fmt: skip
# What makes a line about memory one of an error.
_ERRORS = re.compile(rb"emory(?: pressure| on device)|(?:ut of|low on|vailable) memory")
_RANK = {name: rank for rank, (name, _) in enumerate(LITERALS)}
_WORDS = {word.encode(): name for name, words in LITERALS for word in words}
# Words that begin with a rare character are found together by one pattern, which looks closer there only; the others one by one.
_RARE = b"=ACFGHKMNOSTV/jkvx"
_TOGETHER = re.compile(
    b"|".join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True) if word[:1] in _RARE)
)
_APART = tuple(word for word in _WORDS if word[:1] not in _RARE)
_SETTING = re.compile(
    rb"(?:\([^()\n]{1,80}+\)[ \t]*+)?+[-+~*\"'`\s]{0,40}+[A-Za-z_][\w.]{1,100}+[\"'`]?(?:[ ]?[:=]|[ ]{2,}\S+$)"
)
_COLUMN = re.compile(rb"[A-Za-z][\w.-]{1,60}+[ \t]{2,}+\d[\w.+]{1,40}")


def forms(text: bytes) -> list[bytes]:
    """Each line without its numbers: what makes two lines the same but for those."""
    return text.translate(None, b"0123456789").split(b"\n")


class Fold:
    """Lets the first few lines of a form pass. Forms are forgotten all at once when there are too many."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}

    def fresh(self, of_lines: Sequence[bytes]) -> Iterator[int]:
        """The places of the lines whose form came fewer than ``SAME_FORM`` times."""
        if len(self.seen) > _KNOWN:
            self.seen.clear()
        seen = self.seen
        for at, form in enumerate(of_lines):
            times = seen.get(form, 0)
            if times < SAME_FORM:
                seen[form] = times + 1
                yield at


def classify(lines: Sequence[bytes], places: Iterable[int]) -> dict[int, str]:
    """The class of each of the lines at ``places`` that has one: error, memory, frame, setting or package."""
    places = list(places)
    chosen = [lines[at] for at in places]
    text = b"\n".join(chosen)
    starts = list(accumulate((len(line) + 1 for line in chosen), initial=0))
    classes: dict[int, str] = {}
    for word, start in _found(text, starts):
        line = bisect_right(starts, start) - 1
        name = "error" if word == b"emory" and _ERRORS.search(chosen[line]) else _WORDS[word]
        if line not in classes or _RANK[name] > _RANK[classes[line]]:
            classes[line] = name
    for at, line_ in enumerate(chosen):
        if at not in classes and line_ and len(line_) <= _SHORT:
            if line_[-1] == 0x5C or _SETTING.match(line_):  # a backslash
                classes[at] = "setting"
            elif b"  " in line_ and _COLUMN.match(line_):
                classes[at] = "package"
    return {places[at]: classes[at] for at in sorted(classes)}


def _found(text: bytes, starts: Sequence[int]) -> Iterator[tuple[bytes, int]]:
    """Literals and where they stand; one that is found by itself once in a line."""
    for found in _TOGETHER.finditer(text):
        yield found[0], found.start()
    for word in _APART:
        at = text.find(word)
        while at >= 0:
            yield word, at
            at = text.find(word, starts[bisect_right(starts, at)])
