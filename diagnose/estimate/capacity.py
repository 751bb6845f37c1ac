"""How much memory one GPU has."""

from __future__ import annotations

from diagnose.types import Facts
from diagnose.units import from_gib

SOLD_TO_SHOWN = 0.985  # a card sold as 80 GB shows about 79 GiB; the rest is firmware and ECC


def left_by_others(capacity: int | None, held: float | None) -> tuple[int | None, str]:
    """What a run may have of the card, and why: the rest beside what somebody says that others hold there."""
    if capacity is None or not held:
        return capacity, "all that the card has" if capacity else ""
    return max(capacity - from_gib(held), 0), f"what {held:g} GiB of others leave of the card"


def gpu_capacity(facts: Facts) -> tuple[int | None, str]:
    """Capacity of one GPU in bytes and where it comes from: as printed, as the catalogue has it, else from the size as sold."""
    printed, sold = facts.number("gpu_total_gib"), facts.number("gpu_mem_gib")
    if printed:
        return from_gib(printed), "as the message prints it"
    sold = sold or (facts.gpu.only_size if facts.gpu else None)
    shown = facts.gpu.printed(str(int(sold))) if facts.gpu and sold else None
    if shown:
        return from_gib(shown), "as the driver shows this card"
    if sold:
        return from_gib(sold * SOLD_TO_SHOWN), f"{SOLD_TO_SHOWN} of the size as sold"
    return None, ""
