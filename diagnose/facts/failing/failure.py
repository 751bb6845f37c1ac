"""What ran out, where and when, as the text alone tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.facts.failing.killed import holders, killed_worker
from diagnose.facts.failing.kind import settle_kind
from diagnose.facts.failing.phase import settle_phase
from diagnose.facts.failing.phase_clause import told_phase
from diagnose.facts.failing.steps import read_step
from diagnose.facts.sentences.lowered import Lowered
from diagnose.facts.trainer.framework import Detected
from diagnose.knowledge import Knowledge
from diagnose.types import Fact, Hit, Line, Paste
from diagnose.vocabulary import PHASE_OF_KIND


def read_failure(
    paste: Paste,
    lowered: Lowered,
    hits: tuple[Hit, ...],
    detected: Detected,
    knowledge: Knowledge,
    answered: Mapping[str, Fact],
    speech: Sequence[Line] = (),
) -> dict[str, Fact]:
    """Kind, phase and step of the failure, and who was killed; the first that tells a fact is believed."""
    stages = detected.fork.stages if detected.fork else 0
    failed: dict[str, Fact] = {}
    kind = settle_kind(hits, paste)
    phase = settle_phase(paste, hits, detected.framework, knowledge, kind) or _of_clause(speech, hits, kind, knowledge)
    phase = _of_an_engine(phase, hits)
    evaluating = phase is not None and phase.value == "eval"
    step = read_step(paste, lowered, stages, evaluating) if hits else None
    for fact in (
        kind,
        phase,
        _place_of(answered.get("oom_kind")),
        step,
        _of_a_pool(hits, step),
        killed_worker(paste) if hits else None,
        *(holders(paste) if hits else ()),
    ):
        if fact is not None:
            failed.setdefault(fact.id, fact)
    return failed


def _of_clause(speech: Sequence[Line], hits: tuple[Hit, ...], kind: Fact | None, knowledge: Knowledge) -> Fact | None:
    """The phase of the clause that tells of a failure of memory, where no words of a usual form name one or several."""
    named = any(hit.signature.strength == 1 and hit.signature.phase for hit in hits)
    return None if kind is None or named else told_phase(speech, knowledge.signatures)


def _of_an_engine(phase: Fact | None, hits: tuple[Hit, ...]) -> Fact | None:
    """The engine's start, where a model is loaded and what cannot take its memory is an engine's pool: it is the engine that loads it."""
    if phase is None or phase.value != "load" or not any("engine_maps_pool" in hit.signature.gives for hit in hits):
        return phase
    return replace(phase, value="init")


def _place_of(kind: Fact | None) -> Fact | None:
    """The phase of a kind of failure that has one alone, where the kind was answered: no message tells it then."""
    phase = PHASE_OF_KIND.get(str(kind.value)) if kind is not None else None
    return Fact("phase", phase, "derived", why="an engine that does not start") if phase else None


def _of_a_pool(hits: tuple[Hit, ...], step: Fact | None) -> Fact | None:
    """The wake-up, where an engine could not map its pool in a later step than the first: it maps it at its start and at each of these.

    (vLLM v0.8.5 device_allocator/cumem.py: use_memory_pool, wake_up.)
    """
    gives = [id for hit in hits for id in hit.signature.gives]
    later = "steps_passed" in gives or (step is not None and isinstance(step.value, int) and step.value > 1)
    if "engine_maps_pool" not in gives or not later:
        return None
    return Fact(
        "phase", "weight_sync", "derived", why="an engine that has gone through a step maps its pool as it wakes up"
    )


def of_share(hits: tuple[Hit, ...], failed: Mapping[str, Fact]) -> tuple[Hit, ...]:
    """The hits without those of an engine before its cache, where what failed is the check of its share: that a smaller one passes."""
    kind = failed.get("oom_kind")
    if kind is None or kind.value != "vllm_free_memory_too_low":
        return hits
    return tuple(hit for hit in hits if "before_cache" not in hit.signature.gives)
