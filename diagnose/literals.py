"""Looking up many literals in one long text."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

_NEW_LINES = bytes.maketrans(b"0123456789", b"\n" * 10)


@dataclass(frozen=True)
class Haystack:
    """A text of lines. A log says the same words step after step with other numbers: what stands between numbers is kept once.

    A literal has no line break; one without a digit stands in the text when it stands between two numbers, and of any other its
    longest part does. Bytes are searched, since that takes as long whatever characters the text holds.
    """

    text: str
    whole: bytes = field(init=False)
    between: bytes = field(init=False)

    def __post_init__(self) -> None:
        whole = self.text.encode("utf-8", "replace")
        object.__setattr__(self, "whole", whole)
        object.__setattr__(self, "between", b"\n".join(set(whole.translate(_NEW_LINES).split(b"\n"))))

    def __contains__(self, literal: str) -> bool:
        needle, part = _needle(literal)
        return part in self.between and (part is needle or needle in self.whole)


@lru_cache(maxsize=8192)
def _needle(literal: str) -> tuple[bytes, bytes]:
    """A literal of a record as bytes, and its longest part without a digit, the same where it has none; every paste is asked for them."""
    needle = literal.encode()
    parts = needle.translate(_NEW_LINES).split(b"\n")
    return needle, needle if len(parts) == 1 else max(parts, key=len)
