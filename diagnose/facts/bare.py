"""Whether a text is a launch command and nothing that tells how the run went: who brings one most likely asks whether it fits."""

from __future__ import annotations

from diagnose.types import Facts, Paste

_OF_A_FAILURE = ("oom_kind", "phase", "step", "worked_before")


def is_bare(paste: Paste, facts: Facts) -> bool:
    """A command without a traceback, a message, a reading, or a line that has a log's prefix."""
    if not paste.commands or paste.frames or facts.hits or facts.measured:
        return False
    return not any(id in facts.stated for id in _OF_A_FAILURE) and not any(line.offset for line in paste.lines)
