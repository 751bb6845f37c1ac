"""Looking up many literals in one long text."""

from __future__ import annotations

from dataclasses import dataclass, field

_DIGITS = frozenset("0123456789")
_NEW_LINES = bytes.maketrans(b"0123456789", b"\n" * 10)


@dataclass(frozen=True)
class Haystack:
    """A text of lines. A log says the same words step after step with other numbers: what stands between numbers is kept once.

    A literal has no line break; one without a digit stands in the text when it stands between two numbers. Bytes are searched,
    since that takes as long whatever characters the text holds.
    """

    text: str
    whole: bytes = field(init=False)
    between: bytes = field(init=False)

    def __post_init__(self) -> None:
        whole = self.text.encode("utf-8", "replace")
        object.__setattr__(self, "whole", whole)
        object.__setattr__(self, "between", b"\n".join(set(whole.translate(_NEW_LINES).split(b"\n"))))

    def __contains__(self, literal: str) -> bool:
        return literal.encode() in (self.between if _DIGITS.isdisjoint(literal) else self.whole)
