"""Whether a text is a launch command and nothing that tells how the run went: who brings one most likely asks whether it fits."""

from __future__ import annotations

from diagnose.types import Facts, Paste

_OF_A_FAILURE = ("oom_kind", "phase", "step", "worked_before")


def is_bare(paste: Paste, facts: Facts, linked: bool = False) -> bool:
    """A command without a traceback, a message, a reading, or a line that has a log's prefix; or the facts of one, in a link."""
    if any(id in facts.stated for id in _OF_A_FAILURE):
        return False
    if not paste.commands or paste.frames or facts.hits or facts.measured:
        return linked
    return not any(line.offset for line in paste.lines)
