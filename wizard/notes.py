"""What keeps an answer from being whole: what could not be told, what disagrees, and what to give next."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose import outlived
from diagnose.facts.failing.kind import not_memory
from diagnose.types import Diagnosis, PoolEstimate
from diagnose.vocabulary import PHASES
from diagnose.words import ahead, nothing_tells, phase_words, refusal, stand_in, worst
from diagnose.words.figures import gib, phase_gib, phase_tenths
from diagnose.words.files import FILES
from diagnose.words.measured import growth_words, reached
from wizard.chart.data import shown

_NAMED = 3  # keys of a framework that nobody here knows


@dataclass(frozen=True, slots=True)
class Note:
    """A fault or a gap: what was understood, and what to give next. ``css`` warn for a choice, bad where nothing fits.

    ``ways``: it leads to “Will it fit?” and to what ran out.
    """

    title: str
    words: str
    codes: tuple[str, ...] = ()
    css: str = ""
    ways: bool = False


def notes(diagnosis: Diagnosis) -> tuple[Note, ...]:
    """Everything that keeps the answer from being whole, each with its cure; nothing where no memory failed."""
    if not_memory(diagnosis.facts):
        return ()
    found = (_binary(diagnosis), _framework(diagnosis), _tie(diagnosis), _model(diagnosis), _card(diagnosis))
    rest = (
        _refused(diagnosis),
        _kind(diagnosis),
        _missing(diagnosis),
        _not_explained(diagnosis),
        _outlived(diagnosis),
        _apart(diagnosis),
        _grows(diagnosis),
    )
    return tuple(note for note in (*found, *rest) if note)


def _binary(diagnosis: Diagnosis) -> Note | None:
    kind = diagnosis.paste.file or ("binary" if diagnosis.paste.binary else "")
    if not kind:
        return None
    title, cure, command = FILES[kind]
    return Note(title, cure, (command,) if command else ())


def _framework(diagnosis: Diagnosis) -> Note | None:
    # what a message says of the failure is no setting of the run
    failed = {hit.span.line for hit in diagnosis.facts.hits}
    settings = [setting for setting in diagnosis.paste.settings if setting.span.line not in failed]
    known = diagnosis.facts.fork or diagnosis.facts.read_by_keys
    if known or not settings or diagnosis.facts.candidates or diagnosis.paste.binary:
        return None
    told = {(fact.span.line, fact.span.start) for fact in diagnosis.facts.stated.values() if fact.span}
    keys = dict.fromkeys(setting.key for setting in settings)
    meant = {setting.key for setting in settings if (setting.span.line, setting.span.start) in told}
    left = tuple(key for key in keys if key not in meant)
    read = f" {len(meant)} of {len(keys)} settings are read as most trainers mean them." if meant else ""
    more = f", with {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    unread = f" Not understood{more}:" if left else ""
    return Note(
        "We do not know this framework",
        f"The advice is what holds for any framework. If it is one of the list, set it under “Framework”.{read}{unread}",
        left[:_NAMED],
    )


def _tie(diagnosis: Diagnosis) -> Note | None:
    if not diagnosis.facts.candidates or (diagnosis.facts.framework and not diagnosis.facts.framework.fallback):
        return None
    return Note(
        "Which framework is it?",
        "The paste fits several, and the same key means different things in them. Set it under “Framework”.",
        diagnosis.facts.candidates,
        "warn",
    )


def _model(diagnosis: Diagnosis) -> Note | None:
    said, name = stand_in.told(diagnosis), diagnosis.facts.unknown_model
    return Note(stand_in.UNKNOWN if name else stand_in.UNNAMED, said, (name,) if name else ()) if said else None


def _card(diagnosis: Diagnosis) -> Note | None:
    estimate, values = diagnosis.estimate.gpu, diagnosis.facts.values
    if "gpu_model" not in values or "gpu_mem_gib" in values or (estimate and estimate.capacity is not None):
        return None
    return Note(
        "This card comes in several sizes, or we do not know it",
        "Without its memory nothing says where the ceiling is. Set “Memory of one GPU”; this prints it:",
        ("nvidia-smi --query-gpu=memory.total --format=csv",),
    )


def _kind(diagnosis: Diagnosis) -> Note | None:
    if diagnosis.kind == "other":
        return Note(
            "GPU or host: the text does not settle it",
            "Give the last 20 lines of the worker that failed first, and the line of the kernel, of Ray or of Slurm that names the kill."
            + (" Until then the advice is for the GPU’s memory." if diagnosis.pool == "gpu" else ""),
            ("dmesg -T | grep -i 'killed process'",),
            "warn",
        )
    if diagnosis.kind is None and diagnosis.facts.bare:
        return Note(
            "Read as a run to come: nothing here says that it failed",
            "This page says whether it fits, as far as the command tells. If it did run out, say what ran out, or add the last 20 "
            "lines of the failing worker to the command.",
            ways=True,
        )
    if diagnosis.kind is None and diagnosis.paste.lines and not diagnosis.paste.binary and not diagnosis.facts.planned:
        lines = diagnosis.paste.total_lines
        return Note(
            "No message of a memory failure was found",
            f"{lines:,} {'line was' if lines == 1 else 'lines were'} read. If the run died, add the last 20 lines of the failing worker; "
            "if it has not run yet, this page says whether it would fit.",
        )
    return None


def _refused(diagnosis: Diagnosis) -> Note | None:
    """What the figures of the allocator's message say, added up."""
    told = refusal.told(diagnosis)
    return Note("What the message’s figures say", " ".join(told)) if told else None


