"""What is said of a full /dev/shm, of which no estimate speaks."""

from __future__ import annotations

from diagnose.types import Facts
from diagnose.units import KIB

_WHERE = "/dev/shm, where Ray’s object store lies too, is a part of RAM with a limit of its own, of which no estimate speaks."
_DEFAULT = "A container has 64 MiB of it unless told otherwise."


def shared_words(facts: Facts) -> str:
    """Where the limit lies: the one that is told, else a container's own."""
    size = facts.number("shm_gib")
    return f"{_WHERE} {_DEFAULT if size is None else f'Here it has {_size(size)}.'}"


def _size(gib: float) -> str:
    return f"{gib:g} GiB" if gib >= 1 else f"{gib * KIB:g} MiB"
