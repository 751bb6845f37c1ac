"""The size that the words give a card, behind its name, within it or before it, and the one that it is sold with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from diagnose.knowledge.hardware import Gpu
from diagnose.units import MIB, to_gib

_INSIDE = re.compile(r"(?<![\da-z])(\d{2,3})\s?g", re.A)
# “host 256G A100”: the size before the name is the machine's
_OF_HOST = re.compile(
    r"(?:\b(?:host|cpu|ram|memory|node|system)(?:\s*(?:has|of|is|[:=：]))?|内存|主机)\s*$", re.I | re.A
)
# “14 GB each”: as often what something takes of each card
_OF_EACH_CARD = re.compile(r"(?:each|per (?:gpu|card)|/\s*(?:gpu|card|卡))$", re.I | re.A)
# “our boxes (256 GB each)”, “RAM: 256 GB each”: no card is counted before it
_OF_MACHINES = re.compile(
    r"\b(?:(?:nodes|machines|servers|hosts|boxes)(?:\s+(?:with|of|have|has))?|RAM|host memory)\s*[(（,:：=]?\s*$",
    re.I | re.A,
)
_LARGE = 96  # GB: what a machine has at the least, where it is told
_MOST = 300  # GB: no card has as much
_TOLERANCE = 0.03  # the driver shows a little less than what the catalogue says, never this much


def told_size(groups: Mapping[str, str | None], inside: str, before: str) -> float | None:
    """In GB; ``groups`` are those of a mention, ``inside`` is what the name adds to the card's title."""
    within = _INSIDE.search(inside)
    first = "" if _OF_HOST.search(before[-24:]) else groups.get("size0")
    if mib := groups.get("mib"):
        return float(round(to_gib(int(mib) * MIB)))
    told = (groups.get("size"), within[1] if within else None, first, groups.get("size1"), groups.get("size2"))
    return next((float(size) for size in told if size and float(size) < _MOST), None)


def of_no_card(found: re.Match[str], words: str, sold: Collection[float]) -> bool:
    """Whether a size without a count is what something needs of each card, or what each of the machines before it has."""
    size = found.groupdict().get("size")
    if not size or not _OF_EACH_CARD.search(found[0]):
        return False
    return float(size) not in sold or (
        float(size) >= _LARGE and bool(_OF_MACHINES.search(words[: found.start()][-40:]))
    )


def of_machine(size: float | None, sizes: Iterable[str], count: int | None) -> bool:
    """Whether a size that stands by a card is its machine's RAM: more than twice what any such card has, and not what all have together.

    A part of a card is smaller than the card, and cards with twice the memory are sold by those who rebuild them.
    """
    largest = max((float(one) for one in sizes), default=None)
    return size is not None and largest is not None and size > 2 * largest and size != (count or 1) * largest


def behind_title(card: str, names: Iterable[str]) -> str:
    """What a name adds to the shortest of the same card's ``names``: a10080g its size."""
    short = min((name for name in names if card.startswith(name)), key=len, default="")
    return card[len(short) :] if re.match(r"\d{2,3}g", card[len(short) :]) else card


def sold_size(gib: float, gpu: Gpu | None, gpus: Mapping[str, Gpu]) -> int | float | None:
    """The size as sold that a figure means, by the card's own sizes or, without a card, by all; None when none is near."""
    sizes = [(float(sold), shown) for one in ([gpu] if gpu else gpus.values()) for sold, shown in one.sizes.items()]
    near = [
        (min(abs(gib - shown) / shown, abs(gib - sold) / sold), sold)
        for sold, shown in sizes
        if min(abs(gib - shown) / shown, abs(gib - sold) / sold) <= (2 * _TOLERANCE if gpu else _TOLERANCE)
    ]
    if not near:
        return None
    sold = min(near)[1]
    return int(sold) if sold.is_integer() else sold
