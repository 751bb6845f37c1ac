"""Weights that come quantized: the name of the model says so, and adapters are trained on them as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from diagnose.knowledge.hardware import Model
from diagnose.types import Fact

# marks at the end of names on both hubs: Qwen2.5-7B-Instruct-AWQ, -GPTQ-Int4, -GPTQ-Int8, -bnb-4bit, -NVFP4
_MARK = re.compile(
    r"[-_](?:(?P<nf4>bnb[-_]4bit)|(?P<int8>(?:gptq[-_])?int8)|(?P<int4>awq|gptq|int4)|(?P<nvfp4>nvfp4)|(?P<fp8>fp8))(?![a-z0-9])",
    re.I | re.A,
)
_IN_16_BITS = re.compile(r"[-_]bf16(?![a-z0-9])", re.I | re.A)
_OF_ENGINES = ("nf4", "int8", "int4", "fp8")
_ADAPTERS = ("lora", "qlora")
_PUBLISHED = "published"  # what a framework's record says of an engine that keeps the checkpoint's own bits


def with_quantized(stated: dict[str, Fact], record: Model | None) -> dict[str, Fact]:
    """The facts with what the base is quantized to where only adapters are trained and no key says it, and the other way round.

    An engine that runs alone takes the weights as they are too, and so does one whose trainer says so.
    """
    model, training, base = stated.get("model"), stated.get("full_or_lora"), stated.get("quantization")
    told = base is not None and base.value != "none"
    default = training is None or (training.origin == "default" and training.value != "qlora")
    if base is not None and base.certain and told and default:
        why = "weights of so few bits are not trained themselves"
        return {**stated, "full_or_lora": Fact("full_or_lora", "qlora", "derived", why=why)}
    trains = stated.get("trains")
    engine = stated.get("engine_quantization")
    if model and ((trains and trains.value is False) or (engine and engine.value == _PUBLISHED)):
        return _as_served(stated, str(model.value), record)
    if model is None or training is None or training.value not in _ADAPTERS or told:
        return stated
    found = _MARK.search(str(model.value))
    if found is None or found.lastgroup in (None, "fp8"):
        return stated
    why = f"the name {model.value}"
    return {**stated, "quantization": Fact("quantization", found.lastgroup, "derived", why=why)}


def with_low_bits(stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts with QLoRA where adapters are told in one place and a base of few bits in another: both are one way of training."""
    training, base = stated.get("full_or_lora"), stated.get("quantization")
    if training is None or training.value != "lora" or base is None or not base.certain or base.value == "none":
        return dict(stated)
    return {**stated, "full_or_lora": replace(training, value="qlora")}


def _as_served(stated: dict[str, Fact], name: str, record: Model | None) -> dict[str, Fact]:
    """With the bits in which an engine loads the weights, by the model's name, else as they are published."""
    told, id = stated.get("engine_quantization"), "engine_quantization"
    if told is not None and told.value == _PUBLISHED:
        told, stated = None, {one: fact for one, fact in stated.items() if one != id}
    elif told is not None and told.value != "other":
        return stated
    found = _MARK.search(name)
    if found and found.lastgroup in _OF_ENGINES:
        return {**stated, id: Fact(id, found.lastgroup, "derived", why=f"the name {name}")}
    if record is None or not record.published_in or told or _IN_16_BITS.search(name):
        return stated
    return {**stated, id: Fact(id, record.published_in, "derived", why=f"{record.title} is published so")}
