"""The points that a script measures, by name, and what they share."""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from recorder import write
from small_model import CONFIG


def many_at_once() -> None:
    """PyTorch's default for Adam on a card, many tensors at once; on the CPU it is one after another."""
    plain = torch.optim.AdamW.__init__

    @functools.wraps(plain)
    def init(self: Any, *args: Any, **options: Any) -> None:
        plain(self, *args, **{**options, "foreach": None if options.get("fused") else True})

    torch.optim.AdamW.__init__ = init


def measure(
    trainer: str,
    packages: tuple[str, ...],
    prepare: Callable[[Path], None],
    points: dict[str, Callable[[Path], dict[str, Any]]],
) -> None:
    """Measure the points that the command names, or all. What the file holds of the others, and beside what is measured, is kept."""
    config, found = json.dumps({**CONFIG, "torch_dtype": "bfloat16"}), []
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place))
        for id in sys.argv[1:] or points:
            found.append({"id": id, "config": config, **points[id](Path(place))})
            print(id, found[-1]["peaks"], flush=True)
    write(trainer, packages, found, keep=bool(sys.argv[1:]))


def versions(packages: tuple[str, ...]) -> str:
    """A line as pip prints them."""
    return " ".join(f"{package}=={version(package).split('+')[0]}" for package in packages)
