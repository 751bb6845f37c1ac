"""What tells cases apart at a glance: the few words below a case's title."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.vocabulary import KINDS, PHASES, Value
from diagnose.words import value_words
from diagnose.words.figures import NBSP

_SOLVED = {True: "solved", False: "open", None: ""}


def case_tags(named: str, facts: Mapping[str, Value], solved: bool | None) -> tuple[str, ...]:
    """``named`` is the thread or the framework; what is not told is left out."""
    host = f"{value_words('host_ram_gb', facts['host_ram_gb'])} host RAM" if "host_ram_gb" in facts else ""
    tags = (
        named,
        KINDS.get(str(facts.get("oom_kind", "")), "not settled"),
        PHASES.get(str(facts.get("phase", "")), ""),
        str(facts.get("model", "")),
        _machine(facts),
        host,
        _SOLVED[solved],
    )
    return tuple(tag for tag in tags if tag)


def _machine(facts: Mapping[str, Value]) -> str:
    """``8 × A100 80GB``, as far as it is told; ``8 GPUs`` where nothing says which."""
    size = f"{facts['gpu_mem_gib']:g}GB" if "gpu_mem_gib" in facts else ""
    card = " ".join(part for part in (str(facts.get("gpu_model") or ""), size) if part)
    if "n_gpus" not in facts:
        return card if "gpu_model" in facts else ""
    count = facts["n_gpus"]
    return f"{count}{NBSP}×{NBSP}{card}" if card else f"{count}{NBSP}GPU{'s' if count != 1 else ''}"
