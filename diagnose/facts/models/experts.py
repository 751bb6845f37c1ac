"""A mixture of experts by its sizes alone, “30B-A3B 在 16 张卡上跑”: the plainest of the catalogue is assumed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.facts.sentences.prose import span_of
from diagnose.knowledge.hardware import Model, Models
from diagnose.types import Fact, Line

_SIZES = re.compile(r"(?<![\w./-])(?P<sizes>\d{1,3}(?:\.\d)?B-A\d{1,2}(?:\.\d)?B)(?![A-Za-z0-9/])", re.I | re.A)
# a name right before the sizes is the family's: “GLM 106B-A12B”
_NAMED = re.compile(r"(?P<word>[A-Za-z][\w.-]*)\s$", re.A)
_BEFORE = frozenset((
    "the", "a", "an", "our", "my", "train", "training", "run", "running", "use", "using", "with",
    "on", "of", "for", "model", "moe", "grpo", "ppo", "dpo", "sft", "lora", "qlora", "full",
))  # fmt: skip


def by_sizes(speech: Sequence[Line], models: Models) -> tuple[dict[str, Fact], Model | None]:
    """The size that the words tell, and the model of the catalogue that adds least to it, as an assumption."""
    found = [(line, match) for line in speech for match in _SIZES.finditer(line.words)]
    if len({match["sizes"].lower() for _, match in found}) != 1:
        return {}, None
    line, match = found[0]
    total = float(match["sizes"].lower().partition("b")[0])
    size = Fact(
        "params_b", int(total) if total.is_integer() else total, "read", written=match[0], span=span_of(line, match)
    )
    named = _NAMED.search(line.words[: match.start()])
    if named and named["word"].lower() not in _BEFORE:
        return {"params_b": size}, None
    same = [model for model in models if model.title.lower().endswith(f"-{match['sizes'].lower()}")]
    model = min(same, key=lambda one: len(one.title), default=None)
    if model is None:
        return {"params_b": size}, None
    why = "told by its sizes alone: of the models with these the one with the plainest name"
    return {
        "params_b": size,
        "model": Fact("model", model.title, "assumed", written=match[0], span=size.span, why=why),
    }, model
