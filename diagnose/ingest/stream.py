"""Bytes of any length to text of bounded length: block by block, keeping the start, the end and the telling lines."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterable, Iterator

from diagnose.ingest.normalise import marked, with_gaps
from diagnose.ingest.telling import Fold, classify, forms

BLOCK = 256 << 10  # bytes that are judged at once; the first block and the last two are kept whole
_LINE = 64_000  # bytes of a line that are kept; the rest of it is passed over
# Bytes of telling lines between start and end, by class.
_ROOM = {"error": 256_000, "memory": 192_000, "frame": 160_000, "setting": 128_000, "package": 32_000}
_ENTRY = 100  # bytes that a line costs beside its own
_MANY = 8_000  # lines of a block that are kept at each end
_BAD = 0.3  # share of what is not ASCII that has to fail before another encoding is tried
# Control characters that no terminal and no log writes, and for how many bytes that are not ASCII one of them may stand in a text.
_NO_TEXT, _RARE = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f]"), 20
_TOLD = 512  # bytes that tell whether a text is UTF-16


def thin(chunks: Iterable[bytes]) -> bytes:
    """UTF-8 text of at most about 1.6 million bytes, with gap lines; line numbers are those of all lines."""
    kept: list[tuple[int, bytes]] = []
    ends: deque[tuple[int, bytes]] = deque()
    middle = _Middle()
    number = 0
    for block in blocks(chunks):
        if number == 0:
            kept = _ends(0, block)
        else:
            ends.append((number, block))
        if len(ends) > 2:
            middle.judge(*ends.popleft())
        number += block.count(b"\n") + 1
    kept += middle.lines()
    for first, block in ends:
        kept += _ends(first, block)
    return with_gaps(kept, number)


def _ends(before: int, block: bytes) -> list[tuple[int, bytes]]:
    """A block's lines with their numbers; of a block that is hardly more than line ends the first and the last ones."""
    lines = block.split(b"\n")
    again = max(_MANY, len(lines) - _MANY)
    return [*enumerate(lines[:_MANY], before + 1), *enumerate(lines[again:], before + again + 1)]


class _Middle:
    """The telling lines between start and end: the first few of each form while there is room, and the last of each."""

    def __init__(self) -> None:
        self.fold = Fold()
        self.telling: dict[int, bytes] = {}
        self.last: dict[bytes, tuple[int, bytes]] = {}
        self.room = dict(_ROOM)

    def judge(self, before: int, block: bytes) -> None:
        """Takes from a block, ``before`` whose first line stand as many lines."""
        if not block.strip(b"\n"):
            return
        lines, of_lines = block.split(b"\n"), forms(block)
        latest = dict(zip(of_lines, range(len(lines)), strict=True))
        for form in self.last.keys() & latest.keys():
            line = lines[latest[form]]
            if len(line) <= 2 * len(form) + _ENTRY:
                self.last[form] = (before + latest[form] + 1, line)
        for at, name in classify(lines, self.fold.fresh(of_lines)).items():
            size = len(lines[at]) + _ENTRY
            if size <= self.room[name]:
                self.room[name] -= size
                self.telling[before + at + 1] = lines[at]
                self.last.setdefault(of_lines[at], (before + at + 1, lines[at]))

    def lines(self) -> list[tuple[int, bytes]]:
        return sorted((self.telling | dict(self.last.values())).items())


def blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines as UTF-8, about ``BLOCK`` bytes at a time, without the line end of the last; line ends are LF."""
    waiting: list[bytes] = []
    size, skipping = 0, False
    for chunk in _utf8(iter(chunks)):
        waiting.append(chunk)
        size += len(chunk)
        if size < BLOCK:
            continue
        text, rest = _parted(b"".join(waiting))
        if skipping:  # the rest of a line that was too long
            at = text.find(b"\n") + 1
            skipping, text = not at, text[at:] if at else b""
        if skipping:
            rest = b""
        elif len(rest) > _LINE:
            rest, skipping = _cut(rest), True
            text, rest = text + rest + b"\n", b""
        if text:
            yield _readable(text[:-1])
        waiting, size = [rest], len(rest)
    text = b"".join(waiting).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if skipping:
        text = text.partition(b"\n")[2]
    if text:
        yield _readable(text)


def _parted(text: bytes) -> tuple[bytes, bytes]:
    """Lines with LF as their ends, and the start of a line that goes on."""
    held = b"\r" if text[-1:] == b"\r" else b""
    text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = text.rfind(b"\n") + 1
    return text[:end], text[end:] + held


def _readable(text: bytes) -> bytes:
    """Valid UTF-8, lines at most ``_LINE`` bytes long; a line that is badly broken is tried as GBK; bytes that are no text are marked."""
    lines = text.split(b"\n")
    if len(max(lines, key=len)) > _LINE:
        text = b"\n".join(map(_cut, lines))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        if _RARE * len(_NO_TEXT.findall(text)) > len(text) - len(text.decode("ascii", "ignore")):
            return marked(text.decode("utf-8", "replace").encode())
        if (whole := _of_gbk(text)) is not None:
            return whole.encode()
        return b"\n".join(_decode(line).encode() for line in text.split(b"\n"))
    return text


def _cut(line: bytes) -> bytes:
    return line[:_LINE]


def _utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes, but those of UTF-16 as UTF-8: told by a byte-order mark or by NULs in every other place alone."""
    first = b""
    while len(first) < _TOLD and (piece := next(chunks, None)) is not None:
        first += piece
    name = _utf16(first[:_TOLD])
    if not name:
        yield first
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(name)(errors="replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _utf16(first: bytes) -> str:
    if first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    # ASCII has a NUL beside each byte, Chinese characters have none, but 一 one on the other side
    high, low = first[1::2].count(0), first[::2].count(0)
    if len(first) < 16 or max(high, low) <= len(first) // 8 or min(high, low) > max(high, low) // 4:
        return ""
    return "utf-16-le" if high > low else "utf-16-be"


def _decode(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        text = _of_gbk(line)
    return line.decode("utf-8", "replace") if text is None else text


def _of_gbk(data: bytes) -> str | None:
    """The text where it is GBK all through and badly broken as UTF-8."""
    text = data.decode("utf-8", "replace")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    if text.count("\ufffd") <= _BAD * foreign:
        return None
    try:
        return data.decode("gbk")
    except UnicodeDecodeError:
        return None
