"""Answers that no run can have together, or that the run's model denies: what is counted is said, and what is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnose.batch import whole
from diagnose.knowledge.hardware import Model
from diagnose.types import Fact
from diagnose.vocabulary import FACTS

_APART = 1.35  # names round, and leave out a tower or a head: “7B” of 7.6, or of 8.3 with one
_FEW_BITS = "A base of few bits is not trained itself"


def at_odds(stated: Mapping[str, Fact], model: Model | None) -> Iterator[str]:
    """What a person should know of answers that do not go together; a paste alone tells of runs that did start."""
    values = {id: fact.value for id, fact in stated.items()}
    answered = {id for id, fact in stated.items() if fact.origin == "answered"}
    training, base, rank = (values.get(id) for id in ("full_or_lora", "quantization", "lora_rank"))
    if answered & {"full_or_lora", "quantization"} and {"full_or_lora", "quantization"} <= _certain(stated):
        if training == "full" and base != "none":
            yield f"{_FEW_BITS}: with full parameters the weights are counted in 16 bits or more, not in {base}."
        if training == "qlora" and base == "none":
            yield f"{_FEW_BITS}, and QLoRA has one: it is counted with nf4. With 16 bits the training is LoRA."
    if "lora_rank" in answered and training == "full" and rank:
        yield f"LoRA rank {rank} is of no run that trains full parameters: no adapters are counted."
    if model is not None:
        yield from _of_model(stated, answered, model)
    gpus, nodes = whole(values, "n_gpus"), whole(values, "n_nodes")
    if gpus and nodes and answered & {"n_gpus", "n_nodes"} and gpus % nodes:
        yield f"{gpus} GPUs do not divide by {nodes} nodes: {FACTS['n_gpus'].title} counts those of all nodes together."


def _of_model(stated: Mapping[str, Fact], answered: set[str], model: Model) -> Iterator[str]:
    size, spread = stated.get("params_b"), stated.get("ep")
    if size is not None and "params_b" in answered and isinstance(size.value, int | float):
        billions = model.published / 1e9
        if not 1 / _APART <= float(size.value) / billions <= _APART:
            yield (
                f"{model.title} has {billions:.3g} billion parameters, and not {size.value}: its own shape is counted. For another model "
                "give its name, or leave the name out."
            )
    if spread is not None and spread.certain and isinstance(spread.value, int) and spread.value > 1 and not model.moe:
        yield f"{model.title} has no experts: {spread.key or FACTS['ep'].title} {spread.value} spreads nothing."


def _certain(stated: Mapping[str, Fact]) -> set[str]:
    return {id for id, fact in stated.items() if fact.certain}
