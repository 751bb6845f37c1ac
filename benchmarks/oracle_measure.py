"""Bytes of real PyTorch on the CPU: a transformers model with random weights, and the storages that live while it trains.

A dispatch mode sees every tensor that an operator makes, in the forward pass, in the backward pass and in the optimizer step; a
storage counts from then on until it is freed. What a kernel takes inside itself is not seen, as it is not where the bytes lie.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from transformers import AttentionInterface

FUSED = "fused"  # the name of the attention that is registered below


class Live(TorchDispatchMode):
    """Sum of the storages that live, and its highest value since ``rest`` was last called."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._seen: dict[int, weakref.ref] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        tree_map_only(torch.Tensor, self.see, out)
        return out

    def see(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._seen:
            return
        size = storage.nbytes()

        def gone(_: object) -> None:
            self._seen.pop(key, None)
            self.now -= size

        self._seen[key] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)

    def rest(self) -> int:
        """The peak so far; the next one starts from what lives now."""
        peak, self.peak = self.peak, self.now
        return peak


def allocated(run: Callable[[], Any]) -> tuple[Any, int, int]:
    """What a run gives back, its highest use by the allocator's own events, and what of it is left, in bytes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        out = run()
    now = peak = 0
    events = (event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]")
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return out, peak, now


class _Fused(torch.autograd.Function):
    """Attention that keeps what FlashAttention keeps, on any machine; its backward pass is not asked for.

    (flash-attention 2.8 flash_attn/flash_attn_interface.py: FlashAttnFunc.forward saves query, key, value, output and one fp32 number a
    row and head.)
    """

    @staticmethod
    def forward(ctx, query, key, value):  # type: ignore[no-untyped-def]
        out, sums = torch.empty_like(query), query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, out, sums)
        return out.normal_()


def fused_attention(module, query, key, value, mask, **_):  # type: ignore[no-untyped-def]
    """The way from transformers to that kernel: in 16 bits, rows as one, tokens before heads, values padded to the width of queries.

    (transformers 5.23 integrations/flash_attention.py: flash_attention_forward; modeling_flash_attention_utils.py)
    """
    rows, width = query.shape[0], value.shape[-1]
    query, key, value = (one.transpose(1, 2).to(torch.bfloat16).flatten(0, 1) for one in (query, key, value))
    if width != query.shape[-1]:
        value = torch.nn.functional.pad(value, [0, query.shape[-1] - width])
    return _Fused.apply(query, key, value)[..., :width].unflatten(0, (rows, -1)), None


AttentionInterface.register(FUSED, fused_attention)


class Packed:
    """Unique storages that autograd saves and that are no parameter."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._own = {p.untyped_storage()._cdata for p in model.parameters()}
        self._kept: dict[int, tuple[torch.UntypedStorage, int]] = {}

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._own:
            self._kept[storage._cdata] = (storage, storage.nbytes())
        return tensor

    def bytes(self) -> int:
        return sum(size for _, size in self._kept.values())


@dataclass(frozen=True)
class Setting:
    """How a model is trained. ``attention`` is transformers' name; ``padded`` leaves a part of every second row to padding.

    ``adapters`` is the type in which adapters are stored, over a base in 16 bits where that is bf16.
    """

    rows: int = 2
    length: int = 512
    precision: str = "bf16"
    attention: str = "sdpa"
    checkpointing: str = "off"
    padded: bool = False
    lora_rank: int = 0
    optimizer: str = "foreach"
    accumulation: int = 2
    adapters: str = "fp32"


def autocast(setting: Setting) -> AbstractContextManager[object]:
    """bf16 autocast over fp32 weights, and over adapters, which peft makes fp32; none where all is fp32."""
    cast = setting.precision == "mixed" or (setting.lora_rank > 0 and setting.precision != "fp32")
    return torch.autocast("cpu", dtype=torch.bfloat16) if cast else nullcontext()


def build(config: object, setting: Setting, backbone: bool) -> torch.nn.Module:
    """The model of ``config`` in the precision of the weights, with adapters and checkpointing as ``setting`` says."""
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText

    torch.manual_seed(0)
    config._attn_implementation = setting.attention  # type: ignore[attr-defined]
    seeing = hasattr(config, "vision_config")
    maker = AutoModel if backbone else AutoModelForImageTextToText if seeing else AutoModelForCausalLM
    dtype = torch.bfloat16 if setting.precision == "bf16" else torch.float32
    model = maker.from_config(config).to(dtype)
    if setting.lora_rank:
        from peft import LoraConfig, get_peft_model

        lora = LoraConfig(r=setting.lora_rank, target_modules="all-linear", lora_dropout=0.0)
        model = get_peft_model(model, lora)
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.to(torch.bfloat16 if setting.adapters == "bf16" else torch.float32)
        model.enable_input_require_grads()
    if setting.checkpointing != "off":
        model.gradient_checkpointing_enable({"use_reentrant": setting.checkpointing == "reentrant"})
        if setting.checkpointing == "reentrant" and not setting.lora_rank:
            model.enable_input_require_grads()
    return model.train()


