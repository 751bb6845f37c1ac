"""What a real trainer allocates, phase by phase, on the CPU: by the events of PyTorch's own allocator.

A trainer runs as it stands, only on the CPU and on a small model with random weights. Its functions are wrapped so that each pass is
marked by the phase that it belongs to, and the highest use within the marks is the peak of that phase. The CPU's allocator hands out
what is asked for, as the GPU's does up to 512 bytes, so its bytes are those that a GPU would report as allocated, less workspaces.
"""

from __future__ import annotations

import datetime
import functools
import os
import socket
import tomllib
import traceback
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

OUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "trainers"
_MARK = "phase: "


class Recorder:
    """Holds the allocator's events of one process from ``with`` to its end.

    Enter it before the model is loaded, since what is freed within must have been seen to come.
    """

    def __init__(self) -> None:
        self._profile = profile(activities=[ProfilerActivity.CPU], profile_memory=True)

    def __enter__(self) -> Recorder:
        self._profile.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._profile.__exit__(*error)

    def wrap(self, owner: Any, name: str, phase: str) -> None:
        """Count each call of ``owner.name`` as one of ``phase``; marks may lie within each other."""
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with record_function(_MARK + phase):
                return inner(*args, **kwargs)

        setattr(owner, name, marked)

    def peaks(self, skip: int = 0) -> dict[str, int]:
        """The highest use in bytes within the marks of each phase, without its first ``skip`` calls."""
        events = sorted(self._profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
        marks: dict[str, list[tuple[int, int]]] = {}
        for event in events:
            if event.name().startswith(_MARK):
                start = event.start_ns()
                marks.setdefault(event.name().removeprefix(_MARK), []).append((start, start + event.duration_ns()))
        use = list(_use(events))
        return {phase: _highest(use, calls[skip:]) for phase, calls in marks.items() if calls[skip:]}


def _use(events: list[Any]) -> Iterator[tuple[int, int]]:
    """Time and bytes in use after each event of the allocator."""
    now = 0
    for event in events:
        if event.name() == "[memory]":
            now += event.nbytes()
            yield event.start_ns(), now


def _highest(use: list[tuple[int, int]], calls: list[tuple[int, int]]) -> int:
    """The most in use within any of these spans of time, what stood there at its start included."""
    times = [time for time, _ in use]
    peak = 0
    for start, end in calls:
        first, last = bisect_left(times, start), bisect_right(times, end)
        peak = max(peak, *(bytes for _, bytes in use[max(first - 1, 0) : last]))
    return peak


def in_fork(run: Callable[..., dict[str, int]], *args: Any) -> dict[str, int]:
    """``run(*args)`` in a copy of this process, which has imported the trainer already; it must not have computed with many threads."""
    start = torch.multiprocessing.get_context("fork")
    answers = start.SimpleQueue()
    worker = start.Process(target=_rank, args=(0, 1, 0, answers, run, args))
    worker.start()
    found = answers.get()
    worker.join()
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def in_processes(count: int, run: Callable[..., dict[str, int]], *args: Any) -> dict[str, int]:
    """``run(*args)`` in so many new processes, which find each other as torchrun's do; of each phase the highest peak of any.

    Each point wants processes of its own: what an earlier one leaves would be freed, but never seen to come.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = torch.multiprocessing.get_context("spawn")
    answers = start.Queue()
    workers = [start.Process(target=_rank, args=(rank, count, port, answers, run, args)) for rank in range(count)]
    for worker in workers:
        worker.start()
    found = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
    if wrong := [one for one in found if isinstance(one, str)]:
        raise RuntimeError(wrong[0])
    return {phase: max(one[phase] for one in found) for phase in found[0]}


def _rank(rank: int, count: int, port: int, answers: Any, run: Callable[..., dict[str, int]], args: tuple) -> None:
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_PORT": port}
    if count > 1:
        os.environ.update({"MASTER_ADDR": "127.0.0.1", **{name: str(number) for name, number in names.items()}})
    torch.set_num_threads(1)
    try:
        answers.put(run(*args))
    except BaseException:
        answers.put(traceback.format_exc())
        raise


@contextmanager
def loads_counted() -> Iterator[None]:
    """Weights that transformers maps from a file are no memory of the allocator: each model that loads within is copied into it."""
    from transformers import PreTrainedModel

    plain = PreTrainedModel.from_pretrained

    def counted(cls: type, *args: Any, **kwargs: Any) -> Any:
        model = plain.__func__(cls, *args, **kwargs)
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.data = tensor.data.clone()
        return model

    PreTrainedModel.from_pretrained = classmethod(counted)
    try:
        yield
    finally:
        PreTrainedModel.from_pretrained = plain


def written(point: dict[str, Any]) -> str:
    """A point as TOML: numbers, words, and tables one level deep; words of several lines stand as they are."""
    plain = {key: value for key, value in point.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in point.items() if isinstance(value, dict)}
    lines = ["[[point]]", *(f"{key} = {_value(value)}" for key, value in plain.items())]
    for name, table in tables.items():
        lines += [f"[point.{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'''\n{value.strip()}\n'''" if "\n" in value else f"'{value}'" if '"' in value else f'"{value}"'
    return repr(value)


def write(
    trainer: str, packages: tuple[str, ...], points: list[dict[str, Any]], of: str = "", keep: bool = False
) -> None:
    """Write tests/data/trainers/<trainer><of>.toml: the versions that ran, the day, and the points; ``keep`` its other points as well.

    What the file says of a point beside what is measured, how far its estimate may lie off and why, stays.
    """
    head = [
        f"# Written by benchmarks/trainers/run_{trainer}.py; peaks in bytes.",
        "[from]",
        *(f'{name.replace("-", "_")} = "{version(name)}"' for name in packages),
        f'date = "{datetime.datetime.now(datetime.UTC).date()}"',
    ]
    file = OUT / f"{trainer}{of}.toml"
    old = tomllib.loads(file.read_text(encoding="utf-8"))["point"] if file.exists() else []
    before = {point["id"]: point for point in old}
    new = {point["id"]: {**before.get(point["id"], {}), **point} for point in points}
    body = "\n".join(written(point) for point in {**(before if keep else {}), **new}.values())
    file.write_text("\n".join(head) + "\n\n" + body, encoding="utf-8")
    print(f"{len(points)} points by torch {torch.__version__}")
