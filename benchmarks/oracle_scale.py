"""Write tests/data/measured_scale.toml: training steps at the size of real models, by tensors that have a shape and no bytes.

    pip install torch transformers peft
    python benchmarks/oracle_scale.py

The models are those of transformers, the optimizer and FSDP those of torch; PyTorch's fake tensors go through every operator of a step,
so that each tensor is made and dropped as on a card, at the size that it would have there. ``peaks`` are the most that lives in a pass,
``reserved`` is what the rules of torch's allocator for large blocks keep for the same order of requests (allocator.py). Workspaces within
a kernel are not seen. Takes about ten minutes on two cores and 2 GB.
"""

from __future__ import annotations

import datetime
import pathlib
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
import transformers
from allocator import Allocator, Block
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

OUT = pathlib.Path(__file__).parent.parent / "tests" / "data" / "measured_scale.toml"
CARDS = 8

NAMES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
)
# published models by the slug of their record under content/models: type, the numbers above, whether the head is the embedding
MODELS: dict[str, tuple[str, tuple[int, ...], bool]] = {
    "qwen2.5-0.5b": ("qwen2", (896, 24, 14, 2, 4864, 151936), True),
    "qwen2.5-1.5b": ("qwen2", (1536, 28, 12, 2, 8960, 151936), True),
    "qwen2.5-7b": ("qwen2", (3584, 28, 28, 4, 18944, 152064), False),
    "qwen3-4b": ("qwen3", (2560, 36, 32, 8, 9728, 151936), True),
    "llama-3.1-8b": ("llama", (4096, 32, 32, 8, 14336, 128256), False),
}


@dataclass(frozen=True)
class Run:
    """One training: ``lengths`` are the rows of each step in turn, ``precision`` bf16 or mixed (fp32 weights under autocast or FSDP)."""

    model: str
    lengths: tuple[int, ...]
    rows: int = 1
    precision: str = "bf16"
    checkpointing: bool = True
    lora_rank: int = 0
    optimizer: str = "foreach"
    sharded: bool = False
    accumulation: int = 1

    @property
    def id(self) -> str:
        how = f"lora{self.lora_rank}" if self.lora_rank else "fsdp" if self.sharded else "full"
        rows = f"{self.rows}x{max(self.lengths)}" + ("-uneven" if len(set(self.lengths)) > 1 else "")
        kept = "" if self.checkpointing else "-kept"
        return f"{self.model}-{how}-{self.precision}-{rows}{kept}-{self.optimizer}-{self.accumulation}"


class Requests(TorchDispatchMode):
    """Each storage that an operator makes and drops, in order: its number, its bytes, and a name where a pass begins."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[tuple[int, int] | str] = []
        self._known: dict[int, tuple[weakref.ref, int, int]] = {}
        self._made = 0

    def __enter__(self) -> Requests:
        plain = torch.UntypedStorage.resize_

        def resize(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
            resized = plain(storage, size)
            if known := self._known.get(storage._cdata):
                self.order.append((known[1], size))
            return resized

        self._plain, torch.UntypedStorage.resize_ = plain, resize  # FSDP empties and fills its gathered units by it
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        torch.UntypedStorage.resize_ = self._plain

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        tree_map_only(torch.Tensor, self._see, out)
        return out

    def mark(self, name: str) -> None:
        self.order.append(name)

    def _see(self, tensor: torch.Tensor) -> None:
        if isinstance(tensor, dist.tensor.DTensor):
            tensor = tensor._local_tensor
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        self._made += 1
        number = self._made

        def gone(_: object) -> None:
            del self._known[key]
            self.order.append((number, 0))

        self._known[key] = (weakref.ref(storage, gone), number, 0)
        self.order.append((number, storage.nbytes()))


class Flash(torch.autograd.Function):
    """Attention that takes what FlashAttention takes.

    (flash-attention 2.8 flash_attn/flash_attn_interface.py, csrc/flash_attn/flash_api.cpp: mha_bwd sums query gradients in fp32)
    """

    @staticmethod
    def forward(ctx, query, key, value):  # type: ignore[no-untyped-def]
        out, sums = torch.empty_like(query), query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, out, sums)
        return out

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        query, key, value, _, sums = ctx.saved_tensors
        added = (torch.empty_like(query, dtype=torch.float32), torch.empty_like(sums))
        found = tuple(torch.empty_like(one) for one in (query, key, value))
        del added
        return found


def flash(module, query, key, value, mask, **_):  # type: ignore[no-untyped-def]
    return Flash.apply(*(one.transpose(1, 2).to(torch.bfloat16) for one in (query, key, value))), None


transformers.AttentionInterface.register("flash", flash)


def made(run: Run, mesh: dist.DeviceMesh) -> torch.nn.Module:
    """The model on its card, adapted or sharded."""
    kind, numbers, tied = MODELS[run.model]
    shape = dict(zip(NAMES, numbers, strict=True))
    config = transformers.AutoConfig.for_model(kind, **shape, tie_word_embeddings=tied)
    config._attn_implementation = "flash"
    stored = torch.bfloat16 if run.precision == "bf16" else torch.float32
    model = transformers.AutoModelForCausalLM.from_config(config, torch_dtype=stored)
    if run.lora_rank:
        from peft import LoraConfig, get_peft_model

        with mock.patch.object(
            torch.nn.Module, "to", lambda module, *_, **__: module
        ):  # all is there; fake tensors move no parameter
            model = get_peft_model(model, LoraConfig(r=run.lora_rank, target_modules="all-linear", lora_dropout=0.0))
        model.enable_input_require_grads()
    if run.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if run.sharded:
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
    return model.train()


def requests(run: Run) -> list[tuple[int, int] | str]:
    """What a card's allocator is asked for, from the model's making to the last step."""
    mesh = dist.init_device_mesh("cpu", (CARDS,))  # its numbers are real
    casts = (run.precision == "mixed" and not run.sharded) or run.lora_rank
    with FakeTensorMode(allow_non_fake_inputs=True), Requests() as seen:
        model = made(run, mesh)
        how = {"foreach": {"foreach": True}, "fused": {"fused": True}}[run.optimizer]
        adam = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], **how)
        for length in run.lengths:
            for _ in range(run.accumulation):
                ids = torch.zeros((run.rows, length), dtype=torch.int64)
                seen.mark("actor_update")
                with torch.autocast("cpu", torch.bfloat16) if casts else nullcontext():
                    loss = model(input_ids=ids, labels=ids, use_cache=False).loss
                loss.backward()
                del loss
            seen.mark("optimizer_step")
            adam.step()
            adam.zero_grad(set_to_none=True)
            seen.mark("")
        return list(seen.order)


def peaks(order: list[tuple[int, int] | str]) -> dict[str, int]:
    """The most that lives in each pass once Adam's state is there."""
    lives: dict[int, int] = {}
    now, name, steps, found = 0, "", 0, {"actor_update": 0, "optimizer_step": 0}
    for one in order:
        if isinstance(one, str):
            steps += name == "optimizer_step"
            name = one
        else:
            number, size = one
            now += size - lives.pop(number, 0)
            if size:
                lives[number] = size
        if name and steps:
            found[name] = max(found[name], now)
    return found


