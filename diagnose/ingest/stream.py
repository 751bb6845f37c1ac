"""Bytes of any length to text of bounded length: decoding line by line, keeping the start, the end and the telling lines."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterable, Iterator

from diagnose.ingest.normalise import with_gaps
from diagnose.ingest.reduce import classify, shape

_LINE = 64_000  # bytes of a line that are kept; the rest of it is passed over
_HEAD = 256_000  # characters kept whole at the start, and again at the end
_TELLING = 768_000  # characters of telling lines between them
_BLOCK = 4_000  # lines that are judged at once
_SHAPES = 50_000
_BAD = 0.3  # share of what is not ASCII that has to fail before another encoding is tried


def read_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of UTF-8 or, by byte-order mark, UTF-16; a line that is badly broken UTF-8 is tried as GBK."""
    pieces = iter(chunks)
    first = b""
    while len(first) < 4 and (piece := next(pieces, None)) is not None:
        first += piece
    stream = _chain(first, pieces)
    if first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        stream = _from_utf16(stream)
    for line in _split(stream):
        yield _decode(line)


def thin(lines: Iterable[str]) -> str:
    """A text of at most about 1.3 million characters, with gap lines; line numbers are those of all lines."""
    head: list[tuple[int, str]] = []
    telling: list[tuple[int, str]] = []
    tail: deque[tuple[int, str]] = deque()
    block: list[tuple[int, str]] = []
    seen: dict[str, int] = {}
    head_size = tail_size = number = 0
    room = _TELLING
    for number, line in enumerate(lines, 1):
        if head_size < _HEAD:
            head.append((number, line))
            head_size += len(line) + 1
            continue
        tail.append((number, line))
        tail_size += len(line) + 1
        while tail_size > _HEAD and len(tail) > 1:
            block.append(tail.popleft())
            tail_size -= len(block[-1][1]) + 1
        if len(block) >= _BLOCK:
            room = _judge(block, telling, seen, room)
            block = []
    _judge(block, telling, seen, room)
    return with_gaps([*head, *telling, *tail], number)


def _judge(block: list[tuple[int, str]], telling: list[tuple[int, str]], seen: dict[str, int], room: int) -> int:
    """Moves the telling lines of a block over, a few of each shape; gives the room that is left."""
    if room <= 0 or not block:
        return room
    for at in sorted(classify([line for _, line in block])):
        line = block[at][1]
        key = shape(line[:200])
        if seen.get(key, 0) >= 8 or (key not in seen and len(seen) >= _SHAPES):
            continue
        seen[key] = seen.get(key, 0) + 1
        telling.append((block[at][0], line))
        room -= len(line) + 1
        if room <= 0:
            break
    return room


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _from_utf16(chunks: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines without their ends; of a line longer than 64 kB its start."""
    rest = b""
    too_long = False
    for chunk in chunks:
        parts = (rest + chunk.replace(b"\r\n", b"\n")).split(b"\n")
        rest = parts.pop()
        for part in parts:
            yield part[:_LINE]
        if len(rest) > _LINE:
            rest, too_long = rest[:_LINE], True
    if rest or too_long:
        yield rest


def _decode(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
    foreign = sum(character > "\x7f" for character in text)
    if text.count("\ufffd") > _BAD * foreign:
        try:
            return line.decode("gbk")
        except UnicodeDecodeError:
            return text
    return text
