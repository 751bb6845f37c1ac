"""Characters that word processors, web pages and input methods put in the place of those that a program printed or takes."""

from __future__ import annotations

import re

_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
# Soft hyphens, joiners, fillers, directions, styles of emoji, marks of byte order: no eye sees them.
_UNSEEN = (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064"
    "\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff\u034f\u115f\u1160\u180e\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufe0e\ufe0f\uffa0\ufffc"
)
_LINE_ENDS = "\u0085\u2028\u2029"
_HYPHENS = "\u2010\u2011\u2212\ufe63"
_LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
# Letters, digits and the signs of keys and paths in full width; marks of Chinese sentences stay what they are.
_WIDE = "".join(map(chr, range(0xFF01, 0xFF5E))).translate({ord(mark): None for mark in "！（），：；？｜"})
_INSTEAD = {
    **dict.fromkeys(_BLANKS, " "),
    **dict.fromkeys(_UNSEEN, ""),
    **dict.fromkeys(_LINE_ENDS, "\n"),
    **dict.fromkeys(_HYPHENS, "-"),
    **dict.fromkeys("“”„‟", '"'),
    **dict.fromkeys("‘’‛", "'"),
    **_LIGATURES,
    **{letter: chr(ord(letter) - 0xFEE0) for letter in _WIDE},
}
_OF_BYTES = {character.encode(): instead.encode() for character, instead in _INSTEAD.items()}


def _pattern() -> re.Pattern[bytes]:
    """All of them by their last byte behind the bytes that they share."""
    ends: dict[bytes, bytes] = {}
    for character in sorted(_OF_BYTES):
        ends[character[:-1]] = ends.get(character[:-1], b"") + character[-1:]
    return re.compile(b"|".join(re.escape(first) + b"[" + re.escape(last) + b"]" for first, last in ends.items()))


_CHANGED = _pattern()
_ASCII = bytes(range(128))
# “--flag” as a word processor has it: one dash or two, long or short, right before a name and behind no word.
_DASHES = re.compile(
    rb"(?<![^\s\"'`(\[=|])(?:(?:\xe2\x80[\x92-\x95]){1,2}-?|-\xe2\x80[\x92-\x95]|(?:\xe2\x94\x80){2}|(?:\xe3\x83\xbc){2}|\xe2\xb8\xba)(?=[A-Za-z][\w.-]+(?:[\s=\"'`)\],]|$))"
)
_DASHED = re.compile(rb"\xe2\x80[\x92-\x95]|\xe2\x94\x80|\xe3\x83\xbc|\xe2\xb8\xba")
_DASH = re.compile(rb"(?<=\s)\xe2\x80[\x93\x94](?=[A-Za-z]\s)")

# between a name with its number and a size: “qwen2.5—14b”, “A100–80G”
_IN_NAME = re.compile(rb"(?<=\d)\xe2\x80[\x93-\x95](?=\d{1,3}(?:\.\d)?[bBG])")

_WORD = re.compile(rb"[A-Za-z][\w.]*\Z", re.A)


def typed(data: bytes) -> bytes:
    """Valid UTF-8 with the characters that a keyboard writes in the place of typeset ones."""
    if data.isascii():
        return data
    foreign = data.translate(None, _ASCII)
    if _CHANGED.search(foreign):
        data = _CHANGED.sub(lambda found: _OF_BYTES[found[0]], data)
    if _DASHED.search(foreign):
        data = _DASH.sub(b"-", _DASHES.sub(b"--", data))
        data = _IN_NAME.sub(_hyphen, data)
    return data


def _hyphen(found: re.Match[bytes]) -> bytes:
    """A hyphen behind a word that begins with a letter; a range of numbers keeps its dash."""
    before = found.string[max(0, found.start() - 24) : found.start()]
    return b"-" if _WORD.search(before) else found[0]
