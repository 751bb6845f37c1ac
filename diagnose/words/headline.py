"""The answer as one sentence, written once for the page, the terminal and the issue block."""

from __future__ import annotations

from diagnose.facts.failing.kind import cause_open, not_memory
from diagnose.possible import only_out
from diagnose.types import CacheRoom, Diagnosis
from diagnose.vocabulary import PHASES
from diagnose.words import in_sentence, phase_words, presumed
from diagnose.words.figures import rounded
from diagnose.words.untold import turned_by_tuner

_HEADLINES = {
    "host_ram": "Host RAM runs out",
    "host_shm": "Shared memory is full",
    "vllm_no_kv_blocks": "The engine finds no room for its KV cache",
    "vllm_free_memory_too_low": "Too little GPU memory is free when the engine starts",
    "memory_growth": "Memory grows from step to step",
    "other": "Something ran out of memory{where}; the text does not say whether GPU or host",
}


# of a message that names no memory, such as Ray's on a worker that died
_OPEN = "Something failed{where}; the text does not say whether memory ran out"


def headline(diagnosis: Diagnosis) -> str:
    """The answer as one sentence without a full stop."""
    kind, phase = diagnosis.kind, diagnosis.phase
    if kind is None and (told := not_memory(diagnosis.facts)):
        what = "The training's own memory did not run out" if told.apart else "This is no memory failure"
        return f"{what}: {in_sentence(told.title)}"
    if kind is None and diagnosis.room and not (diagnosis.estimate.gpu and diagnosis.estimate.gpu.verdict() == "out"):
        return _of_server(diagnosis.room, diagnosis.verdict)
    if kind is None:
        return _planned(diagnosis)
    if kind in _HEADLINES:
        words = _OPEN if kind == "other" and cause_open(diagnosis.facts) else _HEADLINES[kind]
        failed = words.format(where=f" {_at(phase)}" if phase else "")
        if kind == "memory_growth" and diagnosis.pool:
            failed = failed.replace("Memory", "Host RAM" if diagnosis.pool == "host" else "GPU memory")
        if presumed(diagnosis.facts):
            failed = failed.replace(" runs", " probably ran").replace(" is full", " is probably full")
        return failed + (f" in the {PHASES[phase]}" if phase and kind in ("host_ram", "memory_growth") else "")
    runs = "probably ran" if presumed(diagnosis.facts) else "runs"
    if phase:
        return f"GPU memory {runs} out {_at(phase)}"
    only = only_out(diagnosis.facts, diagnosis.estimate.gpu)
    return f"GPU memory {runs} out, by the estimate in the {PHASES[only]}" if only else f"GPU memory {runs} out"


def _of_server(room: CacheRoom, verdict: str) -> str:
    """The sentence on an engine that runs alone, by what its start leaves its cache."""
    if room.rest <= 0:
        return "By the estimate the engine finds no room for its KV cache"
    if room.verdict == "out":
        return "By the estimate the engine does not start: its cache holds less than one longest sequence"
    if verdict == "close":
        return "Too close to call: whether the engine starts"
    return f"By the estimate the engine starts, with room for about {rounded(room.holds)} tokens"


def _at(phase: str) -> str:
    return f"{'at' if phase in ('load', 'init') else 'in the'} {PHASES[phase]}"


def _planned(diagnosis: Diagnosis) -> str:
    """The sentence when nothing failed yet, or nothing shows that it did."""
    known = diagnosis.estimate.pool("host" if diagnosis.pool == "host" else "gpu")
    asked = diagnosis.facts.planned or diagnosis.facts.bare
    if known is None or not known.phases:
        return "Cannot tell yet whether it fits" if asked else "Cannot tell yet"
    verdict, peak = known.verdict(), known.deciding
    by = "what the log measured" if peak.measured is not None else "the estimate"
    what = "host RAM" if known.pool == "host" else "GPU memory"
    return {
        "out": f"By {by} {'it does not fit: ' if asked else ''}{what} runs out in the {phase_words(peak.phase)}",
        "close": f"Too close to call: {what} in the {phase_words(peak.phase)}",
        "fits": f"By {by} it fits{' with adapters' if turned_by_tuner(diagnosis) else ''}; {what} peaks in the {phase_words(peak.phase)}",
    }.get(verdict, f"{what[0].upper() + what[1:]} peaks in the {phase_words(peak.phase)}; the capacity is not known")
