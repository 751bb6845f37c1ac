"""Measure EasyR1's own actor on a real card: passes and updates of a vision model, as one rank of eight.

PYTHONPATH=<a checkout of hiyouga/EasyR1 at 55b40c8> python benchmarks/trainers/run_card_easyr1.py OUT.jsonl SECONDS ID …

Its actor, batches, optimizer, offloads and patches of the model are run as they are; FlashAttention is torch's, its cross-entropy a
stand-in that keeps and makes the same tensors, and what other ranks would send is what this one sends. Weights, words and pictures are
random, of the lengths that a point names. Without a card the points ending in ``tiny`` run on the CPU, which shows only that they run.
A line of JSON a point, of which card_easyr1.py makes what the tests read.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import as_card
import card_group
import numpy as np
import torch
import transformers
from card_easyr1 import GIB, PATCHES, POINTS, RANKS, Sight, shape

ON_CARD = torch.cuda.is_available()
DEVICE = "cuda" if ON_CARD else "cpu"


def configured(point: Sight) -> Any:
    told = shape(point.model)
    text = told["text_config"] | {"max_position_embeddings": 32768}
    config = transformers.AutoConfig.for_model(
        told["model_type"], text_config=text, vision_config=told["vision_config"], tie_word_embeddings=False
    )
    config._attn_implementation = "flash_attention_2"
    return config


def sharded(config: Any, point: Sight) -> Any:
    """As its workers/fsdp_workers.py builds the actor, but that weights are made where they lie and not read."""
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from verl.models.monkey_patch import apply_ulysses_patch
    from verl.utils.fsdp_utils import get_fsdp_wrap_policy, get_init_fn

    apply_ulysses_patch(config.model_type)
    stored = torch.float32 if point.stored == "fp32" else torch.bfloat16
    with torch.device("meta"), transformers.modeling_utils.no_init_weights():
        model = transformers.AutoModelForImageTextToText.from_config(
            config, torch_dtype=stored, attn_implementation="flash_attention_2"
        )
    model = model.to(stored)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    made = get_init_fn(model, device=DEVICE)

    def fill(module: Any) -> None:
        made(module)
        for name, one in module.named_buffers(recurse=False):
            module._buffers[name] = torch.rand(one.shape, device=DEVICE, dtype=one.dtype)

    wrapped = FullyShardedDataParallel(
        model,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        auto_wrap_policy=get_fsdp_wrap_policy(model),
        mixed_precision=MixedPrecision(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.float32
        ),
        param_init_fn=fill,
        device_id=torch.cuda.current_device() if ON_CARD else torch.device("cpu"),
        forward_prefetch=False,
        use_orig_params=False,
    )
    with torch.no_grad():
        for one in wrapped.parameters():
            one.normal_(0, 0.02)
    return wrapped


def batch(config: Any, point: Sight, draw: random.Random, rows: int) -> Any:
    """Rows of pictures and words as the worker hands them to the actor; pictures are hardly larger than they must be, 262,144 pixels."""
    from verl.protocol import DataProto

    longest = 2048
    side = PATCHES[config.model_type]
    patch = 3 * 2 * side * side
    ids = torch.zeros(rows, 2 * longest, dtype=torch.int64)
    mask, places = torch.zeros_like(ids), torch.zeros(rows, 4, 2 * longest, dtype=torch.int64)
    pictures = np.empty(rows, dtype=object)
    for row in range(rows):
        ratio = draw.uniform(0.6, 1.8)
        high = 2 * round((262144 * draw.uniform(1, 1.3) / ratio) ** 0.5 / side / 2)
        wide = 2 * round(high * ratio / 2)
        seen, said = high * wide // 4, draw.randint(60, 160)
        answer = min(max(int(draw.lognormvariate(np.log(point.answers[0]) - 0.18, 0.6)), 40), point.answers[1])
        start, end = longest - seen - said, longest + answer
        ids[row, start:end] = torch.randint(0, 1000, (end - start,))
        ids[row, start + 4 : start + 4 + seen] = config.image_token_id
        mask[row, start:end] = 1
        places[row, :, start:end] = torch.arange(end - start)
        pictures[row] = {
            "pixel_values": torch.rand(high * wide, patch),
            "image_grid_thw": torch.tensor([[1, high, wide]]),
        }
    zeros = torch.zeros(rows, longest)
    tensors = {"input_ids": ids, "attention_mask": mask, "position_ids": places, "responses": ids[:, longest:].clone()}
    tensors |= {
        "response_mask": mask[:, longest:].clone(),
        "old_log_probs": zeros,
        "ref_log_probs": zeros,
        "advantages": zeros + 1.0,
    }
    return DataProto.from_dict(
        tensors=tensors, non_tensors={"multi_modal_inputs": pictures}, meta_info={"temperature": 1.0}
    )


def counters() -> dict[str, float]:
    if not ON_CARD:
        return {}
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    streams: dict[int, int] = {}
    for segment in torch.cuda.memory_snapshot():
        streams[segment["stream"]] = streams.get(segment["stream"], 0) + segment["total_size"]
    found = {
        "allocated": stats["allocated_bytes.all.peak"] / GIB,
        "active": stats["active_bytes.all.peak"] / GIB,
        "reserved": stats["reserved_bytes.all.peak"] / GIB,
        "held": stats["allocated_bytes.all.current"] / GIB,
        "kept": stats["reserved_bytes.all.current"] / GIB,
        "retries": stats["num_alloc_retries"],
        "streams": sorted((round(size / GIB, 2) for size in streams.values()), reverse=True),
    }
    torch.cuda.reset_peak_memory_stats()
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}


def free_blocks() -> list[list[Any]]:
    """Of each stream the largest free blocks that the allocator keeps, in MiB."""
    free: dict[int, list[int]] = {}
    for segment in torch.cuda.memory_snapshot() if ON_CARD else ():
        sizes = [one["size"] >> 20 for one in segment["blocks"] if one["state"] == "inactive"]
        free.setdefault(segment["stream"], []).extend(sizes)
    return [[sum(sizes), sorted(sizes, reverse=True)[:40]] for sizes in free.values()]


def note(lines: list[Any], line: list[Any]) -> None:
    lines.append(line)
    print(json.dumps(line), flush=True)


def watched(actor: Any, lines: list[Any], start: float) -> None:
    """Note the counters after each pass of the actor and each step of its optimizer."""
    plain, step = actor._forward_micro_batch, actor._optimizer_step

    def forward(inputs: Any, **told: Any) -> Any:
        tokens, patches = (
            int(inputs["attention_mask"].sum()),
            sum(len(one["pixel_values"]) for one in inputs["multi_modal_inputs"]),
        )
        out = plain(inputs, **told)
        note(lines, ["forward", round(time.time() - start, 1), tokens, patches, len(inputs["input_ids"]), counters()])
        return out

    def optimizer_step() -> Any:
        note(lines, ["backward", round(time.time() - start, 1), counters()])
        found = step()
        note(lines, ["step", round(time.time() - start, 1), float(found), counters()])
        return found

    actor._forward_micro_batch, actor._optimizer_step = forward, optimizer_step


def measured(point: Sight) -> dict[str, Any]:
    from verl.utils.fsdp_utils import load_fsdp_model, load_fsdp_optimizer, offload_fsdp_model, offload_fsdp_optimizer
    from verl.utils.torch_functional import AnyPrecisionAdamW
    from verl.workers.actor.config import ActorConfig
    from verl.workers.actor.dp_actor import DataParallelPPOActor

    if not ON_CARD:
        load_fsdp_model = load_fsdp_optimizer = offload_fsdp_model = offload_fsdp_optimizer = lambda _: None
    start, lines, draw = time.time(), list[Any](), random.Random(1)
    if ON_CARD:
        whole = torch.cuda.mem_get_info()[1] / GIB
        torch.cuda.set_per_process_memory_fraction(min(1.0, point.limit / whole))
    config = configured(point)
    model = sharded(config, point)
    note(lines, ["built", round(time.time() - start, 1), counters()])
    if point.stored == "fp32":
        adam: Any = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    else:
        adam = AnyPrecisionAdamW(model.parameters(), lr=1e-6)
    told = ActorConfig(dynamic_batching=True, padding_free=True, use_torch_compile=False)
    told.use_kl_loss = True
    told.micro_batch_size_per_device_for_update, told.micro_batch_size_per_device_for_experience = 1, 2
    told.global_batch_size_per_device = point.rows
    actor = DataParallelPPOActor(told, model, adam)
    watched(actor, lines, start)
    offload_fsdp_model(model)
    note(lines, ["offloaded", round(time.time() - start, 1), counters()])
    try:
        data = batch(config, point, draw, point.rows * point.batches).to(DEVICE)
        load_fsdp_model(model)
        load_fsdp_optimizer(adam)
        note(lines, ["loaded", round(time.time() - start, 1), counters()])
        actor.update_policy(data)
        note(lines, ["updated", round(time.time() - start, 1), free_blocks(), counters()])
        offload_fsdp_model(model)
        offload_fsdp_optimizer(adam)
        note(lines, ["offloaded", round(time.time() - start, 1), counters()])
        load_fsdp_model(model)
        data = batch(config, point, draw, point.rows // 3).to(DEVICE)
        actor.compute_log_prob(data)
        model._handle.reshard(True)
        note(lines, ["log_probs", round(time.time() - start, 1), counters()])
        offload_fsdp_model(model)
    except torch.OutOfMemoryError as error:
        note(lines, ["out of memory", round(time.time() - start, 1), str(error)[:600], counters()])
    return {"id": point.id, "set": asdict(point), "lines": lines}


class _Flash(torch.autograd.Function):
    """FlashAttention 2 as torch has it, over packed rows; it keeps what the package keeps."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, ends: Any, longest: int, causal: bool) -> Any:
        out, sums, state, offset, _ = torch.ops.aten._flash_attention_forward(
            query, key, value, ends, ends, longest, longest, 0.0, causal, False
        )
        ctx.save_for_backward(query, key, value, out, sums, ends, state, offset)
        ctx.told = longest, causal
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        query, key, value, out, sums, ends, state, offset = ctx.saved_tensors
        longest, causal = ctx.told
        of = torch.ops.aten._flash_attention_backward(
            grad.contiguous(), query, key, value, out, sums, ends, ends, longest, longest, 0.0, causal, state, offset
        )
        return *of, None, None, None


