"""Sizes. Bytes inside, GiB outside; this is the only module that holds 1024."""

from __future__ import annotations

import re

KIB = 1024
MIB = 1024**2
GIB = 1024**3
TIB = 1024**4

# The unit words that programs print. A signature states what its text means: Ray, for one, prints "GB" for 1024**3 bytes.
PRINTED = {
    "bytes": 1,
    "b": 1,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
}

_SIZE = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*([A-Za-z]+)")


def from_gib(gib: float) -> int:
    """Bytes of a size in GiB."""
    return round(gib * GIB)


def to_gib(size: float) -> float:
    """GiB of a size in bytes, not rounded."""
    return size / GIB


def tenths(size: float) -> int:
    """Tenths of a GiB of a size in bytes, rounded: what is shown is summed from these, so that a reader who adds up agrees."""
    return round(size / GIB * 10)


def gib(size: float) -> str:
    """A size in bytes as it is shown: GiB with one decimal, without the unit."""
    return f"{size / GIB:,.1f}"


def number_and_unit(text: str) -> tuple[str, str]:
    """Both parts of a printed size, with or without a blank between them; raises ``ValueError`` when either is unknown."""
    found = _SIZE.fullmatch(text.strip())
    if not found or found[2].lower() not in PRINTED:
        raise ValueError(f"“{text}” is no size: write a number with a unit, as 760 GiB")
    return found[1].replace(",", ""), found[2]


def parse_size(text: str) -> int:
    """Bytes of a printed size such as ``5.11 GiB``; raises ``ValueError`` when number or unit is unknown."""
    number, unit = number_and_unit(text)
    size = float(number) * PRINTED[unit.lower()]
    if size == float("inf"):
        raise ValueError(f"“{text[:40]}…” is no size that memory can have")
    return round(size)
