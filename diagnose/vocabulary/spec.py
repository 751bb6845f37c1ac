"""What is said of a fact: the type of its value, its words, its unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FactSpec:
    """One fact: its id, the type of its value, words for people and, for a choice, its options (value → words)."""

    id: str
    type: Literal["int", "number", "bool", "text", "choice"]
    group: Literal["failure", "machine", "run", "sizes", "memory", "engine", "measured"]
    title: str
    unit: str = ""
    options: tuple[tuple[str, str], ...] = ()


def fact(id: str, type: str, group: str, title: str, unit: str = "", **options: str) -> FactSpec:
    return FactSpec(id, type, group, title, unit, tuple(options.items()))  # type: ignore[arg-type]
