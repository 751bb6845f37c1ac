"""What can be said of a run that trains nothing: what its weights take, against what there is."""

from __future__ import annotations

from diagnose.held import parameters, weights
from diagnose.types import Diagnosis, Facts
from diagnose.units import GIB
from diagnose.words.figures import NBSP

_SAID = "This command trains nothing; only the memory of training is computed here."


def told(diagnosis: Diagnosis) -> str:
    """That nothing is computed of it, and the one sum that holds for all of them: its weights in 16 bits."""
    facts = diagnosis.facts
    size, count = weights(facts), parameters(facts)
    if size is None or count is None:
        return _SAID
    billions = f"{count / 1e9:,.1f}".removesuffix(".0")
    have = _have(facts, diagnosis.pool)
    taken = f"Its weights alone take {size / GIB:,.1f}{NBSP}GiB in bf16 or fp16 ({billions}{NBSP}billion × 2 bytes)"
    return f"{_SAID} {taken}{have and '; ' + have}."


def _have(facts: Facts, pool: str | None) -> str:
    """What the failing memory has; empty where nothing tells."""
    if pool == "host":
        ram = facts.number("node_total_gb") or facts.number("host_ram_gb")
        return f"the node has {ram:,.10g}{NBSP}GiB" if ram else ""
    card, several = facts.number("gpu_total_gib") or facts.number("gpu_mem_gib"), facts.number("n_gpus") or 1
    if not card:
        return ""
    more = f", all {several:,.0f} cards {card * several:,.1f}{NBSP}GiB" if several > 1 else ""
    return f"one card has {card:,.1f}{NBSP}GiB{more}"
