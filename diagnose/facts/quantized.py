"""Weights that come quantized: the name of the model says so, and adapters are trained on them as they are."""

from __future__ import annotations

import re

from diagnose.types import Fact

# marks at the end of names on both hubs: Qwen2.5-7B-Instruct-AWQ, -GPTQ-Int4, -GPTQ-Int8, -bnb-4bit, -NVFP4
_MARK = re.compile(
    r"[-_](?:(?P<nf4>bnb[-_]4bit)|(?P<int8>(?:gptq[-_])?int8)|(?P<int4>awq|gptq|int4)|(?P<nvfp4>nvfp4))(?![a-z0-9])",
    re.I | re.A,
)
_ADAPTERS = ("lora", "qlora")


def with_quantized(stated: dict[str, Fact]) -> dict[str, Fact]:
    """The facts with what the base is quantized to where only adapters are trained and no key says it."""
    model, training = stated.get("model"), stated.get("full_or_lora")
    told = stated.get("quantization")
    if model is None or training is None or training.value not in _ADAPTERS or (told and told.value != "none"):
        return stated
    found = _MARK.search(str(model.value))
    if found is None or found.lastgroup is None:
        return stated
    why = f"the name {model.value}"
    return {**stated, "quantization": Fact("quantization", found.lastgroup, "derived", why=why)}
