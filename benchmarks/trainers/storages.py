"""Peaks of phases by the storages that live: for runs of several ranks, whose allocator's events are not all seen.

Gloo works on threads of its own, and what it frees there the profiler does not record, so that it would seem to stay. Here a storage
counts from the operator that made it until it is freed. What an operator takes inside itself is not seen.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracle_measure import Live


class Storages(Live):
    """The highest use in bytes within the calls that are marked; what is marked within another counts for itself alone."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, list[int]] = {}

    def see(self, tensor: torch.Tensor) -> None:
        """Those of the device "meta" hold nothing."""
        if tensor.device.type == "cpu":
            super().see(tensor)

    def wrap(self, owner: Any, name: str, phase: str) -> None:
        """Count each call of ``owner.name`` as one of ``phase``."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def marked(*args: Any, **kwargs: Any) -> Any:
            before = self.rest()
            try:
                return inner(*args, **kwargs)
            finally:
                self.calls.setdefault(phase, []).append(self.peak)
                self.peak = max(before, self.now)

        setattr(owner, name, marked)

    def peaks(self, skip: int = 0) -> dict[str, int]:
        """Of each phase the highest, without its first ``skip`` calls."""
        return {phase: max(calls[skip:]) for phase, calls in self.calls.items() if calls[skip:]}