def batch(vocab: int, setting: Setting) -> dict[str, torch.Tensor]:
    """Random rows. Without padding no mask is passed, as a packed or padding-free batch passes none."""
    ids = torch.randint(0, vocab, (setting.rows, setting.length))
    if not setting.padded:
        return {"input_ids": ids}
    mask = torch.ones_like(ids)
    mask[::2, : setting.length // 4] = 0
    return {"input_ids": ids, "attention_mask": mask}


def kept_bytes(config: object, setting: Setting, vocab: int) -> dict[str, int]:
    """What a forward pass of the decoder leaves for the backward pass: by storages that live, and as autograd packs them."""
    with Live() as live:
        model, inputs = build(config, setting, backbone=True), batch(vocab, setting)
        packed, held = Packed(model), live.now
        with torch.autograd.graph.saved_tensors_hooks(packed.pack, lambda kept: kept), autocast(setting):
            hidden = model(**inputs, use_cache=False).last_hidden_state
        gc.collect()
        return {"kept": live.now - held - hidden.untyped_storage().nbytes(), "packed": packed.bytes()}


def tower_bytes(family: str, shape: dict[str, int], patches: int, checkpointing: str) -> dict[str, int]:
    """What a forward pass of a vision tower keeps of one image of ``patches`` patches, in bf16."""
    from transformers.models import qwen2_5_vl, qwen2_vl

    side = int(patches**0.5)
    if family == "qwen2-vl":
        config = qwen2_vl.configuration_qwen2_vl.Qwen2VLVisionConfig(
            depth=shape["layers"], embed_dim=shape["hidden"], hidden_size=64, num_heads=4
        )
        tower = qwen2_vl.modeling_qwen2_vl.Qwen2VisionTransformerPretrainedModel(config)
    else:
        config = qwen2_5_vl.configuration_qwen2_5_vl.Qwen2_5_VLVisionConfig(
            depth=shape["layers"],
            hidden_size=shape["hidden"],
            intermediate_size=shape["intermediate"],
            out_hidden_size=64,
            num_heads=4,
        )
        tower = qwen2_5_vl.modeling_qwen2_5_vl.Qwen2_5_VisionTransformerPretrainedModel(config)
    tower = tower.to(torch.bfloat16).train()
    if checkpointing == "on":
        tower.gradient_checkpointing_enable({"use_reentrant": False})
    packed = Packed(tower)
    with torch.autograd.graph.saved_tensors_hooks(packed.pack, lambda kept: kept):
        tower(torch.randn(side * side, 1176, dtype=torch.bfloat16), torch.tensor([[1, side, side]]))
    return {"packed": packed.bytes()}


def _tower(
    family: str, shape: dict[str, int], layers: int, side: int
) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A vision tower of so many layers with random weights, and one image of ``side`` × ``side`` patches as it takes it."""
    from transformers.models import clip, internvl, qwen3_vl, siglip

    sizes = {"hidden_size": shape["hidden"], "intermediate_size": shape["intermediate"]}
    if family == "qwen3-vl":
        config = qwen3_vl.configuration_qwen3_vl.Qwen3VLVisionConfig(
            **sizes, depth=layers, num_heads=4, out_hidden_size=64, deepstack_visual_indexes=[]
        )
        pixels = torch.randn(side * side, 3 * 2 * config.patch_size**2, dtype=torch.bfloat16)
        grid = torch.tensor([[1, side, side]])
        return qwen3_vl.modeling_qwen3_vl.Qwen3VLVisionModel(config), (pixels, grid)
    image = torch.randn(1, 3, 14 * side, 14 * side, dtype=torch.bfloat16)
    common = {**sizes, "num_hidden_layers": layers, "num_attention_heads": 4}
    if family == "internvl":
        config = internvl.configuration_internvl.InternVLVisionConfig(
            **common, image_size=[14 * side] * 2, patch_size=[14, 14], hidden_dropout_prob=0.0
        )
        return internvl.modeling_internvl.InternVLVisionModel(config), (image,)
    module, name = (siglip, "Siglip") if family == "siglip" else (clip, "CLIP")
    config = getattr(getattr(module, f"configuration_{family}"), f"{name}VisionConfig")(
        **common, image_size=14 * side, patch_size=14
    )
    return getattr(getattr(module, f"modeling_{family}"), f"{name}VisionModel")(config), (image,)


def tower_layer_bytes(family: str, shape: dict[str, int]) -> dict[str, float]:
    """What one layer of a tower keeps of one patch, in bf16: by two depths, which leaves out what stands around the layers."""
    kept = {}
    for layers in (4, 12):
        tower, inputs = _tower(family, shape, layers, side := 32)
        tower = tower.to(torch.bfloat16).train()
        packed = Packed(tower)
        with torch.autograd.graph.saved_tensors_hooks(packed.pack, lambda kept: kept):
            tower(*inputs)
        kept[layers] = packed.bytes()
    return {"packed": (kept[12] - kept[4]) / 8 / side**2}


def step_bytes(config: object, setting: Setting, vocab: int) -> dict[str, int]:
    """Peaks of the second optimizer step, when Adam's state is there: forward, backward, optimizer; weights included."""
    with Live() as live:
        model = build(config, setting, backbone=False)
        trained = [p for p in model.parameters() if p.requires_grad]
        how = {"foreach": {"foreach": True}, "loop": {"foreach": False}, "fused": {"fused": True}}[setting.optimizer]
        adam = torch.optim.AdamW(trained, lr=1e-5, **how)
        inputs = batch(vocab, setting)
        inputs["labels"] = inputs["input_ids"].clone()
        peaks = dict.fromkeys(("forward_peak", "backward_peak", "step_peak"), 0)
        for step in range(2):
            for micro in range(setting.accumulation):
                live.rest()
                with autocast(setting):
                    loss = model(**inputs, use_cache=False).loss
                forward = live.rest()
                loss.backward()
                backward = live.rest()
                del loss
                last = step == 1 and micro == setting.accumulation - 1
                if last:
                    peaks |= {"forward_peak": forward, "backward_peak": backward}
            live.rest()
            adam.step()
            peaks["step_peak"] = live.rest()
            adam.zero_grad(set_to_none=True)
            held = live.now
    return peaks | {"held": held}
