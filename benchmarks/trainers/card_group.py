"""A process group of which one rank runs: what the others would send is taken to be what this one sends.

Ranks of data parallelism do the same at the same time, so one of them tells what each allocates. Collectives write into their outputs and
make nothing beside them, as NCCL's do; gloo's go through copies of their own, which would be counted as the trainer's.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist
from torch.futures import Future

NAME = "card"


def _done(value: Any) -> Any:
    future: Future = Future()
    future.set_result(value)
    return torch._C._distributed_c10d._create_work_from_future(future)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1)


class CardGroup(dist.ProcessGroup):
    """The collectives that FSDP, DTensor and Ulysses ask for. A sum is of equal parts: it takes this rank's own times their number."""

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        super().__init__(rank, size)
        self._size, self._rank = size, rank

    def size(self) -> int:
        return self._size

    def rank(self) -> int:
        return self._rank

    def getBackendName(self) -> str:  # noqa: N802
        return NAME

    @property
    def pg_name(self) -> str:
        return dist.distributed_c10d._world.pg_names[self]

    @property
    def group_name(self) -> str:
        return self.pg_name

    device = "cpu"

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device(self.device)]

    def _times(self, tensor: torch.Tensor, opts: Any) -> None:
        if (opts.reduceOp if opts else dist.ReduceOp.SUM) == dist.ReduceOp.SUM:
            tensor.detach().mul_(self._size)

    @torch.no_grad()
    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        for tensor in tensors:
            self._times(tensor, opts)
        return _done(tensors)

    @torch.no_grad()
    def allgather(self, outs: Any, inputs: Any, opts: Any = None) -> Any:
        for out, one in zip(outs, inputs, strict=True):
            for part in out:
                part.detach().view(one.shape).copy_(one)
        return _done(outs)

    def all_gather_single(self, out: Any, one: Any, opts: Any = None) -> Any:
        return self.allgather([list(_flat(out).chunk(self._size))], [_flat(one)])

    def all_gather_single_coalesced(self, outs: Any, ones: Any, opts: Any = None) -> Any:
        return [self.all_gather_single(out, one) for out, one in zip(outs, ones, strict=True)][-1]

    @torch.no_grad()
    def scatter(self, outs: Any, inputs: Any, opts: Any) -> Any:
        if inputs:
            outs[0].detach().copy_(inputs[0][self._rank])
        return _done(outs)

    @torch.no_grad()
    def reduce_scatter_single(self, out: Any, one: Any, opts: Any = None) -> Any:
        _flat(out).copy_(_flat(one).chunk(self._size)[self._rank])
        self._times(out, opts)
        return _done(out)

    def reduce_scatter_single_coalesced(self, outs: Any, ones: Any, opts: Any = None) -> Any:
        return [self.reduce_scatter_single(out, one, opts) for out, one in zip(outs, ones, strict=True)][-1]

    @torch.no_grad()
    def alltoall(self, outs: Any, ones: Any, opts: Any = None) -> Any:
        for out, one in zip(outs, ones, strict=True):
            out.detach().copy_(one)
        return _done(outs)

    @torch.no_grad()
    def all_to_all_single(self, out: Any, one: Any, *_: Any, opts: Any = None) -> Any:
        _flat(out).copy_(_flat(one))
        return _done(out)

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        return _done(tensors)

    def barrier(self, opts: Any = None) -> Any:
        return _done(None)

    allreduce_coalesced = allreduce
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single
    alltoall_base = all_to_all_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced


def start(ranks: int, device: str = "cpu") -> None:
    """Be the first of so many ranks, on one machine; groups that a trainer asks for by another name are of this kind too."""
    CardGroup.device = device
    told = {
        "RANK": 0,
        "LOCAL_RANK": 0,
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": ranks,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": 0,
    }
    os.environ.update({name: str(value) for name, value in told.items()})
    dist.Backend.register_backend(NAME, CardGroup, devices=["cpu", "cuda"])
    made = dist.distributed_c10d.new_group

    def new_group(*args: Any, **kwargs: Any) -> Any:
        return made(*args, **{**kwargs, "backend": NAME})

    dist.new_group = dist.distributed_c10d.new_group = new_group
    dist.init_process_group(NAME, store=dist.HashStore(), rank=0, world_size=ranks)
