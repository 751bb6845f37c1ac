"""Machines whose cards have no memory of their own: what fills the host's fills the cards', and what is offloaded stays in it.

(NVIDIA DGX Spark User Guide, "Known Issues": UMA, where CPU and GPU share DRAM and its page cache; Apple developer documentation, MTLDevice
hasUnifiedMemory.)
"""

from __future__ import annotations

from dataclasses import replace

from diagnose.prescribe.situation import Situation


def in_one_memory(situation: Situation) -> Situation:
    """A host that ran out is there the memory of the cards, and what lets a card hold less helps."""
    shared = situation.values.get("one_memory") is True and situation.kind == "host_ram"
    return replace(situation, kind="gpu_oom", pool="gpu") if shared else situation
