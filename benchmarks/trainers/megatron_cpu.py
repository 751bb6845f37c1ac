"""Megatron-core on the CPU: what asks for a card gets the processor, streams and generators of a card are none."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy
import torch
from torch._dynamo import trace_rules

_FACTORIES = (
    "empty",
    "zeros",
    "ones",
    "tensor",
    "full",
    "arange",
    "rand",
    "randn",
    "linspace",
    "empty_like",
    "zeros_like",
)

_ROWS = 256


def _on_cpu(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs and kwargs["device"] is not None and str(kwargs["device"]).startswith("cuda"):
            kwargs["device"] = "cpu"
        kwargs.pop("pin_memory", None)
        return make(*args, **kwargs)

    return made


class _Stream:
    """A stream or an event of a card, which has nothing to wait for."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *_, **__: self


def _compiled(function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """What a compiled chain of elementwise steps allocates: its results alone. It runs as it is, a few rows at a time.

    Where autograd goes through it, and where its results have no rows, it runs as it is on all of them.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        tensors = [one for one in args if isinstance(one, torch.Tensor) and one.dim()]
        count = tensors[0].shape[0] if tensors else 0
        if torch.is_grad_enabled() or kwargs or count <= _ROWS or any(one.shape[0] != count for one in tensors):
            return function(*args, **kwargs)
        found: list[torch.Tensor] = []
        for first in range(0, count, _ROWS):
            some = slice(first, first + _ROWS)
            parts = function(*(one[some] if isinstance(one, torch.Tensor) and one.dim() else one for one in args))
            several = parts if isinstance(parts, tuple) else (parts,)
            if any(one.dim() == 0 or one.shape[0] != min(_ROWS, count - first) for one in several):
                return function(*args)
            found = found or [one.new_empty(count, *one.shape[1:]) for one in several]
            for whole, part in zip(found, several, strict=True):
                whole[some] = part
        return tuple(found) if isinstance(parts, tuple) else found[0]

    return run


def _outside(like: torch.Tensor) -> torch.Tensor:
    """A copy in memory that is not the allocator's, for gloo, whose threads free what they held unseen."""
    copy = torch.from_numpy(numpy.empty(like.numel() * like.element_size(), numpy.uint8)).view(like.dtype)
    return copy.copy_(like.reshape(-1))


def _in_place(collective: Callable[..., Any]) -> Callable[..., Any]:
    """Broadcast or all-reduce in the tensor itself, as NCCL does it."""

    def done(tensor: torch.Tensor, *args: Any, async_op: bool = False, **kwargs: Any) -> Any:
        copy = _outside(tensor)
        collective(copy, *args, **kwargs)
        tensor.data.copy_(copy.view(tensor.shape))
        return _Stream() if async_op else None

    return done


def _gather(output: torch.Tensor, own: torch.Tensor, group: Any = None, async_op: bool = False) -> Any:
    """In place like NCCL's, where gloo makes a copy of all of it."""
    world = torch.distributed.get_world_size(group)
    parts, every = output.view(-1).chunk(world), [_outside(own) for _ in range(world)]
    for source, part in enumerate(every if world > 1 else ()):
        torch.distributed.broadcast(part, torch.distributed.get_global_rank(group, source), group=group)
    for place, part in zip(parts, every, strict=True):
        place.copy_(part)
    return _Stream() if async_op else None


def _reduce_scatter(
    output: torch.Tensor, every: torch.Tensor, op: Any = None, group: Any = None, async_op: bool = False
) -> Any:
    world, rank = torch.distributed.get_world_size(group), torch.distributed.get_rank(group)
    if world > 1:
        summed = _outside(every)
        torch.distributed.all_reduce(summed, group=group)
        output.copy_(summed.chunk(world)[rank].view_as(output))
    elif output.data_ptr() != every.data_ptr():
        output.copy_(every.view_as(output))
    return _Stream() if async_op else None


def _all_to_all(collective: Callable[..., Any]) -> Callable[..., Any]:
    def done(
        output: torch.Tensor,
        own: torch.Tensor,
        output_split_sizes: Any = None,
        input_split_sizes: Any = None,
        group: Any = None,
        async_op: bool = False,
    ) -> Any:
        got, given = _outside(output).view(output.shape), _outside(own).view(own.shape)
        collective(got, given, output_split_sizes, input_split_sizes, group=group)
        output.copy_(got)
        return _Stream() if async_op else None

    return done


def install() -> None:
    """Call it before Megatron is loaded."""
    trace_rules.get_torch_obj_rule_map()  # before two names get one function
    torch.compile = _compiled  # type: ignore[assignment]
    for name in _FACTORIES:
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    torch.distributed.all_gather_into_tensor = torch.distributed._all_gather_base = _gather  # type: ignore[assignment]
    torch.distributed.reduce_scatter_tensor = torch.distributed._reduce_scatter_base = _reduce_scatter  # type: ignore[assignment]
    torch.distributed.all_to_all_single = _all_to_all(torch.distributed.all_to_all_single)
    torch.distributed.all_reduce = _in_place(torch.distributed.all_reduce)
    torch.distributed.broadcast = _in_place(torch.distributed.broadcast)
    card = torch.cuda
    card.current_device = lambda: "cpu"  # type: ignore[assignment]
    card.set_device = card.synchronize = card.empty_cache = lambda *_: None  # type: ignore[assignment]
    card.Stream = card.Event = _Stream  # type: ignore[assignment,misc]
    card.current_stream = card.default_stream = lambda *_: _Stream()  # type: ignore[assignment]
    card.device = card.stream = lambda *_: nullcontext()  # type: ignore[assignment,misc]
    card.nvtx.range = lambda *_, **__: nullcontext()  # type: ignore[assignment]
    card.nvtx.range_push = card.nvtx.range_pop = lambda *_: None  # type: ignore[assignment]
    card.is_current_stream_capturing = lambda: False  # type: ignore[assignment]
    card.get_rng_state = card.random.get_rng_state = lambda *_, **__: torch.get_rng_state()  # type: ignore[assignment]
    torch.cuda._lazy_call = lambda *_, **__: None  # type: ignore[assignment]
    card.manual_seed = lambda *_: None  # type: ignore[assignment]
    card.get_device_capability = lambda *_: (9, 0)  # type: ignore[assignment]
    card.get_device_properties = lambda *_: types.SimpleNamespace(major=9, minor=0, multi_processor_count=132)  # type: ignore[assignment]
    torch.Tensor.is_cuda = property(lambda _: True)  # type: ignore[assignment]
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor  # type: ignore[assignment]
    torch.Tensor.record_stream = lambda *_: None  # type: ignore[assignment]
    torch.Tensor.pin_memory = lambda tensor, *_: tensor  # type: ignore[assignment]
    kind = torch.Tensor.type
    torch.Tensor.type = lambda tensor, *args: (
        kind(tensor, *args) if args else kind(tensor).replace("torch.", "torch.cuda.")
    )  # type: ignore[assignment]


def join() -> None:
    """The process group of this rank, of one process too."""
    names = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    os.environ.update({name: os.environ.get(name, value) for name, value in names.items()})
    store = None
    if os.environ["WORLD_SIZE"] == "1":
        store = torch.distributed.HashStore()
    torch.distributed.init_process_group(
        "gloo", store=store, rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
    )