def _missing(diagnosis: Diagnosis) -> Note | None:
    missing = diagnosis.estimate.missing
    pool = diagnosis.estimate.pool(diagnosis.pool or "gpu")
    if not missing or (pool is not None and pool.phases):
        return None
    cure = (
        "Paste the launch command, or set them under “What was read”. Until then there is no estimate, "
        "only what the message says and the cases."
    )
    return Note(
        f"Cannot tell how much it needs: {nothing_tells(diagnosis.estimate)}",
        cure
        if diagnosis.paste.lines
        else f"Set {'it' if len(missing) == 1 else 'them'} beside; until then there is no estimate.",
    )


def _not_explained(diagnosis: Diagnosis) -> Note | None:
    """A failure that the settings which are known do not lead to: said, not smoothed over."""
    pool = diagnosis.estimate.pool(diagnosis.pool or "gpu")
    if diagnosis.kind in (None, "other") or diagnosis.pool == "host" or pool is None or not pool.phases:
        return None
    if pool.verdict(worst(diagnosis, pool).computed) != "fits" or diagnosis.kind == "memory_growth":
        return None
    if diagnosis.room and diagnosis.room.explains:
        return None
    unread = "or the run is set otherwise than by default. Bring the launch command: it tells most."
    missed = "or a setting is not in the paste. Compare the figures below with what the run prints."
    return Note(
        "The settings do not explain this failure",
        f"{_highest(diagnosis, pool)}Both may be right: something else may share the memory, "
        f"it may grow by the step, {missed if diagnosis.facts.configured else unread}",
        css="warn",
    )


def _highest(diagnosis: Diagnosis, pool: PoolEstimate) -> str:
    """The highest phase, where the sentence at the top tells of another."""
    if pool.peak.phase == worst(diagnosis, pool).phase:
        return ""
    return f"By the estimate the highest phase, the {phase_words(pool.peak.phase)}, needs {phase_gib(pool.peak)}. "


def _outlived(diagnosis: Diagnosis) -> Note | None:
    said = outlived.told(diagnosis)
    return Note(outlived.TITLE, said, css="warn") if said else None


def ahead_of(diagnosis: Diagnosis) -> tuple[Note, ...]:
    """What runs out next, beside the advice on what did."""
    found = diagnosis.ahead
    return (Note(ahead.title(found), ahead.told(found), ahead.changed(found), "warn"),) if found else ()


def _apart(diagnosis: Diagnosis) -> Note | None:
    """A reading and the estimate that disagree by more than the band: both stand, and why they may."""
    pool = diagnosis.estimate.pool(diagnosis.pool or "gpu")
    phase = worst(diagnosis, pool) if pool and pool.phases else None
    if phase is None or phase.measured is None or not phase.disagrees:
        return None
    total, low, high = phase_tenths(phase)
    side = "above" if phase.measured > phase.bytes else "below"
    name = PHASES.get(phase.phase, phase.phase)
    return Note(
        "What the log measured and the estimate disagree",
        f"In the {name} the log shows {gib(phase.measured)}, which is {side} the estimate of {shown(total)} "
        f"({shown(low)} to {shown(high)}). The reading counts; a setting that is not in the paste, or another length, would explain it.",
        css="warn",
    )


def _grows(diagnosis: Diagnosis) -> Note | None:
    """What rises step by step though nothing says that it killed the run: a fit of today may be none of tomorrow."""
    grown = next((one for one in diagnosis.facts.growth if reached(one, diagnosis.estimate) is not None), None)
    if grown is None or diagnosis.kind == "memory_growth":
        return None
    what = "Host RAM" if grown.pool == "host" else "GPU memory"
    return Note(f"{what} grows from step to step", growth_words(grown, diagnosis.estimate), css="warn")
