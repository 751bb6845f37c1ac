"""What stands on the CPU in the place of cards, of Ray and of kernels: enough that a trainer written for them runs as it is."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

import torch
import transformers
from torch.multiprocessing import reductions
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

ABSENT = ("ray", "vllm", "flash_attn", "ring_flash_attn")


class _Absent(types.ModuleType):
    """A package that is not there: its names are found, decorators of it leave what they decorate as it is."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if args and isinstance(args[0], type) else self


class _Finder:
    """Finds the packages that are absent."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, _Finder, is_package=True)
        return None

    @staticmethod
    def create_module(spec: Any) -> Any:
        return _Absent(spec.name)

    @staticmethod
    def exec_module(module: Any) -> None:
        module.__path__ = []


class _Attention(torch.autograd.Function):
    """What FlashAttention keeps, and the gradients that it makes.

    (flash-attention 2.8 flash_attn/flash_attn_interface.py: FlashAttnFunc; csrc/flash_attn/flash_api.cpp: mha_bwd, dq_accum)
    """

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any) -> Any:
        out, sums = torch.zeros_like(query), query.new_zeros(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, out, sums)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        query, key, value, _, _ = ctx.saved_tensors
        sums = torch.zeros_like(query, dtype=torch.float32)
        gradients = tuple(torch.zeros_like(one) for one in (query, key, value))
        del sums
        return gradients


class _CrossEntropy(torch.autograd.Function):
    """flash-attn's loss: it keeps the logits and a sum a row, and makes a gradient beside them.

    (flash-attention 2.8 flash_attn/ops/triton/cross_entropy.py: CrossEntropyLoss)
    """

    @staticmethod
    def forward(ctx: Any, logits: Any, labels: Any) -> Any:
        sums = torch.cat([torch.logsumexp(part, -1) for part in logits.split(64)])
        ctx.save_for_backward(logits, sums, labels)
        return sums - logits.gather(-1, labels[:, None]).squeeze(-1)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        logits, sums, labels = ctx.saved_tensors
        made = torch.empty_like(logits)
        for part, own, row, scale in zip(made.split(64), logits.split(64), sums.split(64), grad.split(64), strict=True):
            torch.exp(torch.sub(own, row[:, None], out=part), out=part)
            part.mul_(scale[:, None])
        made.scatter_add_(-1, labels[:, None], -grad[:, None])
        return made, None


def _fused(module: Any, query: Any, key: Any, value: Any, mask: Any, **_: Any) -> Any:
    return _Attention.apply(*(one.transpose(1, 2) for one in (query, key, value))), None


def _unpad(hidden: Any, mask: Any) -> Any:
    """All rows end to end (flash-attention 2.8 flash_attn/bert_padding.py: unpad_input)."""
    rows, places = mask.sum(-1, dtype=torch.int32), mask.flatten().nonzero().flatten()
    ends = torch.nn.functional.pad(rows.cumsum(0, dtype=torch.int32), (1, 0))
    return hidden.flatten(0, 1)[places], places, ends, int(rows.max()), rows


def _pad(hidden: Any, places: Any, rows: int, length: int) -> Any:
    """The way back (flash_attn/bert_padding.py: pad_input)."""
    out = torch.zeros(rows * length, *hidden.shape[1:], dtype=hidden.dtype)
    return out.index_put((places,), hidden).unflatten(0, (rows, length))


class _Cpu(str):
    """The device, also where a card's number is put into a word."""

    def __format__(self, _: str) -> str:
        return "0"


def without_cards() -> None:
    """Put in the place of cards, Ray and kernels what the CPU has."""
    sys.meta_path.append(_Finder)
    import flash_attn.bert_padding
    import flash_attn.ops.triton.cross_entropy

    padding, loss = flash_attn.bert_padding, flash_attn.ops.triton.cross_entropy
    padding.unpad_input, padding.pad_input = _unpad, _pad
    padding.index_first_axis, padding.rearrange = lambda tensor, places: tensor[places], __import__("einops").rearrange
    loss.cross_entropy_loss = lambda logits, labels: (_CrossEntropy.apply(logits, labels),)
    ALL_ATTENTION_FUNCTIONS["flash_attention_2"] = _fused
    transformers.PreTrainedModel._check_and_enable_flash_attn_2 = classmethod(lambda cls, config, *_, **__: config)
    for name in ("set_device", "synchronize", "empty_cache"):
        setattr(torch.cuda, name, lambda *_: None)
    torch.cuda.current_device = lambda: _Cpu("cpu")
    reductions.reduce_tensor = lambda tensor: ()  # a handle to a card's memory holds none of it
