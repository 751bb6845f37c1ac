"""Several names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str], joint: str = "and") -> str:
    """``a, b and c``."""
    return f" {joint} ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
