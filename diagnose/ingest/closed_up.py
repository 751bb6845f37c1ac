"""An allocator's message that lost its blanks, was broken inside a phrase, or has the marks of Chinese sentences.

Readers of pictures close words up and break lines anywhere; chats and input methods change the marks. The message is PyTorch's
(c10/cuda/CUDACachingAllocator.cpp), whose words nobody else puts beside sizes in this way.
"""

from __future__ import annotations

import re

_S = rb"(?:[ \t]{0,8}\n[ \t]{0,8}|[ \t]{1,8})"
_SIZE = rb"\d{1,6}(?:\.\d{1,2})?" + _S + rb"[KMGT]iB"
_PHRASES = tuple(
    phrase.replace(b" ", _S).replace(b"SIZE", _SIZE)
    for phrase in (
        rb"Tried to allocate SIZE",
        rb"total capaci?ty of SIZE(?: of which SIZE is free)?",
        rb"(?:this process|Process \d{1,9}) has SIZE memory in use",
        rb"Of the allocated memory SIZE is allocated by PyTorch",
        rb"and SIZE is reserved by PyTorch but unallocated",
    )
)
_PHRASE = re.compile(b"|".join(_PHRASES))
_BREAK = re.compile(rb"[ \t]*\n[ \t]*")
_GONE = "\ue000".encode()  # a sign that nobody has a use for
_WORDS = re.compile(
    rb"Tried to ?allocate|total ?capaci?ty|memory in use|allocated by PyTorch|reserved by PyTorch|already allocated"
)
# a size in two, which is one only where it is not the only such size
_APART = re.compile(rb"(?<=\d)\. (?=\d\d[ \n]?[KMGT]iB\b)")
# words that a reader of pictures leaves no blank in at all
_RUN_ON = {
    words.replace(b" ", b""): words
    for words in (
        b"out of memory", b"Tried to allocate", b"has a total capacity of", b"of which", b"is free", b"has", b"memory in use",
        b"total capacity", b"Including non-PyTorch memory,", b"this process", b"Of the allocated memory", b"is allocated by PyTorch",
        b"already allocated", b"reserved in total by PyTorch", b"is reserved by PyTorch but unallocated", b"free",
    )
}  # fmt: skip
_RUN_ON_WORDS = re.compile(b"|".join(re.escape(words) for words in sorted(_RUN_ON, key=len, reverse=True)))
_RUN_ON_PROOF = re.compile(rb"Triedtoallocate|totalcapacityof|iBtotalcapacity")
_CLOSED = (
    (re.compile(rb"(?<=\d)(?=[KMGT]iB(?![A-Za-z]))"), b" "),
    (re.compile(rb"(?<=iB)(?=(?:is|of|memory|allowed|total|already|free|reserved)\b)"), b" "),
    (re.compile(rb"\b(allocate|capaci?ty of|which|memory|has|and)(?=\d{1,6}\.\d)"), rb"\1 "),
    (re.compile(rb"\b(GPU|Process) ?(\d{1,9}) ?(?=has\b)"), rb"\1 \2 "),
    (re.compile(rb"((?:iB|memory|free|use|unallocated)\.)(?=[A-Z])"), rb"\1 "),
)
_MARKS = (("（", "("), ("）", ")"), ("；", "; "), ("：", ": "), ("，", ", "), ("．", "."), ("。", ". "))
_OF_BYTES = tuple((mark.encode(), instead.encode()) for mark, instead in _MARKS)


def opened_up(data: bytes) -> bytes:
    """The text with such messages as they are printed; any other text as it is."""
    if b"iB" not in data or not _WORDS.search(data):
        return data
    if _RUN_ON_PROOF.search(data):
        data = b"\n".join(_spaced(line) if _RUN_ON_PROOF.search(line) else line for line in data.split(b"\n"))
    if len(_APART.findall(data)) > 1:
        data = _APART.sub(b".", data)
    data = b"\n".join(_line(line) if b"iB" in line and _WORDS.search(line) else line for line in data.split(b"\n"))
    whole = _PHRASE.sub(_whole, data)
    return _with_as_many_lines(whole) if _GONE in whole else whole


def _whole(found: re.Match[bytes]) -> bytes:
    """The phrase on one line, with a mark behind it for each that it was broken over."""
    return _BREAK.sub(b" ", found[0]) + _GONE * found[0].count(b"\n")


def _with_as_many_lines(data: bytes) -> bytes:
    """The text with an empty line behind one for each that came to stand in it, so that all others keep their numbers."""
    return b"\n".join(line.replace(_GONE, b"") + b"\n" * line.count(_GONE) for line in data.split(b"\n"))


def _spaced(line: bytes) -> bytes:
    """A line that was run on, with blanks around the words of the message and its sizes."""
    line = _RUN_ON_WORDS.sub(lambda found: b" " + _RUN_ON[found[0]] + b" ", line)
    line = re.sub(rb"(?<=GPU|ess)(?=\d)|(?<=\d)(?=[KMGT]iB)|(?<=[.;])(?<!torch\.)(?=[A-Z])", b" ", line)
    return re.sub(rb" (?=[.,;)])", b"", re.sub(rb" {2,}", b" ", line)).strip()


def _line(line: bytes) -> bytes:
    for closed, instead in _CLOSED:
        line = closed.sub(instead, line)
    for mark, instead in _OF_BYTES if not line.isascii() else ():
        line = line.replace(mark, instead)
    return line
