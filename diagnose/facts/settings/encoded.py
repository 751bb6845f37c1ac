"""Text that somebody pasted as a mail or a secret of Kubernetes holds it: base64 (RFC 4648) or quoted-printable (RFC 2045, 6.7)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from diagnose.types import Line

_BASE64 = re.compile(r"\s*[A-Za-z0-9+/]{60,}={0,2}\s*", re.A)
# a sign of equality, or a character of three bytes; =20 and the like may be settings
_CODED = re.compile(r"=3D|=E[2-9A-F]=[89AB][0-9A-F]", re.A)
_LEAST = 3  # signs of quoted-printable
# the share of a text's bytes that are letters, blanks and the like
_TEXT = 0.95


def encoded(lines: Sequence[Line]) -> Iterator[str]:
    """A sentence for each encoding that stands where a text should."""
    coded = [line for line in lines if _BASE64.fullmatch(line.text) and _holds_text(line.text.strip())]
    if coded:
        yield f"Line {coded[0].number} is base64, not text: decode it (base64 -d) and paste what comes out. Nothing of it was read."
    marks = [line.number for line in lines for _ in _CODED.finditer(line.text)]
    if len(marks) >= _LEAST:
        yield (
            f"Line {marks[0]} is quoted-printable, as mails are sent, with =3D for an equals sign: decode it (python3 -m quopri -d) "
            "and paste what comes out. Keys and figures may be misread as it stands."
        )


def _holds_text(words: str) -> bool:
    """Whether its beginning decodes to text; a checksum or a picture does not."""
    try:
        found = base64.b64decode(words[: len(words) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return False
    plain = sum(32 <= byte < 127 or byte in (9, 10, 13) for byte in found)
    return b" " in found and plain >= _TEXT * len(found)
