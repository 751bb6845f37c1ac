"""What a reader of pictures takes for letters and digits that look alike: l, I and 1, O and 0, rn and m.

Only lines that hold a word of an allocator's message in such a form are put right, and then the names of cards, adapters and stages
in the whole text.
"""

from __future__ import annotations

import re


def _memory(found: re.Match[bytes]) -> bytes:
    return (found[1] or b"m") + b"emory"


# an allocator's words as they are misread → as they are printed
_WORDS = (
    (re.compile(rb"\b([aA])[l1I|]{2}[o0]cat(ed?|i[o0]n)\b"), rb"\1llocat\2"),
    (re.compile(rb"\b(?:([mM])(?:ern[o0]ry|em0ry|ernary)|rnem[o0]ry)\b"), _memory),
    (re.compile(rb"\b[0O]ut[0O]f[MN]e(?:m|rn)[o0]ryErr[o0]r\b"), rb"OutOfMemoryError"),
    (re.compile(rb"\b[0O]ut [o0]f (?=memory)"), rb"out of "),
    (re.compile(rb"\bCU[D0O]A (?=out of memory)"), rb"CUDA "),
    (re.compile(rb"\b[l1|]ncluding\b"), rb"Including"),
    (re.compile(rb"\bPyT[o0]rch\b"), rb"PyTorch"),
    (re.compile(rb"\bcapac[l1I|]ty\b"), rb"capacity"),
    (re.compile(rb"(?<=[\d.OolI| ])([GM])(?:[l1I|]B|[il1I|]8)\b"), rb"\1iB"),
    (re.compile(rb"\bGPU [Oo](?= (?:has|;)|;)"), rb"GPU 0"),
)
# any of the above that nobody writes otherwise
_PROOF = re.compile(
    rb"\b[aA](?:[l1I|]1|[1I|][l1I|])[o0]cat|\ba[l1I|]{2}0cat|\b[mM]ern[o0]ry|\bmem0ry|\brnem[o0]ry|0utOf|Out0f|0ut0f|\b0ut of m"
    rb"|\b[l1|]ncluding non|CU[0O]A out|\bPyT0rch\b|\bcapac[l1|]ty of\b|\d [GM][l1|]B\b"
    rb"|\d ?[GM][il1I|]8\b|\bNV[l1|]D[l1|I]A\b|\bNVID[l1|]A\b"
)
# one of these stands in whatever the above finds, and hardly in any other text: they are looked for many times faster
_MARKS = tuple(
    b"1oc 1loc Iloc lIoc |oc |loc 0cat mern Mern mem0 rnem 0ut Out0 lncl 1ncl |ncl CU0A CUOA T0rch aclty ac1ty ac|ty".split()
) + (b" Gl", b" G1", b" G|", b" Ml", b" M1", b" M|", b"i8", b"NVl", b"NV1", b"NVIDl", b"NVID1")
_NUMBER = re.compile(rb"(?<![A-Za-z\d.])[\dOolI|]{1,4}[.,][\dOolI|]{1,3}(?=\s{0,2}(?:[GM]iB|GB\b))")
_UNIT = re.compile(rb"(?<=[\dOolI|][ \n])([GM])(?:[l1I|]B|[il1I|]8)\b")  # behind a number of any line
_CARD = re.compile(rb"(?<![A-Za-z\d])([AHBVL])(?=[\dO]{2,3}(?![A-Za-z\d]))(?=\d{0,2}O)([\dO]{2,3})")
# values and parts of keys that have no other reading
_ADAPTER = re.compile(rb"(?<![A-Za-z\d])(?:[1I|]ora|[l1I|]0ra)(?![A-Za-z\d])")
_STAGE = re.compile(rb"(?<![A-Za-z\d])zer0(?=[123](?![A-Za-z\d]))")
# a size of a card, a key and a number of a command: a digit among letters, or a letter among digits
_SOLD = re.compile(rb"(?<=[-\s(])([\dO]{2,3})(?=G[Bi]\b|GB\b)")
_KEY = re.compile(rb"(?<![\w-])--[A-Za-z01]+(?:[_-][A-Za-z01]+)+(?=[\s=]|$)")
_IN_KEY = re.compile(rb"(?<=[a-z_])1(?=[a-z])|(?<=[a-z])1(?=_)")
_APART = re.compile(rb"(?<![^ \t])-- (?=[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,8}(?:[ \t=]|$))")
_DASHES, _SEVERAL = re.compile(rb"(?<![^ \t])-- (?=[a-z][a-z0-9_]{1,60}(?:[ \t=]|$))"), 2
# flags whose underscores were read as blanks: none has any, and several have words before a value
_SPACED = re.compile(rb"(?<![^ \t])--[a-z]+(?: [a-z]+){1,6}(?= (?:\d|[Tt]rue\b|[Ff]alse\b|[\w.-]{1,60}/))")
_UNDERSCORED, _FAR, _MANY = re.compile(rb"--[A-Za-z]+[_-][A-Za-z]"), 65_536, 3
_COUNT = re.compile(rb"(?<=[\s=])(?=[OolI|]{0,2}\d)[\dOolI|]{2,6}(?=\s|$)")
_DIGITS = bytes.maketrans(b"OolI|", b"00111")


def read_again(data: bytes) -> bytes:
    """The text with misread messages put right; any other text as it is."""
    if b" -- " in data or b"\n-- " in data:
        data = _together(data)
    if len(_SPACED.findall(data, 0, _FAR)) >= _MANY and not _UNDERSCORED.search(data):
        data = _SPACED.sub(lambda found: found[0].replace(b" ", b"_"), data)
    if not any(mark in data for mark in _MARKS) or not _PROOF.search(data):
        return data
    whole = b"\n".join(_line(line) if _PROOF.search(line) else line for line in data.split(b"\n"))
    whole = _UNIT.sub(rb"\1iB", whole)
    whole = _NUMBER.sub(lambda found: found[0].replace(b",", b".").translate(_DIGITS), whole)
    whole = _CARD.sub(lambda found: found[1] + found[2].replace(b"O", b"0"), whole)
    whole = _SOLD.sub(lambda found: found[1].replace(b"O", b"0"), whole)
    whole = _KEY.sub(lambda found: _IN_KEY.sub(b"l", found[0]), whole)
    whole = _COUNT.sub(_count, whole) if b"--" in whole else whole
    return _STAGE.sub(b"zero", _ADAPTER.sub(b"lora", whole))


def _count(found: re.Match[bytes]) -> bytes:
    """A number of which more than half are digits."""
    digits = sum(sign in b"0123456789" for sign in found[0])
    return found[0].translate(_DIGITS) if 2 * digits > len(found[0]) else found[0]


def _together(data: bytes) -> bytes:
    """The text with flags whole whose dashes stand apart from their names: of several, names with an underscore prove it of their lines."""
    lines = data.split(b"\n")
    if sum(len(_APART.findall(line)) for line in lines) < _SEVERAL:
        return data
    return b"\n".join(_DASHES.sub(b"--", line) if _APART.search(line) else line for line in lines)


def _line(line: bytes) -> bytes:
    for misread, printed in _WORDS:
        line = misread.sub(printed, line)
    return line
