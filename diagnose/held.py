"""What a program that trains nothing holds: the weights of its model in 16 bits."""

from __future__ import annotations

from diagnose.types import Facts
from diagnose.units import from_gib

_SIXTEEN_BITS = 2
# marks in a name that say that the weights are stored in fewer bits
_FEWER = ("awq", "gptq", "bnb", "4bit", "8bit", "int4", "int8", "fp8", "gguf", "mxfp4", "nvfp4")


def parameters(facts: Facts) -> float | None:
    """All parameters of the model, as published or as its name says."""
    billions = facts.number("params_b")
    return facts.model.published if facts.model else billions * 1e9 if billions else None


def weights(facts: Facts) -> float | None:
    """Bytes of all parameters in 16 bits; None where the name or a key says that they are held in fewer."""
    count = parameters(facts)
    fewer = facts.values.get("quantization", "none") != "none"
    if count is None or fewer or any(mark in str(facts.values.get("model", "")).lower() for mark in _FEWER):
        return None
    return count * _SIXTEEN_BITS


def weights_fit(facts: Facts) -> bool | None:
    """Whether they take less than one card, of a program that trains nothing; None where that cannot be told."""
    card, size = facts.number("gpu_total_gib") or facts.number("gpu_mem_gib"), weights(facts)
    if facts.values.get("trains") is not False or card is None or size is None:
        return None
    return size < from_gib(card)
