"""Who was killed where host memory ran out, and whether that is what holds the memory."""

from __future__ import annotations

from diagnose.types import Diagnosis
from diagnose.units import from_gib
from diagnose.words.figures import gib

_FEW = 4  # a process that holds less than this part of the whole is not what fills it


def _most(diagnosis: Diagnosis) -> str:
    """Which kind of process holds most in Ray's table; empty where no table was read."""
    holder, size = diagnosis.facts.stated.get("holder"), diagnosis.facts.number("holder_gib")
    if holder is None or not size or diagnosis.kind not in ("host_ram", "memory_growth"):
        return ""
    count, _, name = holder.written.partition(" of ")
    shares = f"{name} (1 process)" if count == "1" else f"{name} ({count} processes)"
    return f"In Ray’s table {shares} holds most: {gib(from_gib(size))}. Which task was killed says little: Ray takes the newest."


def told(diagnosis: Diagnosis) -> str:
    """Empty where nothing names the killed process, or where it is one of the large ones that Ray's own message already names.

    Ray kills the newest task, not the largest (its docs, "OOM prevention"); the kernel that with the most points, which are its resident
    and swapped pages and what its ``oom_score_adj`` adds (torvalds/linux v6.8 mm/oom_kill.c: oom_badness).
    """
    killed, used = diagnosis.facts.stated.get("process_gib"), diagnosis.facts.number("node_used_gb")
    if most := _most(diagnosis):
        return most
    if diagnosis.pool != "host" or killed is None:
        return ""
    held = from_gib(diagnosis.facts.number("process_gib") or 0)
    if not killed.why:
        few = used is not None and held <= from_gib(used) / _FEW
        return f"The killed task held {gib(held)}: it was the newest, and alone not the culprit." if few else ""
    whole = from_gib(used or diagnosis.facts.number("host_ram_gb") or 0)
    said = f"{killed.why}, which held {gib(held)}"
    if not whole or held > whole / _FEW:
        return f"{said}."
    return f"{said} of {gib(whole)}: the rest is held by other processes, or stands in /dev/shm and other shared pages."
