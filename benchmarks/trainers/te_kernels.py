"""Transformer Engine's own Python on the CPU: its compiled kernels in plain torch, which hand out the same tensors.

What the modules save, when they free it and what they hand on is the package's own code; here are only the products, norms, rotations,
permutations and the attention beneath it. Gradients are not those of a loss: a kernel that adds to a buffer leaves it as it is.
Workspaces of cuBLAS are left out.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import itertools
import os
import re
import sys
import types
import unittest.mock
from pathlib import Path
from typing import Any

import torch

_NUMBERS = itertools.count()


class _Names(type):
    """An enumeration of the extension: every name is a number of its own."""

    def __getattr__(cls, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(cls, name, next(_NUMBERS))
        return getattr(cls, name)


def _product(left, left_turned, right, right_turned, out, add, out_type=None):  # type: ignore[no-untyped-def]
    """A product into ``out`` or anew, in the type that is asked for; one that adds leaves its buffer as it is."""
    if add:
        return out
    rows = right.reshape(-1, right.shape[-1])
    columns = left.reshape(-1, left.shape[-1])
    kind = out.dtype if out is not None else out_type
    turned = columns.t() if left_turned else columns
    found = (rows.t() if right_turned else rows) @ turned.to(rows.dtype)
    if out is None:
        found = found if kind is None else found.to(kind)
        return found.view(*right.shape[:-1], -1) if not right_turned else found
    return out.view(found.shape).copy_(found)


def _type(number: Any) -> Any:
    """The package's number of a type back as a type."""
    constants = sys.modules["transformer_engine.pytorch.constants"]
    return None if number is None else constants.TE_DType_To_Torch[number]


def generic_gemm(a, turn_a, b, turn_b, out, quantizer, out_type, bias, *rest, **more):  # type: ignore[no-untyped-def]
    add = rest[6]  # after the type of the bias: gelu, its input, grad, workspace and its size
    of_bias = torch.zeros_like(bias) if rest[3] and bias is not None else None
    return _product(a, turn_a, b, turn_b, out, add, _type(out_type)), of_bias, None, None


def te_general_grouped_gemm(a, turn_a, b, turn_b, out, out_type, splits, bias, bias_type, single, *rest):  # type: ignore[no-untyped-def]
    add, at = rest[4], 0  # gelu's input, grad, workspaces, their size
    for left, right, place in zip(a, b, out if not single else [None] * len(a), strict=True):
        if single:
            rows = right.reshape(-1, right.shape[-1]).shape[0]
            place = out[0].view(-1, out[0].shape[-1])[at : at + rows]
            at += rows
        if right.numel():
            _product(left, turn_a, right, turn_b, place, add)
    return bias


def rmsnorm_fwd(x, weight, eps, out, quantizer, out_type, margin, zero_centered):  # type: ignore[no-untyped-def]
    out = torch.empty_like(x) if out is None else out
    scale = torch.empty(x.shape[0], dtype=torch.float32)
    for first in range(0, x.shape[0], 256):
        some = slice(first, first + 256)
        torch.rsqrt(x[some].float().pow(2).mean(-1) + eps, out=scale[some])
        out[some] = x[some] * scale[some, None].to(x.dtype) * weight
    return out, None, scale


def rmsnorm_bwd(gradient, x, scale, weight, margin, zero_centered):  # type: ignore[no-untyped-def]
    return torch.mul(gradient.view(x.shape), weight), torch.zeros_like(weight)


def fused_rope_forward(x, *_: Any) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


fused_rope_backward = fused_rope_forward


def multi_tensor_adam(*_: Any) -> None:
    """In place, as the kernel."""


multi_tensor_adam_param_remainder = multi_tensor_adam_fp8 = multi_tensor_scale = multi_tensor_adam


