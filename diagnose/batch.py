"""From the numbers that people write to the numbers that a GPU sees: batch units, data-parallel size, rows held.

A framework file says which unit a key is written in; here each unit goes both ways, so that a lever that halves what one
GPU takes can be told as a value of the person's own key. Sources: research on each framework's own arithmetic, named in its file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from diagnose.units import GIB, MIB
from diagnose.vocabulary import Value

if TYPE_CHECKING:
    from diagnose.types import Fact

# 32 x 32 of Qwen3-VL, whose processor was the first to count an image in tokens (qwen-vl-utils 0.0.14 vision_process.py)
_PIXELS_PER_TOKEN = 1024
_PASSES_OF_A_STEP = (
    "micro_batch",
    "logprob_micro_batch",
    "ref_logprob_micro_batch",
    "values_micro_batch",
    "critic_micro_batch",
)
Values = Mapping[str, Value]
Convert = Callable[[float, Values], float | None]


def whole(values: Values, id: str) -> int | None:
    """A whole number that is known and at least 1, else None."""
    value = values.get(id)
    if value is None:
        return None
    if type(value) is int:  # and no yes or no
        return value if value >= 1 else None
    return int(value) if isinstance(value, float) and value >= 1 else None


def data_parallel(values: Values) -> int | None:
    """How many different micro batches are in flight: training GPUs over tensor, pipeline and sequence parallel sizes."""
    gpus = whole(values, "trainer_gpus")
    if gpus is None:
        return None
    split = (whole(values, "tp") or 1) * (whole(values, "pp") or 1) * (whole(values, "sp") or 1)
    return max(1, gpus // split)


def rows_met(values: Values) -> int | None:
    """Rows of a data set that all GPUs together take in the steps that the run is told to make; None where one of these is unknown."""
    told = [whole(values, id) for id in ("max_steps", "micro_batch", "gradient_accumulation")]
    steps = [number for number in told if number]
    return math.prod(steps) * (data_parallel(values) or whole(values, "n_gpus") or 1) if len(steps) == 3 else None


def longest_row(values: Values) -> int | None:
    """The limit of one row in tokens: prompt and response limits together, or the limit of a row."""
    prompt, response = whole(values, "prompt_length"), whole(values, "response_length")
    return prompt + response if prompt and response else whole(values, "max_length")


def _same(number: float, values: Values) -> float | None:
    return number


def _global_to_gpu(number: float, values: Values) -> float | None:
    ranks = data_parallel(values)
    return max(1, number // ranks) if ranks else None


def _gpu_to_global(number: float, values: Values) -> float | None:
    ranks = data_parallel(values)
    return number * ranks if ranks else None


def _global_times_n_to_gpu(number: float, values: Values) -> float | None:
    per_gpu, n = _global_to_gpu(number, values), whole(values, "rollout_n") or 1
    return per_gpu * n if per_gpu else None


def _gpu_to_global_times_n(number: float, values: Values) -> float | None:
    ranks, n = data_parallel(values), whole(values, "rollout_n") or 1
    return max(1, number // n) * ranks if ranks else None


def _rows_to_tokens(number: float, values: Values) -> float | None:
    row = longest_row(values)
    return number * row / (whole(values, "sp") or 1) if row else None


def _tokens_to_rows(number: float, values: Values) -> float | None:
    row = longest_row(values)
    return max(1, number * (whole(values, "sp") or 1) // row) if row else None


def _accumulated_to_pass(number: float, values: Values) -> float | None:
    return max(1, number // (whole(values, "gradient_accumulation") or 1))


def _pass_to_accumulated(number: float, values: Values) -> float | None:
    return number * (whole(values, "gradient_accumulation") or 1)


def _tokens_to_pixels(number: float, values: Values) -> float | None:
    return number * (whole(values, "pixels_per_token") or _PIXELS_PER_TOKEN)


def _bytes_to_gib(number: float, values: Values) -> float | None:
    return number / GIB


def _gib_to_bytes(number: float, values: Values) -> float | None:
    return round(number * GIB)


def _bytes_to_mib(number: float, values: Values) -> float | None:
    return number / MIB


def _mib_to_bytes(number: float, values: Values) -> float | None:
    return round(number * MIB)


def _pixels_to_tokens(number: float, values: Values) -> float | None:
    return max(1, number // (whole(values, "pixels_per_token") or _PIXELS_PER_TOKEN))


# unit: (written → what one GPU sees, what one GPU sees → written)
UNITS: dict[str, tuple[Convert, Convert]] = {
    "sequences_per_gpu": (_same, _same),
    "sequences_accumulated": (_accumulated_to_pass, _pass_to_accumulated),
    "tokens_per_gpu": (_same, _same),
    "prompts": (_same, _same),
    "global_sequences": (_global_to_gpu, _gpu_to_global),
    "global_sequences_times_n": (_global_times_n_to_gpu, _gpu_to_global_times_n),
    # the budget of so many longest rows is filled first and cut into sequence-parallel parts afterwards
    "max_length_rows": (_rows_to_tokens, _tokens_to_rows),
    # the budget counts a sequence before it is split; a GPU sees the budget itself, since both sides grow with sp
    "tokens_times_sp": (_same, _same),
    "image_tokens": (_tokens_to_pixels, _pixels_to_tokens),
    "bytes": (_bytes_to_gib, _gib_to_bytes),
    "bytes_of_mib": (_bytes_to_mib, _mib_to_bytes),
}


def to_written(number: float, unit: str, values: Values) -> float | None:
    """The number to write in ``unit`` so that one GPU sees ``number``; None when a fact that it needs is unknown."""
    return UNITS[unit][1](number, values) if unit else number


def rows_held(values: Values, prompts_id: str) -> int | None:
    """Sequences that one GPU holds of ``prompts_id`` prompts, all samples of a prompt counted; no pass can take more."""
    prompts, n, ranks = whole(values, prompts_id), whole(values, "rollout_n"), data_parallel(values)
    return max(1, prompts * n // ranks) if prompts and n and ranks else None


def resolve(stated: Mapping[str, Fact]) -> dict[str, Value]:
    """Every stated fact in its own unit, and what follows from them; a fact whose conversion lacks another is left out."""
    values: dict[str, Value] = {id: fact.value for id, fact in stated.items() if not fact.unit}
    _derive_machine(values)
    for id, fact in stated.items():
        if fact.unit and isinstance(fact.value, (int, float)):
            number = UNITS[fact.unit][0](fact.value, values)
            if number is not None:
                values[id] = int(number) if float(number).is_integer() else number
    told = "train_batch_size" in values
    _derive_prompts(values)
    _derive_adapters(values, stated)
    _cap(values, "mini_batch_size", ("micro_batch",))
    # prompts that follow from the micro batch, rounded down, do not make it smaller
    _cap(values, "train_batch_size", _PASSES_OF_A_STEP if told else _PASSES_OF_A_STEP[1:])
    return values


def _derive_machine(values: dict[str, Value]) -> None:
    nodes, per_node, gpus = whole(values, "n_nodes"), whole(values, "gpus_per_node"), whole(values, "n_gpus")
    if gpus is None and nodes and per_node:
        values["n_gpus"] = gpus = nodes * per_node
    if per_node is None and gpus and nodes and gpus % nodes == 0:
        values["gpus_per_node"] = gpus // nodes
    if gpus and "trainer_gpus" not in values:
        values["trainer_gpus"] = gpus


def _derive_prompts(values: dict[str, Value]) -> None:
    """Where micro batch and accumulation are the keys, the prompts of a step follow from them."""
    micro, steps, n, ranks = (
        whole(values, "micro_batch"),
        whole(values, "gradient_accumulation"),
        whole(values, "rollout_n"),
        data_parallel(values),
    )
    if "train_batch_size" not in values and micro and steps and n and ranks:
        values["train_batch_size"] = max(1, micro * steps * ranks // n)


def _derive_adapters(values: dict[str, Value], stated: Mapping[str, Fact]) -> None:
    """A rank that somebody sets makes it LoRA, where the kind of training is only a default."""
    rank, training = stated.get("lora_rank"), stated.get("full_or_lora")
    if (
        rank
        and rank.certain
        and whole(values, "lora_rank")
        and training
        and not training.certain
        and training.value == "full"
    ):
        values["full_or_lora"] = "lora"


def _cap(values: dict[str, Value], prompts_id: str, ids: tuple[str, ...]) -> None:
    held = rows_held(values, prompts_id)
    for id in ids:
        rows = whole(values, id)
        if held and rows and rows > held:
            values[id] = held
