"""Replay torch's caching allocator over training steps whose rows differ in length, and write tests/data/replayed_allocator.toml.

    python benchmarks/allocator.py

The rules for large blocks are those of torch 2.1 c10/cuda/CUDACachingAllocator.cpp: a request takes the smallest free block that
holds it (get_free_block), what is left over 1 MiB of it stays a block (should_split), else new memory comes from the card in steps of
2 MiB, of 20 MiB below 10 MiB (get_allocation_size), and free neighbours of one piece are joined (free_block). Steps are those of
adapters on a frozen decoder with recomputed layers, its loss over fp32 copies of all logits (transformers 4.36
models/llama/modeling_llama.py). Needs no packages and takes four minutes.
"""

from __future__ import annotations

import bisect
import math
import pathlib
import random
from collections.abc import Callable
from dataclasses import dataclass

OUT = pathlib.Path(__file__).parent.parent / "tests" / "data" / "replayed_allocator.toml"
MIB = 1 << 20
SEEDS = range(5)


class Block:
    """A part of one piece of card memory, between its neighbours of the same piece."""

    __slots__ = ("after", "before", "free", "key", "size")

    def __init__(self, size: int, before: Block | None = None, after: Block | None = None) -> None:
        self.size, self.before, self.after, self.free = size, before, after, False
        self.key = (size, 0)


