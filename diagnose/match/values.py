"""Values side by side: what an equal fact is worth, and when two values are equal."""

from __future__ import annotations

import re
from collections.abc import Callable

from diagnose.vocabulary import NUMBERS, Value

# What one equal fact is worth. Printed figures are worth most: two runs hardly ever print the same one, but for a card's total.
WEIGHTS = {
    "oom_kind": 3.0,
    "phase": 2.5,
    "framework": 2.5,
    "model": 2.0,
    "params_b": 1.5,
    "gpu_mem_gib": 1.0,
    "gpu_model": 0.5,
    "algo": 1.0,
    "full_or_lora": 1.0,
    "n_gpus": 1.0,
    "host_ram_gb": 1.0,
    "strategy": 0.5,
    "zero_stage": 0.5,
    "rollout_engine": 0.5,
    "rollout_mode": 0.7,
    "sleep_level": 0.5,
    "param_offload": 0.7,
    "optimizer_offload": 0.7,
    "ref_offload": 0.5,
    "gradient_checkpointing": 0.5,
}
PRINTED = {id: 0.5 if id == "gpu_total_gib" else 2.5 for id in NUMBERS if id != "step"}
# Sizes are told in round numbers: 7 and 7.6 billion are the same model size, 80 and 79.2 the same card.
_TOLERANCE = {"params_b": 0.15, "gpu_mem_gib": 0.06, "host_ram_gb": 0.06, "n_gpus": 0.0}
_PRINTED_TOLERANCE = 0.001

_DIGITS = re.compile(r"[\d.]+")


def plain(id: str, value: Value) -> Value:
    if id == "model":
        return model_name(str(value))
    return value.strip().lower() if isinstance(value, str) else value


def model_name(name: str) -> str:
    """A model's name for comparison: no organisation, no tuning word, no separators; ``Qwen/Qwen2.5-7B-Instruct`` → ``qwen2.57b``."""
    short = name.lower().rstrip("/").split("/")[-1]
    short = re.sub(r"[-_](instruct|chat|base|it|hf|1m|\d{4})(?=$|[-_])", "", short)
    return re.sub(r"[^a-z0-9.]", "", short)


def equality(id: str) -> Callable[[Value, Value], bool]:
    if id in PRINTED:
        return lambda here, there: _near(here, there, _PRINTED_TOLERANCE)
    if id in _TOLERANCE:
        return lambda here, there: _near(here, there, _TOLERANCE[id])
    if id == "model":
        return lambda here, there: here == there
    return lambda here, there: here == there or str(here).lower() == str(there).lower()


def _near(here: Value, there: Value, tolerance: float) -> bool:
    if isinstance(here, str) or isinstance(there, str):
        return False
    return abs(here - there) <= tolerance * max(abs(here), abs(there))


def config_key(key: str) -> str:
    return key.lstrip("-+").lower().replace("-", "_")


def config_value(value: Value) -> str:
    word = str(value).strip().strip("'\"").lower()
    return f"{float(word):g}" if _DIGITS.fullmatch(word) and word.count(".") < 2 and word != "." else word
