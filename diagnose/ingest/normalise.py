"""One form of text for everything behind it: LF, no byte-order mark, no control characters, no gap that is not counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from diagnose.ingest.carried import unmarked, unpacked
from diagnose.ingest.closed_up import opened_up
from diagnose.ingest.endless import parted
from diagnose.ingest.panes import without_boxes
from diagnose.ingest.scanned import read_again
from diagnose.ingest.typeset import typed
from diagnose.ingest.wrapped import unwrapped

# CSI and OSC sequences of ECMA-48, as terminals and log collectors leave them.
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]{0,24}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Za-z0-9])")
# The same spelled out, as JSON, editors and rsyslog write the first character.
_SPELLED = re.compile(rb"(?:\\u001[bB]|\xe2\x90\x9b|<0x1[bB]>|#033|\xe2\x86\x90|ESC)\[[0-9;]{0,24}m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufeff\ufffe\uffff]", re.A)
_CONTROL_BYTES = bytes([*range(9), *range(14, 32), 127])
_AS_LINE_ENDS = bytes.maketrans(b"\x0b\x0c\r", b"\n\n\n")
_SURROGATE = re.compile(r"[\ud800-\udfff]", re.A)
_GAP = re.compile(r"⋯ (\d{1,9}) lines? ⋯", re.A)

_ROUNDS = 8  # one mark may have hidden another; nobody wraps a text more often
_SAMPLE = 65_536  # bytes that tell a binary file, and whether colours are spelled out
_BINARY_SHARE = 0.1
_NOISE = "\ufffd".encode()  # stands for a line of noise
# stands for the first of them in what is read: by it that is known again as the text of a binary file
_NOTED = "⋯ noise ⋯".encode()
_WORDS = 4  # letters that a line of a binary text has at least


def normalise(text: str) -> str:
    """The text with LF line ends and without escapes and control characters; no line end at its end."""
    return normalise_bytes(encode(text)).decode()


def encode(text: str) -> bytes:
    """UTF-8, also of a text with halves of characters."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def normalise_bytes(data: bytes) -> bytes:
    """The same on valid UTF-8: taking bytes out is many times faster than looking for characters."""
    for _ in range(_ROUNDS):
        plain = _plain(data)
        data = opened_up(unwrapped(without_boxes(read_again(parted(unmarked(typed(unpacked(plain))))))))
        if data == plain:
            break
    return data


def _plain(data: bytes) -> bytes:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\x1b" in data:
        data = _ESCAPE.sub(b"", data)
    first = data[:_SAMPLE]
    if b"[0m" in first or b"[39m" in first:
        data = _SPELLED.sub(b"", data)
    if b"^M\n" in first:
        data = data.replace(b"^M\n", b"\n").removesuffix(b"^M")
    return data.translate(_AS_LINE_ENDS, _CONTROL_BYTES).rstrip(b"\n")


def is_binary(data: bytes) -> bool:
    """Whether a tenth of the start is NULs, other unprintables or bytes that no encoding fitted, or such lines were left out before."""
    sample = data[:_SAMPLE].decode("utf-8", "ignore")
    odd = len(_CONTROL.findall(sample)) - sample.count("\r") - sample.count("\x1b") + sample.count("\ufffd")
    return odd > _BINARY_SHARE * max(len(sample), 1) or _NOTED in data


def marked(data: bytes) -> bytes:
    """Bytes that are no text with one mark for each line of noise, by which they are still known as binary."""
    return b"\n".join(line if not line or _legible(line) else _NOISE for line in data.split(b"\n"))


def without_noise(data: bytes) -> bytes:
    """The lines that are text, with gap lines where noise was: a word that stands in noise tells nothing."""
    if is_binary(data) and _NOTED not in data:
        lines = marked(data).split(b"\n")
        if _NOISE in lines:
            lines[lines.index(_NOISE)] = _NOTED
    elif _NOISE in data:
        lines = data.split(b"\n")
    else:
        return data
    return with_gaps(((number, line) for number, line in enumerate(lines, 1) if line != _NOISE), len(lines))


def _legible(line: bytes) -> bool:
    """Whether a line is long enough to be words and hardly more than printable."""
    if line.count(_NOISE) > _BINARY_SHARE * len(line):
        return False  # most of a file that is no text: without a closer look
    text = line.decode("utf-8", "replace")
    odd = text.count("\ufffd") + len(_CONTROL.findall(text.replace("\x1b", "").rstrip("\r")))
    return len(text) >= _WORDS and odd <= _BINARY_SHARE * len(text)


def gap(lines: int) -> str:
    """The line that stands for lines left out."""
    return f"⋯ {lines} line{'s' if lines > 1 else ''} ⋯"


def gap_length(line: str) -> int:
    """How many lines of the person's text a gap line stands for; 0 when it is no gap line."""
    found = _GAP.fullmatch(line) if line.startswith("⋯ ") else None
    return int(found[1]) if found else 0


def numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each line with its number in the person's text; gap lines are counted, not given."""
    number = 0
    for line in lines:
        left_out = gap_length(line)
        if left_out:
            number += left_out
            continue
        number += 1
        yield number, line


def with_gaps(rows: Iterable[tuple[int, bytes]], total: int) -> bytes:
    """Text of some numbered lines out of ``total``, with gap lines where others were."""
    parts: list[bytes] = []
    last = 0
    for number, line in rows:
        if number > last + 1:
            parts.append(gap(number - last - 1).encode())
        parts.append(line)
        last = number
    if total > last:
        parts.append(gap(total - last).encode())
    return b"\n".join(parts)


def count_lines(text: str) -> int:
    """Lines of the person's text, gaps counted."""
    return sum(gap_length(line) or 1 for line in text.split("\n")) if text else 0
