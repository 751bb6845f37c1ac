"""Weights that come quantized: the name of the model says so, and adapters are trained on them as they are."""

from __future__ import annotations

import re

from diagnose.types import Fact

# marks at the end of names on both hubs: Qwen2.5-7B-Instruct-AWQ, -GPTQ-Int4, -GPTQ-Int8, -bnb-4bit, -NVFP4
_MARK = re.compile(
    r"[-_](?:(?P<nf4>bnb[-_]4bit)|(?P<int8>(?:gptq[-_])?int8)|(?P<int4>awq|gptq|int4)|(?P<nvfp4>nvfp4)|(?P<fp8>fp8))(?![a-z0-9])",
    re.I | re.A,
)
_OF_ENGINES = ("nf4", "int8", "int4", "fp8")
_ADAPTERS = ("lora", "qlora")


def with_quantized(stated: dict[str, Fact]) -> dict[str, Fact]:
    """The facts with what the base is quantized to where only adapters are trained and no key says it, and the other way round.

    An engine that runs alone takes the weights as they are too.
    """
    model, training, base = stated.get("model"), stated.get("full_or_lora"), stated.get("quantization")
    told = base is not None and base.value != "none"
    default = training is None or (training.origin == "default" and training.value != "qlora")
    if base is not None and base.certain and told and default:
        why = "weights of so few bits are not trained themselves"
        return {**stated, "full_or_lora": Fact("full_or_lora", "qlora", "derived", why=why)}
    trains, engine = stated.get("trains"), "engine_quantization"
    if model and trains and trains.value is False and engine not in stated:
        found = _MARK.search(str(model.value))
        few = found.lastgroup if found and found.lastgroup in _OF_ENGINES else None
        return {**stated, engine: Fact(engine, few, "derived", why=f"the name {model.value}")} if few else stated
    if model is None or training is None or training.value not in _ADAPTERS or told:
        return stated
    found = _MARK.search(str(model.value))
    if found is None or found.lastgroup in (None, "fp8"):
        return stated
    why = f"the name {model.value}"
    return {**stated, "quantization": Fact("quantization", found.lastgroup, "derived", why=why)}
