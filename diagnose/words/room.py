"""What an engine's start leaves its cache, in words."""

from __future__ import annotations

from diagnose.types import CacheRoom
from diagnose.units import GIB
from diagnose.words.figures import gib, rounded


def room_left(room: CacheRoom) -> str:
    """``5.6 GiB``, or by how much the engine's own needs miss it."""
    return gib(room.rest) if room.rest >= 0 else f"{gib(-room.rest)} short"


def room_words(room: CacheRoom, failed: bool = True) -> str:
    """Of what an engine may take what stands before its cache, and what is left for it and holds."""
    before = [f"its weights take {gib(room.weights)} of it"]
    before += [f"its largest step about {gib(room.work)}"] if room.work else []
    before += [f"what stands there of the trainer {gib(room.others)}"] if room.others else []
    before += [f"what else was in use by then {gib(room.unseen)}"] if room.unseen >= GIB else []
    left = "leaves nothing for its cache" if room.left <= 0 else f"leaves {gib(room.left)} for its cache"
    parts = [f"The engine may take {gib(room.share)} of the card; {', '.join(before)}: that {left}."]
    if room.shown is not None:
        found = (
            f"{gib(room.shown)} for it" if room.shown > 0 else f"that {gib(-room.shown)} are lacking before any cache"
        )
        parts.append(f"The log shows {found}.")
    parts += [f"One sequence of {room.tokens:,} tokens needs {gib(room.row)}."] if room.row else []
    if failed:
        parts += [] if room.explains else ["The settings that are known do not explain the failure."]
        return " ".join(parts)
    if room.rest > 0:
        such = f", {room.rest // room.row:,} such sequences" if room.row and room.rest >= room.row else ""
        parts.append(f"The cache holds about {rounded(room.holds)} tokens at a time{such}.")
    if room.row > room.rest > 0 and not room.refuses:
        parts.append("The engine starts nevertheless, and refuses or cuts what is longer than its cache.")
    return " ".join(parts)
