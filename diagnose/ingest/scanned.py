"""What a reader of pictures takes for letters and digits that look alike: l, I and 1, O and 0, rn and m.

Only lines that hold a word of an allocator's message in such a form are put right, and then the names of cards, adapters and stages
in the whole text.
"""

from __future__ import annotations

import re

# an allocator's words as they are misread → as they are printed
_WORDS = (
    (re.compile(rb"\b([aA])[l1I|]{2}[o0]cat(ed?|i[o0]n)\b"), rb"\1llocat\2"),
    (re.compile(rb"\b(?:mern[o0]ry|mem0ry|rnem[o0]ry|mernary)\b"), rb"memory"),
    (re.compile(rb"\b[0O]ut[0O]f[MN]e(?:m|rn)[o0]ryErr[o0]r\b"), rb"OutOfMemoryError"),
    (re.compile(rb"\b[0O]ut [o0]f (?=memory)"), rb"out of "),
    (re.compile(rb"\bCU[D0O]A (?=out of memory)"), rb"CUDA "),
    (re.compile(rb"\b[l1|]ncluding\b"), rb"Including"),
    (re.compile(rb"\bPyT[o0]rch\b"), rb"PyTorch"),
    (re.compile(rb"\bcapac[l1I|]ty\b"), rb"capacity"),
    (re.compile(rb"(?<=[\d.OolI| ])([GM])[l1I|]B\b"), rb"\1iB"),
    (re.compile(rb"\bGPU [Oo](?= (?:has|;)|;)"), rb"GPU 0"),
)
# any of the above that nobody writes otherwise
_PROOF = re.compile(
    rb"\b[aA](?:[l1I|]1|[1I|][l1I|])[o0]cat|\ba[l1I|]{2}0cat|\bmern[o0]ry|\bmem0ry|\brnem[o0]ry|0utOf|Out0f|0ut0f|\b0ut of m"
    rb"|\b[l1|]ncluding non|CU[0O]A out|\bPyT0rch\b|\bcapac[l1|]ty of\b|\d [GM][l1|]B\b"
)
# one of these stands in whatever the above finds, and hardly in any other text: they are looked for many times faster
_MARKS = tuple(
    b"1oc 1loc Iloc lIoc |oc |loc 0cat mern mem0 rnem 0ut Out0 lncl 1ncl |ncl CU0A CUOA T0rch aclty ac1ty ac|ty".split()
) + (b" Gl", b" G1", b" G|", b" Ml", b" M1", b" M|")
_NUMBER = re.compile(rb"(?<![A-Za-z\d.])[\dOolI|]{1,4}[.,][\dOolI|]{1,3}(?=\s{0,2}[GM]iB)")
_CARD = re.compile(rb"(?<![A-Za-z\d])([AHBVL])(?=[\dO]{2,3}(?![A-Za-z\d]))(?=\d{0,2}O)([\dO]{2,3})")
# values and parts of keys that have no other reading
_ADAPTER = re.compile(rb"(?<![A-Za-z\d])(?:[1I|]ora|[l1I|]0ra)(?![A-Za-z\d])")
_STAGE = re.compile(rb"(?<![A-Za-z\d])zer0(?=[123](?![A-Za-z\d]))")
_DIGITS = bytes.maketrans(b"OolI|", b"00111")


def read_again(data: bytes) -> bytes:
    """The text with misread messages put right; any other text as it is."""
    if not any(mark in data for mark in _MARKS) or not _PROOF.search(data):
        return data
    lines = [_line(line) if _PROOF.search(line) else line for line in data.split(b"\n")]
    whole = _CARD.sub(lambda found: found[1] + found[2].replace(b"O", b"0"), b"\n".join(lines))
    return _STAGE.sub(b"zero", _ADAPTER.sub(b"lora", whole))


def _line(line: bytes) -> bytes:
    for misread, printed in _WORDS:
        line = misread.sub(printed, line)
    return _NUMBER.sub(lambda found: found[0].replace(b",", b".").translate(_DIGITS), line)