def attend_packed(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Any = 0,
    *_: Any,
    causal: bool = False,
    **__: Any,
) -> Any:
    return _Flash.apply(q, k, v, cu_seqlens_q.int(), int(max_seqlen_q), causal)


def attend(q: Any, k: Any, v: Any, *_: Any, causal: bool = False, **__: Any) -> Any:
    ends = torch.arange(0, (q.shape[0] + 1) * q.shape[1], q.shape[1], dtype=torch.int32, device=q.device)
    out = attend_packed(*(one.flatten(0, 1) for one in (q, k, v)), ends, ends, q.shape[1], causal=causal)
    return out.unflatten(0, q.shape[:2])


def prepared() -> None:
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False")
    if not ON_CARD:
        as_card.be()
        as_card.named_cuda()
        torch.cuda.empty_cache = lambda: None
    else:
        as_card.flash_attention()
        flash = sys.modules["flash_attn"]
        flash.flash_attn_func, flash.flash_attn_varlen_func = attend, attend_packed  # type: ignore[attr-defined]
        torch.cuda.set_device(0)
    card_group.start(RANKS, DEVICE)


def main() -> None:
    out, seconds, *wanted = sys.argv[1:]
    until = time.time() + float(seconds)
    prepared()
    for point in POINTS:
        if point.id in wanted and time.time() < until:
            with Path(out).open("a", encoding="utf-8") as file:
                file.write(json.dumps(measured(point)) + "\n")


if __name__ == "__main__":
    main()