def reserved(order: list[tuple[int, int] | str]) -> int:
    """What torch's allocator has taken from the card when the last step is done; what made the model was not on the card."""
    card, lives, sizes = Allocator(), dict[int, Block](), dict[int, int]()
    begun = False
    for one in order:
        if isinstance(one, str):
            if not begun:
                lives = {number: card.take(size) for number, size in sizes.items()}
            begun = True
            continue
        number, size = one
        if not begun:
            sizes.pop(number, None)
            sizes |= {number: size} if size else {}
            continue
        if number in lives:
            card.give(lives.pop(number))
        if size:
            lives[number] = card.take(size)
    return card.reserved


def runs() -> Iterator[Run]:
    """Lengths of 512 to 16k, several rows, kept and recomputed layers, adapters, shards, both kinds of Adam, rows of many lengths."""
    for model in MODELS:
        base = Run(model, (2048,) * 2)
        yield base
        yield replace(base, lengths=(512,) * 2, rows=4, checkpointing=False, optimizer="fused")
        yield replace(base, lengths=(8192,) * 2, precision="mixed")
        yield replace(base, lengths=(4096,) * 2, lora_rank=16)
        yield replace(base, lengths=(1024,) * 2, rows=8, lora_rank=64, checkpointing=False)
        yield replace(base, lengths=(4096,) * 2, precision="mixed", sharded=True)
        yield replace(base, lengths=(16384,) * 2, precision="mixed", sharded=True, optimizer="fused")
        yield replace(base, lengths=(2048,) * 2, precision="mixed", sharded=True, accumulation=2, rows=2)
    uneven = (1311, 640, 2048, 377, 911, 1650, 1024, 1999, 512, 1780, 845, 1402)
    for model in ("qwen2.5-0.5b", "qwen2.5-7b", "llama-3.1-8b"):
        yield Run(model, uneven)
        yield Run(model, uneven, lora_rank=16)
        yield Run(model, uneven, precision="mixed", sharded=True)


def written(run: Run, measure: Callable[[Run], list[tuple[int, int] | str]] = requests) -> str:
    order = measure(run)
    values = {
        name: getattr(run, name) for name in ("model", "rows", "precision", "lora_rank", "optimizer", "accumulation")
    }
    values |= {"length": max(run.lengths), "mean": sum(run.lengths) // len(run.lengths)}
    values |= {name: str(getattr(run, name)).lower() for name in ("checkpointing", "sharded")}
    lines = [
        f'{name} = "{value}"' if isinstance(value, str) and value not in ("true", "false") else f"{name} = {value}"
        for name, value in values.items()
    ]
    found = peaks(order) | {"reserved": reserved(order)}
    print(run.id, {name: round(size / 2**30, 2) for name, size in found.items()}, flush=True)
    return "\n".join(["[[point]]", f'id = "{run.id}"', *lines, *(f"{name} = {size}" for name, size in found.items())])


def main() -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=CARDS)
    head = [
        "# Written by benchmarks/oracle_scale.py; sizes in bytes.",
        "[from]",
        *(f'{package.__name__} = "{package.__version__}"' for package in (torch, transformers)),
        f'date = "{datetime.datetime.now(datetime.UTC).date()}"',
    ]
    OUT.write_text("\n\n".join(["\n".join(head), *map(written, runs())]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