def multi_tensor_l2norm(*_: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(1), torch.ones(1)


def make_row_id_map(routing_map: torch.Tensor, tokens: int, experts: int) -> torch.Tensor:
    """[tokens, 2 experts + 1] of int32 like the kernel's; here the first column of a token's experts is its rows'."""
    found = torch.full((tokens, experts * 2 + 1), -1, dtype=torch.int32)
    chosen = routing_map.bool().t()
    found[:, :experts].t()[chosen] = torch.arange(int(chosen.sum()), dtype=torch.int32)
    return found


def _rows(row_id_map: torch.Tensor, experts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The token and the expert of each permuted row."""
    experts_of, tokens_of = (row_id_map[:, :experts].t() >= 0).nonzero(as_tuple=True)
    return tokens_of, experts_of


def permute_with_mask_map(x, row_id_map, probs, scale, tokens, experts, rows, hidden, *_):  # type: ignore[no-untyped-def]
    token, expert = _rows(row_id_map, experts)
    out, weights = torch.empty((rows, hidden), dtype=x.dtype), None
    torch.index_select(x, 0, token, out=out)
    if probs is not None:
        weights = torch.empty((rows,), dtype=probs.dtype)
        weights.copy_(probs.reshape(-1)[token * experts + expert] if probs.dim() > 1 else probs[token])
    return out, None, weights


def unpermute_with_mask_map(x, row_id_map, merging, probs, tokens, experts, hidden):  # type: ignore[no-untyped-def]
    token, expert = _rows(row_id_map, experts)
    out = torch.zeros((tokens, hidden), dtype=x.dtype)
    out.index_add_(0, token, x)
    weights = None
    if probs is not None:
        weights = torch.zeros((tokens, experts), dtype=probs.dtype)
        weights[token, expert] = probs
    return out, weights


def make_chunk_sort_map(sizes: torch.Tensor, order: torch.Tensor, tokens: int, splits: int) -> torch.Tensor:
    parts = torch.arange(tokens, dtype=torch.int32).split(sizes.tolist())
    return torch.cat([parts[one] for one in order.tolist()])


def sort_chunks_by_map(x, row_id_map, probs, tokens, hidden, is_forward):  # type: ignore[no-untyped-def]
    index = row_id_map if is_forward else torch.argsort(row_id_map)
    out = torch.empty((tokens, hidden), dtype=x.dtype)
    torch.index_select(x, 0, index, out=out)
    return out, None if probs is None else probs[index.long()]


class Attention(torch.autograd.Function):
    """Keeps what FlashAttention keeps: query, key, value, output and one fp32 number a row and head.

    (flash-attention 2.8 flash_attn/flash_attn_interface.py: FlashAttnFunc)
    """

    @staticmethod
    def forward(ctx, query, key, value):  # type: ignore[no-untyped-def]
        out = query.new_empty(*query.shape[:-1], value.shape[-1])
        sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, out, sums)
        return out.normal_(std=0.1)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        return tuple(torch.empty_like(one).normal_(std=0.01) for one in ctx.saved_tensors[:3])


def attention(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **more: Any) -> Any:
    """The way from the package's module to that kernel, which gives heads and their width as one.

    (pytorch/attention/dot_product_attention/dot_product_attention.py: DotProductAttention.forward)
    """
    ways = importlib.import_module("transformer_engine.pytorch.attention.dot_product_attention.utils")
    _, query, key, value, *_ = ways.get_qkv_layout(query, key, value, qkv_format="sbhd")
    return Attention.apply(query, key, value).flatten(-2)


def _further(name: str) -> Any:
    """What the package imports by name and these runs never call."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _Names(name, (), {})


def install() -> None:
    """Put the kernels where the package looks for its extension and its Triton code; call it before the package is loaded."""
    extension = types.ModuleType("transformer_engine_torch")
    files = importlib.metadata.distribution("transformer_engine").locate_file("transformer_engine/pytorch")
    asked = {name for file in Path(str(files)).rglob("*.py") for name in re.findall(r"\btex\.(\w+)", file.read_text())}
    for name in asked:
        setattr(extension, name, globals().get(name) or _Names(name, (), {}))
    extension.__getattr__ = _further  # type: ignore[method-assign]
    extension.get_num_cublas_streams = lambda: 4  # type: ignore[attr-defined]
    extension.get_cudnn_version = lambda: 91400  # type: ignore[attr-defined]
    for name in ("multi_tensor_scale", "multi_tensor_l2norm"):
        setattr(extension, name, globals()[name])
    sys.modules["transformer_engine_torch"] = extension
    triton = sys.modules["transformer_engine.pytorch.triton"] = types.ModuleType("triton")
    for part in ("permutation", "pad", "cross_entropy"):
        inner = types.ModuleType(part)
        inner.__dict__.update({"pad_columnwise_scale_inv": None, **globals()})
        sys.modules[f"transformer_engine.pytorch.triton.{part}"] = inner
        setattr(triton, part, inner)
    os.environ["NVTE_PROJECT_BUILDING"] = "1"  # without which it looks for its libraries
    package = types.ModuleType("transformer_engine")
    package.__path__ = [str(Path(str(files)).parent)]
    sys.modules["transformer_engine"] = package
    common = importlib.import_module("transformer_engine.common")
    common.load_framework_extension = lambda _: None
    del sys.modules["transformer_engine"]
    importlib.import_module("transformer_engine").common = common
    gradients = sys.modules["fused_weight_gradient_mlp_cuda"] = types.ModuleType("fused_weight_gradient_mlp_cuda")
    gradients.wgrad_gemm_accum_fp32 = gradients.wgrad_gemm_accum_fp16 = multi_tensor_adam  # type: ignore[attr-defined]
    base = importlib.import_module("transformer_engine.pytorch.module.base")
    base.get_cublas_workspace_size_bytes = lambda: 1
    plain = base.TransformerEngineBaseModule.__init__

    def ready(module: Any, *args: Any, **kwargs: Any) -> None:
        with unittest.mock.patch("torch.cuda.is_available", return_value=True):
            plain(module, *args, **kwargs)

    base.TransformerEngineBaseModule.__init__ = ready
    importlib.import_module("transformer_engine.pytorch").DotProductAttention.forward = attention
