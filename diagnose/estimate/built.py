"""The model as a trainer builds it: from its record, or from a size where only that is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from diagnose.batch import Values, whole
from diagnose.estimate.stand_in import shape_from_params, sparse_from_params
from diagnose.knowledge.hardware import Model, Moe
from diagnose.types import Facts
from diagnose.vocabulary import Value

# 30B-A3B: 30 billion parameters, 3 of them for a token
_ACTIVE = re.compile(r"[-_]A(\d+(?:\.\d+)?)B(?![A-Za-z])", re.I)


def run_model(facts: Facts) -> Model | None:
    """The run's model: of the catalogue, else a stand-in of the stated size, sparse where the name says how much a token takes."""
    size = facts.number("params_b")
    if facts.model or not size:
        return facts.model
    active = _ACTIVE.search(str(facts.values.get("model", "")))
    return (sparse_stand_in(size, float(active[1])) if active else None) or stand_in(size)


def as_trained(model: Model, does: Mapping[str, Value], values: Values) -> Model:
    """The model as this trainer builds it: with a head of its own, with the layers that predict further tokens, with experts that are
    one tensor, which alone a quantizer has to be told of."""
    if does.get("head_of_its_own") == "yes":
        model = headed(model, tied=False)
    if values.get("experts_quantized") is True and model.moe and not model.moe.stacked:
        model = _stacked(model, model.moe)
    further = whole(values, "mtp_layers")
    return _lengthened(model, further) if further else model


@lru_cache(maxsize=64)
def headed(model: Model, tied: bool) -> Model:
    """The model with or without a head of its own."""
    return replace(model, tied=tied)


@lru_cache(maxsize=64)
def _stacked(model: Model, moe: Moe) -> Model:
    """The model with its experts as one tensor, as transformers 5 makes them, so that adapters on linear layers leave them out.

    (Axolotl@067b021 docs/expert_quantization.qmd)
    """
    return replace(model, moe=replace(moe, stacked=True))


@lru_cache(maxsize=64)
def with_all_experts(model: Model) -> Model:
    """The model as transformers' own layer runs it, where that sends each token through all experts."""
    moe = model.moe
    return replace(model, moe=replace(moe, active=moe.experts)) if moe and moe.through_all else model


@lru_cache(maxsize=64)
def _lengthened(model: Model, further: int) -> Model:
    """The model with further layers behind the last, each with attention and the experts of the others.

    What joins a hidden state and the next token's embedding before it, 2 h x h, is left out
    (Megatron-LM core/transformer/multi_token_prediction.py: MultiTokenPredictionLayer).
    """
    attends, mlps = (number and number + further for number in (model.attention_layers, model.mlp_layers))
    return replace(model, layers=model.layers + further, attention_layers=attends, mlp_layers=mlps)


@lru_cache(maxsize=64)
def sparse_stand_in(params_b: float, active_b: float) -> Model | None:
    return sparse_from_params(params_b, active_b)


@lru_cache(maxsize=64)
def stand_in(params_b: float) -> Model | None:
    return shape_from_params(params_b)
