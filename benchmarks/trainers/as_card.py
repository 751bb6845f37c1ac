"""What a trainer of GPUs needs to run on the CPU: stand-ins of plain torch for kernels of CUDA, which keep and make the same tensors.

FlashAttention and its cross-entropy are stood in for by functions whose outputs, saved tensors and buffers of the backward pass have
the shapes and types of the real ones; their numbers mean nothing. Everything else that runs is the trainer's own code.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from typing import Any
from unittest import mock

import torch
from torch.distributed.fsdp import _init_utils
from torch.nn.functional import pad

_FLASH = "2.8.3"


class _Attention(torch.autograd.Function):
    """(flash-attention 2.8.3 flash_attn_interface.py, csrc/flash_attn/flash_api.cpp: mha_varlen_fwd, mha_varlen_bwd)

    Saves query, key, value, output and one fp32 number a row and head. The backward pass makes an fp32 sum of the query's gradient,
    padded by 128 rows a sequence, and gradients of keys and values for each head of the queries before they are summed into groups.
    """

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, sequences: int) -> Any:
        out = torch.empty_like(query).normal_()
        sums = query.new_zeros((query.shape[-2], *query.shape[:-2]), dtype=torch.float32)
        ctx.save_for_backward(query, key, value, out, sums)
        ctx.sequences = sequences
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        query, key, value, out, sums = ctx.saved_tensors
        grad = grad.contiguous()
        rows = query.shape[:-2].numel() + 128 * ctx.sequences
        of_query, of_key, of_value = (torch.zeros_like(one) for one in (query, key, value))
        summed = query.new_zeros((rows, *query.shape[-2:]), dtype=torch.float32)
        wide = [query.new_zeros(query.shape) for _ in range(2)] if key.shape[-2] != query.shape[-2] else []
        del summed, wide
        return of_query, of_key, of_value, None


def _attend(
    q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: Any = None, causal: bool = False, **_: Any
) -> Any:
    return _Attention.apply(q, k, v, q.shape[0])


def _attend_varlen(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int = 0,
    max_seqlen_k: int = 0,
    dropout_p: float = 0.0,
    softmax_scale: Any = None,
    causal: bool = False,
    window_size: Any = (-1, -1),
    softcap: float = 0.0,
    deterministic: bool = False,
    **_: Any,
) -> Any:
    return _Attention.apply(q, k, v, len(cu_seqlens_q) - 1)


class _CrossEntropy(torch.autograd.Function):
    """(flash-attention 2.8.3 flash_attn/ops/triton/cross_entropy.py) Saves the logits; their gradient takes their place where it may."""

    @staticmethod
    def forward(ctx: Any, logits: Any, labels: Any, in_place: bool) -> Any:
        losses, sums = (logits.new_empty(len(logits), dtype=torch.float32) for _ in range(2))
        for row, one in enumerate(logits):
            sums[row] = one.float().logsumexp(0)
            losses[row] = sums[row] - one[labels[row]]
        ctx.save_for_backward(logits, sums, labels)
        ctx.in_place = in_place
        ctx.mark_non_differentiable(sums)
        return losses, sums

    @staticmethod
    def backward(ctx: Any, grad: Any, _: Any) -> Any:
        logits, sums, labels = ctx.saved_tensors
        out = logits if ctx.in_place else torch.empty_like(logits)
        for row in range(len(logits)):
            out[row] = (logits[row].float() - sums[row]).exp() * grad[row]
            out[row, labels[row]] -= grad[row]
        return out, None, None


@torch.compiler.disable
def _cross_entropy(logits: Any, labels: Any, *_: Any, inplace_backward: bool = False, **__: Any) -> Any:
    return _CrossEntropy.apply(logits, labels, inplace_backward)


def _unpad(hidden_states: Any, attention_mask: Any, *_: Any) -> Any:
    lengths = attention_mask.sum(-1, dtype=torch.int32)
    indices = torch.nonzero(attention_mask.flatten(), as_tuple=False).flatten()
    sums = pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    return hidden_states.flatten(0, 1)[indices], indices, sums, int(lengths.max()), lengths


def _pad(hidden_states: Any, indices: Any, batch: int, seqlen: int) -> Any:
    out = hidden_states.new_zeros(batch * seqlen, *hidden_states.shape[1:])
    out[indices] = hidden_states
    return out.unflatten(0, (batch, seqlen))


def _module(name: str, **names: Any) -> None:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__path__ = []  # type: ignore[attr-defined]
    module.__version__ = _FLASH  # type: ignore[attr-defined]
    module.__dict__.update(names)
    sys.modules[name] = module


def flash_attention() -> None:
    """Put a package ``flash_attn`` of stand-ins in place, and let transformers take it for the real one. Comes before the trainer."""
    from einops import rearrange

    _module("flash_attn", flash_attn_func=_attend, flash_attn_varlen_func=_attend_varlen)
    _module(
        "flash_attn.bert_padding",
        index_first_axis=lambda one, indices: one[indices],
        pad_input=_pad,
        unpad_input=_unpad,
        rearrange=rearrange,
    )
    _module("flash_attn.ops")
    _module("flash_attn.ops.triton")
    _module("flash_attn.ops.triton.cross_entropy", cross_entropy_loss=_cross_entropy)
    told = importlib.metadata.version
    importlib.metadata.version = lambda name: _FLASH if name in ("flash_attn", "flash-attn") else told(name)
    from transformers import PreTrainedModel, modeling_flash_attention_utils, utils

    PreTrainedModel._flash_attn_2_can_dispatch = lambda *_, **__: True
    PreTrainedModel._flash_attn_can_dispatch = lambda *_, **__: True
    for module in (modeling_flash_attention_utils, utils, utils.import_utils):
        for name in ("is_flash_attn_2_available", "is_flash_attn_greater_or_equal_2_10"):
            setattr(module, name, lambda *_, **__: True)
        module.is_flash_attn_greater_or_equal = lambda *_, **__: True


def card() -> None:
    """Let what asks for the current GPU have the CPU, let FSDP take it, and let optimizers update all parameters at once as on a GPU."""
    from torch.distributed import device_mesh
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.get_rng_state, torch.cuda.set_rng_state = torch.get_rng_state, torch.set_rng_state
    _foreach_utils._get_foreach_kernels_supported_devices = lambda: ["cpu", "cuda"]
    optimizer._get_foreach_kernels_supported_devices = lambda: ["cpu", "cuda"]
    made = torch.tensor
    torch.tensor = lambda *args, device=None, **kwargs: made(*args, **kwargs)
    plain = device_mesh.init_device_mesh
    device_mesh.init_device_mesh = lambda _, *args, **kwargs: plain("cpu", *args, **kwargs)
    for name in ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "empty_cache"):
        setattr(torch.cpu, name, lambda *_, **__: 0)
        setattr(torch.cuda, name, lambda *_, **__: 0)
    torch.cpu.mem_get_info = torch.cuda.mem_get_info = lambda *_: (0, 0)
    torch.cpu.ipc_collect = lambda: None
    torch.cpu.get_device_name = torch.cuda.get_device_name = lambda *_: "NVIDIA H100 80GB HBM3"
    torch.cpu.current_device = lambda: torch.device("cpu")
    _init_utils._check_module_states_for_sync_module_states = lambda *_: None


_CAST = ("logsumexp", "pow.Tensor_Scalar", "layer_norm")  # AT_FORALL_FP32
_TOLD = ("softmax.int", "log_softmax.int", "sum", "sum.dim_IntList", "prod", "cumsum")  # AT_FORALL_FP32_SET_OPT_DTYPE


def autocast() -> None:
    """Let autocast on the CPU compute in fp32 what it does on a GPU (torch 2.13 ATen/autocast_mode.h)."""
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for name in (*_CAST, *_TOLD):
        _library.impl(name, _widened(name), "AutocastCPU")


def _widened(name: str) -> Any:
    packet, _, overload = name.partition(".")
    plain = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def cast(one: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", enabled=False):
            return plain(one.float() if one.is_floating_point() else one, *args, **kwargs)

    def told(one: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        rest, dtype = (args[:1], args[1]) if len(args) > 1 and isinstance(args[1], torch.dtype) else (args, dtype)
        with torch.autocast("cpu", enabled=False):
            return plain(one, *rest, dtype=dtype or (torch.float32 if one.is_floating_point() else None), **kwargs)

    return cast if name in _CAST else told


def compiler() -> None:
    """Let compiled functions on the CPU compute cheap numbers again, as on a GPU, where their own rule is to keep each exponential."""
    from torch._inductor import config, ir

    def should_realize(self: Any, users: int, **_: Any) -> bool:
        many = users > 1 and isinstance(self.data, (ir.Pointwise, ir.Reduction))
        return many and (self.has_large_inner_fn() or self.num_reads() > config.realize_reads_threshold)

    ir.StorageBox.should_realize_on_reuse = should_realize
    config.force_disable_caches = True


def named_cuda() -> None:
    """Let what names "cuda" outright have the CPU: autocast, and moves of a batch."""
    import tensordict

    class Autocast(torch.autocast):
        def __init__(self, device_type: str, *args: Any, **kwargs: Any) -> None:
            super().__init__("cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    torch.autocast = Autocast
    tensordict.TensorDict.cuda = torch.Tensor.cuda = lambda self, *_, **__: self


_ABSENT = ("vllm", "qwen_vl_utils")


class _Engine(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An engine that takes what it is handed and keeps nothing."""

    def find_spec(self, name: str, *_: Any) -> Any:
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in _ABSENT else None

    def create_module(self, spec: Any) -> Any:
        module = mock.MagicMock(__name__=spec.name, __path__=[], __spec__=spec, __version__="0.8.5")
        for name in ("LLM", "LoRARequest", "LRUCacheWorkerLoRAManager", "LoRAModel"):
            setattr(module, name, type(name, (), {"__init__": lambda self, **told: None}))
        return module

    def exec_module(self, module: Any) -> None:
        """Nothing to run."""


def engine() -> Any:
    """Let trainers import an engine that is not there; its model goes through the weights that it is given, one by one."""
    sys.meta_path.insert(0, _Engine())
    made = mock.MagicMock()
    model = made.llm_engine.model_executor.driver_worker.worker.model_runner.model
    model.load_weights = lambda weights: [name for name, _ in weights]
    return made


def be() -> None:
    """All of it; comes before the trainer."""
    for each in (flash_attention, card, autocast, compiler):
        each()
