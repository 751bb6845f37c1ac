"""What is said of one change: what it saves, where the peak stands then, what it rests on, and for which lengths it is enough."""

from __future__ import annotations

from diagnose.types import Change, Prescription, Together
from diagnose.vocabulary import FACTS
from diagnose.words import VERDICTS, in_sentence, phase_words
from diagnose.words.figures import NBSP, gib, need_tenths
from diagnose.words.room import room_left

# What follows the figures; where no limit is known there is nothing to say.
_AFTER = {"out": ", still runs out", **{word: f", {VERDICTS[word]}" for word in ("close", "fits", "open")}}


def evidence_words(prescription: Prescription) -> str:
    """Counts with their size, never a percentage: ``1 worked, 2 did not, 1 only suggested``."""
    counted = (
        (len(prescription.evidence.worked), "worked"),
        (len(prescription.evidence.failed), "did not"),
        (len(prescription.evidence.suggested), "only suggested"),
    )
    return ", ".join(f"{count} {word}" for count, word in counted if count) or "no case yet"


def effect_words(prescription: Prescription) -> str:
    """Before and after in the failing phase, or that no saving can be computed."""
    if prescription.room:
        before, after = prescription.room
        word = VERDICTS[prescription.after_verdict]
        if before.rest == after.rest and before.row and after.row:
            return f"{gib(before.row)} → {gib(after.row)} for one longest sequence, {word}"
        return f"{room_left(before)} → {room_left(after)} for the engine's cache, {word}"
    return peaks_words(prescription) or "no saving can be computed"


def peaks_words(given: Prescription | Together) -> str:
    """The failing phase as it is and the highest after: ``101.7 → 73.7 GiB, fits``; empty where nothing is computed."""
    if given.before is None or given.after is None:
        return ""
    was, now = need_tenths(given.before)[0], need_tenths(given.after)[0]
    return f"{was / 10:,.1f} → {now / 10:,.1f}{NBSP}GiB{_AFTER.get(given.after_verdict, '')}{elsewhere_words(given)}"


def elsewhere_words(prescription: Prescription | Together) -> str:
    """Where the peak stands after a change that moves it to another phase; empty where it stays."""
    before, after = prescription.before, prescription.after
    if before is None or after is None or before.phase == after.phase:
        return ""
    return f", the peak is now the {phase_words(after.phase)}"


def with_unit(change: Change, written: str) -> str:
    """A value of what no key holds, with its unit: a key takes a bare number, a machine has GiB."""
    unit = FACTS[change.fact].unit if change.fact in FACTS and not change.key else ""
    return f"{written}{NBSP}{unit}" if unit and written[-1:].isdigit() else written


def former(change: Change) -> str:
    """What stands at the key, or that nothing does; of a package, which no key holds, that nothing tells its version."""
    if change.before is not None:
        return with_unit(change, change.before)
    return "not set" if change.fact else "version not told"


def before_words(change: Change) -> str:
    """What stands at the key: in the paste, else in the file that it names; empty where nothing sets it."""
    return f"{change.before or ''}{as_shipped(change)}"


def as_shipped(change: Change) -> str:
    """That the value before is the one of a file that the paste only names; empty where the paste has it."""
    return f" ({change.shipped} as it is shipped)" if change.shipped else ""


def range_words(prescription: Prescription) -> str:
    """In which real response lengths the run as it is runs out and the changed one fits; empty when there is no such range."""
    if prescription.length_range is None:
        return ""
    runs_out, fits = prescription.length_range
    if runs_out is None:
        return ""
    if runs_out <= 1 and not fits:
        return "At any real response length the run as it is runs out and the changed one fits."
    if fits is None:
        where, rest = f"From about {runs_out:,} tokens of real response on", "with fewer, this phase fits either way"
    elif runs_out <= 1:
        where, rest = f"Up to about {fits:,} tokens of real response", "with more, neither does"
    else:
        where = f"Between about {runs_out:,} and {fits:,} tokens of real response"
        rest = "with fewer, this phase fits either way; with more, neither does"
    return f"{where}, the run as it is runs out and the changed one fits, by the middle of the estimate; {rest}."


def sure_words(prescription: Prescription) -> str:
    """The further step that fits with its whole band; empty when the advised one does, or none."""
    steps = [
        f"{change.key or in_sentence(FACTS[change.fact].title)} = {with_unit(change, change.after)}"
        for change in prescription.sure
    ]
    return f"To fit with its whole band: {', '.join(steps)}." if steps else ""
