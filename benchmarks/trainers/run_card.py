"""Measure on a real card the training steps of benchmarks/oracle_scale.py and their kin: plain torch, FSDP and its weight sync.

pip install torch transformers peft nvidia-ml-py   # and bitsandbytes
python benchmarks/trainers/run_card.py OUT.jsonl SECONDS [ID …]

One card stands for each of several: torch's fake process group moves nothing, and what FSDP gathers, reduces and frees is on the card as
it would be, on its own streams. Weights and rows are random. A line of JSON a point; benchmarks/trainers/card_points.py makes of them
what the tests read.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import oracle_scale
import torch
import torch.distributed as dist
import transformers
from on_card import Card, measure, reserved_by_stream
from oracle_scale import MODELS, Run
from torch.testing._internal.distributed.fake_pg import FakeStore

CARDS = oracle_scale.CARDS
PARAMETERS = {"qwen2.5-0.5b": 0.5, "qwen2.5-1.5b": 1.6, "qwen3-4b": 4.1, "qwen2.5-7b": 7.7, "llama-3.1-8b": 8.1}  # 1e9
UNEVEN = (1311, 640, 2048, 377, 911, 1650, 1024, 1999, 512, 1780, 845, 1402)


@dataclass(frozen=True)
class CardRun(Run):
    """A run on a card: ``kernel`` is flash (FlashAttention 2 as torch has it) or sdpa; ``fsdp`` 1 or 2 where it is sharded.

    ``optimizer`` may be adamw8bit as well; ``growing`` lets the allocator's segments grow.
    """

    kernel: str = "flash"
    fsdp: int = 2
    growing: bool = False

    @property
    def id(self) -> str:
        more = [self.kernel] * (self.kernel != "flash") + ["fsdp1"] * (self.sharded and self.fsdp == 1)
        return "-".join([super().id, *more, *["growing"] * self.growing])


def flash(module: Any, query: Any, key: Any, value: Any, mask: Any, **_: Any) -> tuple[Any, None]:
    """FlashAttention 2, as torch carries it, over rows of one length; keys and values are not repeated for the heads of a group."""
    query, key, value = (one.transpose(1, 2).to(torch.bfloat16) for one in (query, key, value))
    length = query.shape[1]
    out = torch.ops.aten._flash_attention_forward(query, key, value, None, None, length, length, 0.0, True, False)
    return out[0], None


transformers.AttentionInterface.register("tiled", flash)
ATTENTION = {"flash": "tiled", "sdpa": "sdpa"}


def shape(model: str) -> dict[str, Any]:
    """A published model as its config.json tells it, but that none has its head tied to the embedding."""
    kind, numbers, _ = MODELS[model]
    names = dict(zip(oracle_scale.NAMES, numbers, strict=True)) | ({"head_dim": 128} if kind == "qwen3" else {})
    return {"model_type": kind, **names, "max_position_embeddings": 32768, "tie_word_embeddings": False}


def made(run: CardRun) -> torch.nn.Module:
    """The model on the card, adapted or sharded."""
    config = transformers.AutoConfig.for_model(**shape(run.model))
    config._attn_implementation = ATTENTION[run.kernel]
    stored = torch.bfloat16 if run.precision == "bf16" else torch.float32
    with torch.device("meta" if run.sharded else "cuda"), transformers.initialization.no_init_weights():
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=stored)
    if run.lora_rank:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=run.lora_rank, target_modules="all-linear", lora_dropout=0.0))
        model.enable_input_require_grads()
    if run.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if run.sharded:
        model = (fsdp1 if run.fsdp == 1 else fsdp2)(model)
        torch.cuda.empty_cache()
    return model.train()


def fsdp2(model: Any) -> torch.nn.Module:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = dist.init_device_mesh("cuda", (CARDS,))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model.to_empty(device="cuda")


def fsdp1(model: Any) -> torch.nn.Module:
    """As verl wraps an actor (verl 0.5 workers/fsdp_workers.py: by layers, bf16 with reduction in fp32)."""
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    layer = {type(model.model.layers[0])}
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls=layer),
        mixed_precision=MixedPrecision(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.float32
        ),
        device_id=0,
        param_init_fn=lambda module: module.to_empty(device="cuda", recurse=False),
        use_orig_params=False,
        forward_prefetch=False,
    )


def optimizer(run: CardRun, model: torch.nn.Module) -> torch.optim.Optimizer:
    trained = [one for one in model.parameters() if one.requires_grad]
    if run.optimizer == "adamw8bit":
        import bitsandbytes

        return bitsandbytes.optim.AdamW8bit(trained)
    return torch.optim.AdamW(trained, **{run.optimizer: True})


def step_bytes(run: CardRun) -> dict[str, Any]:
    """Steps as oracle_scale takes them, then a pass without gradient and, where the model is sharded, its weights for an engine."""
    if run.growing:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    if run.sharded:
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=CARDS)
    torch.cuda.set_device(0)
    card, model = Card(), made(run)
    held, adam = torch.cuda.memory_reserved(), optimizer(run, model)
    casts = (run.precision == "mixed" and not run.sharded) or run.lora_rank
    for length in run.lengths:
        for _ in range(run.accumulation):
            ids = torch.randint(0, 1000, (run.rows, length), device="cuda")
            with card.phase("actor_update"):
                with torch.autocast("cuda", torch.bfloat16) if casts else nullcontext():
                    loss = model(input_ids=ids, labels=ids, use_cache=False).loss
                loss.backward()
                del loss
        with card.phase("optimizer_step"):
            adam.step()
        adam.zero_grad(set_to_none=True)
    steps = card.reserved, torch.cuda.memory_allocated(), reserved_by_stream()
    if run.sharded:
        after_steps(run, card, model)
    return {**card.found({"actor_update": run.accumulation, "optimizer_step": 1}), "reserved_at_start": held} | dict(
        zip(("reserved", "held", "streams"), steps, strict=True)
    )


def after_steps(run: CardRun, card: Card, model: Any) -> None:
    """Log-probs of the rows, without gradient; then each weight as an engine takes it, one by one and all at once."""
    torch.cuda.empty_cache()
    with card.phase("old_logprob"), torch.no_grad():
        ids = torch.randint(0, 1000, (run.rows, run.lengths[0]), device="cuda")
        logits = model(input_ids=ids, use_cache=False).logits
        chosen = logits[:, :-1].gather(-1, ids[:, 1:, None]).squeeze(-1)
        sums = torch.stack([torch.logsumexp(row, -1) for row in logits[:, :-1]])
        del logits, chosen, sums
    torch.cuda.empty_cache()
    if run.fsdp == 2:
        with card.phase("sync_one_by_one"), torch.no_grad():
            for weight in model.state_dict().values():
                weight.full_tensor().to(torch.bfloat16)
        return
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardedStateDictConfig, StateDictType

    with card.phase("sync_shards"), torch.no_grad():
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig()
        ):
            weights = model.state_dict()
        for weight in weights.values():
            if hasattr(weight, "full_tensor"):
                weight.full_tensor().to(torch.bfloat16)
        del weights
    torch.cuda.empty_cache()
    with (
        card.phase("sync_whole"),
        torch.no_grad(),
        FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT),
    ):
        weights = model.state_dict()
    del weights


def runs() -> Iterator[CardRun]:
    """Those of oracle_scale as far as a card of 141 GB holds them, and what fake tensors cannot tell: kernels, streams, other Adams."""
    for model in MODELS:
        base = CardRun(model, (2048,) * 2)
        yield replace(base, lengths=(2048,) * 3, precision="mixed", sharded=True, rows=2, accumulation=2)
        yield replace(base, lengths=(8192,) * 2, precision="mixed", sharded=True, fsdp=1)
        yield base
        yield replace(base, lengths=(4096,) * 2, lora_rank=16)
        yield replace(base, lengths=(512,) * 2, rows=4, checkpointing=False, optimizer="fused")
        yield replace(base, lengths=(1024,) * 2, rows=8, lora_rank=64, checkpointing=False, kernel="sdpa")
        yield replace(base, lengths=(16384,) * 2, precision="mixed", sharded=True, optimizer="fused")
        yield replace(base, lengths=(4096,) * 2, optimizer="adamw8bit", kernel="sdpa")
        if model not in ("qwen2.5-7b", "llama-3.1-8b"):
            yield replace(base, lengths=(8192,) * 2, precision="mixed")
    for model in ("qwen2.5-0.5b", "qwen2.5-7b"):
        yield CardRun(model, UNEVEN)
        yield CardRun(model, UNEVEN, growing=True)
        yield CardRun(model, UNEVEN, lora_rank=16)
        yield CardRun(model, UNEVEN, precision="mixed", sharded=True)
        yield CardRun(model, UNEVEN, precision="mixed", sharded=True, growing=True)


def room(run: CardRun) -> float:
    """GiB that a run may take at most, by a rule of thumb: only for points that share the card."""
    hidden, layers, *_, vocabulary = MODELS[run.model][1]
    tokens = run.rows * max(run.lengths)
    state = 3 if run.lora_rank else 16 / CARDS + 4 if run.sharded else 16 if run.precision == "mixed" else 9
    kept = tokens * hidden * layers * (4 if run.checkpointing else 60)
    return 3 + 1.2 * (PARAMETERS[run.model] * 1e9 * state + tokens * vocabulary * 18 + kept) / 2**30


def main() -> None:
    out, seconds, *wanted = sys.argv[1:]
    points = [
        {"id": run.id, "run": step_bytes, "args": (run,), "gib": room(run), "set": asdict(run)}
        for run in runs()
        if not wanted or run.id in wanted
    ]
    measure(points, Path(out), time.time() + float(seconds))


if __name__ == "__main__":
    main()