class Allocator:
    """Blocks by size; ``reserved`` is what was taken from the card, ``most`` the most that was in use."""

    def __init__(self) -> None:
        self._free: list[tuple[tuple[int, int], Block]] = []
        self._made = 0
        self.reserved = self.used = self.most = 0

    def take(self, size: float) -> Block:
        wanted = max(512, -(-int(size) // 512) * 512)
        at = bisect.bisect_left(self._free, (wanted, 0), key=lambda one: one[0])
        block = self._free.pop(at)[1] if at < len(self._free) else self._from_card(wanted)
        block.free = False
        if block.size - wanted > MIB:
            rest = Block(block.size - wanted, block, block.after)
            if block.after:
                block.after.before = rest
            block.after, block.size = rest, wanted
            self._put(rest)
        self.used += block.size
        self.most = max(self.most, self.used)
        return block

    def give(self, *blocks: Block) -> None:
        for block in blocks:
            self.used -= block.size
            if block.before and block.before.free:
                self._join(block, block.before)
                block.before = block.before.before
                if block.before:
                    block.before.after = block
            if block.after and block.after.free:
                self._join(block, block.after)
                block.after = block.after.after
                if block.after:
                    block.after.before = block
            self._put(block)

    def _from_card(self, wanted: int) -> Block:
        size = 20 * MIB if wanted < 10 * MIB else -(-wanted // (2 * MIB)) * 2 * MIB
        self.reserved += size
        return Block(size)

    def _put(self, block: Block) -> None:
        self._made += 1
        block.free, block.key = True, (block.size, self._made)
        bisect.insort(self._free, (block.key, block), key=lambda one: one[0])

    def _join(self, block: Block, other: Block) -> None:
        self._free.pop(bisect.bisect_left(self._free, other.key, key=lambda one: one[0]))
        block.size += other.size


@dataclass(frozen=True)
class Decoder:
    hidden: int
    keys: int
    mlp: int
    layers: int
    vocab: int


def step(on: Allocator, model: Decoder, tokens: int) -> None:
    """Forward and backward pass of one row; what a step leaves behind is nothing."""
    stream = on.take(2 * model.hidden * tokens)
    inputs = []
    for _ in range(model.layers):
        inputs.append(stream)
        stream = _layer(on, model, tokens, keeps=None)
    gradient = _loss(on, model, tokens, stream)
    for given in reversed(inputs):
        kept: list[Block] = []
        on.give(_layer(on, model, tokens, keeps=kept))
        gradient = _layer_backward(on, model, tokens, kept, gradient)
        on.give(given)
    on.give(gradient)


def _layer(on: Allocator, model: Decoder, tokens: int, keeps: list[Block] | None) -> Block:
    """One layer's output. What its backward pass needs goes to ``keeps``; without it all is given back as it is used up."""
    h, k, f = (2 * width * tokens for width in (model.hidden, model.keys, model.mlp))
    done: Callable[..., None] = on.give if keeps is None else lambda *blocks: keeps.extend(blocks)
    normed = _norm(on, h, done)
    heads = [on.take(size) for size in (h, k, k)]
    turned = [on.take(size) for size in (h, k)]
    on.give(*heads[:2])
    done(normed)
    seen = on.take(h)
    out = on.take(h)
    done(*turned, heads[2], seen)
    middle = on.take(h)
    on.give(out)
    normed = _norm(on, h, done)
    gate, up = on.take(f), on.take(f)
    active = on.take(f)
    product = on.take(f)
    done(normed, gate, up, active)
    down = on.take(h)
    done(product)
    stream = on.take(h)
    on.give(down)
    done(middle)
    return stream


def _norm(on: Allocator, h: int, done: Callable[..., None]) -> Block:
    """RMSNorm in fp32, back in bf16, times its weight."""
    wide = on.take(2 * h)
    squares = on.take(2 * h)
    on.give(squares)
    scaled = on.take(2 * h)
    done(wide)
    narrow = on.take(h)
    on.give(scaled)
    normed = on.take(h)
    on.give(narrow)
    return normed


def _loss(on: Allocator, model: Decoder, tokens: int, stream: Block) -> Block:
    """Logits in bf16, in fp32, shifted, log-probs; then their gradients back to the last layer's output."""
    narrow, wide, h = 2 * model.vocab * tokens, 4 * model.vocab * tokens, 2 * model.hidden * tokens
    normed = _norm(on, h, on.give)
    first = on.take(narrow)
    logits = on.take(wide)
    on.give(first)
    shifted = on.take(wide)
    log_probs = on.take(wide)
    on.give(shifted, logits)
    chosen = on.take(wide)
    shares = on.take(wide)
    on.give(chosen, log_probs)
    whole = on.take(wide)
    on.give(shares)
    last = on.take(narrow)
    on.give(whole)
    gradient = on.take(h)
    on.give(last, normed, stream)
    return gradient


def _layer_backward(on: Allocator, model: Decoder, tokens: int, kept: list[Block], gradient: Block) -> Block:
    """The gradient of the layer's input; all that the layer kept is given back."""
    h, f = 2 * model.hidden * tokens, 2 * model.mlp * tokens
    product = on.take(f)
    both = [on.take(f), on.take(f)]
    on.give(product)
    summed = [on.take(h), on.take(h)]
    on.give(*both)
    wide = on.take(2 * h)
    on.give(*summed)
    heads = [on.take(h) for _ in range(3)]
    on.give(wide)
    below = on.take(h)
    on.give(*heads, *kept, gradient)
    return below


MODELS = {
    "6B, 64,000 words": Decoder(4096, 512, 11008, 32, 64000),
    "7B, 152,064 words": Decoder(3584, 512, 18944, 28, 152064),
    "0.6B, 151,936 words": Decoder(1024, 1024, 3072, 28, 151936),
}


def rows(seed: int, number: int, mean: float, deviation: float, limit: int) -> list[int]:
    """Log-normal lengths of a data set, those above the limit dropped."""
    dice, spread = random.Random(seed), math.log(1 + (deviation / mean) ** 2)
    lengths = (int(dice.lognormvariate(math.log(mean) - spread / 2, math.sqrt(spread))) for _ in range(number))
    return [length for length in lengths if 64 <= length <= limit]


SETS = {
    "all of 2,048": lambda seed: [2048] * 20,
    "mean 500, deviation 350, to 2,048": lambda seed: rows(seed, 400, 500, 350, 2048),
    "mean 1,500, deviation 1,200, to 2,048": lambda seed: rows(seed, 500, 1500, 1200, 2048),
    "mean 1,500, deviation 1,200, to 8,192": lambda seed: rows(seed, 400, 1500, 1200, 8192),
}


# rows of two points that a real card has measured with adapters (benchmarks/trainers/run_card.py: UNEVEN), and their models
CARD_ROWS = [1311, 640, 2048, 377, 911, 1650, 1024, 1999, 512, 1780, 845, 1402]
CARD = {
    "qwen2.5-0.5b-lora16-bf16-1x2048-uneven-foreach-1": Decoder(896, 128, 4864, 24, 151936),
    "qwen2.5-7b-lora16-bf16-1x2048-uneven-foreach-1": MODELS["7B, 152,064 words"],
}


def beyond(model: Decoder, lengths: list[int]) -> float:
    """Reserved less the most in use, as a multiple of 12 bytes for each logit of the longest row."""
    on = Allocator()
    for tokens in lengths:
        step(on, model, tokens)
    return (on.reserved - on.most) / (12 * model.vocab * max(lengths))


def main() -> None:
    lines = ["# Written by benchmarks/allocator.py: reserved beyond the most in use, as a multiple of the logits."]
    for name, model in MODELS.items():
        for lengths, make in SETS.items():
            found = sorted(round(beyond(model, make(seed)), 2) for seed in SEEDS)
            lines += ["", "[[run]]", f'model = "{name}"', f'rows = "{lengths}"', f"beyond = {found}"]
            print(name, lengths, found, flush=True)
    for point, model in CARD.items():
        lines += ["", "[[on_card]]", f'point = "{point}"', f"beyond = {round(beyond(model, CARD_ROWS), 2)}"]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
