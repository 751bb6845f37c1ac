"""Answers that no run can have together, or that the run's model denies: what is counted is said, and what is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnose.batch import whole
from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Model
from diagnose.types import Fact, Paste
from diagnose.vocabulary import FACTS

_APART = 1.35  # names round, and leave out a tower or a head: “7B” of 7.6, or of 8.3 with one
_ROUNDED = 0.12  # what the driver shows is a little less than what is sold
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
    size, printed = values.get("gpu_mem_gib"), values.get("gpu_total_gib")
    told = "gpu_mem_gib" in answered and isinstance(size, int | float) and isinstance(printed, int | float)
    if told and abs(float(size) - float(printed)) > _ROUNDED * float(printed):  # type: ignore[arg-type]
        yield f"{size} GB is answered, and the message prints a card of {printed} GiB: the estimate is held against the message."
    gpus, nodes = whole(values, "n_gpus"), whole(values, "n_nodes")
    if gpus and nodes and answered & {"n_gpus", "n_nodes"} and gpus % nodes:
        yield f"{gpus} GPUs do not divide by {nodes} nodes: {FACTS['n_gpus'].title} counts those of all nodes together."


def of_another_trainer(answered: Fact | None, paste: Paste, knowledge: Knowledge) -> Iterator[str]:
    """What is said where a command starts another trainer than the one that is answered: its settings are not those of the answer."""
    started = [" ".join(command.words) for command in paste.commands]
    known = [one for one in knowledge.frameworks.values() if not one.fallback]
    shown = [one for one in known if any(mark in words for words in started for mark in one.detect.commands)]
    if answered is None or not shown or any(str(answered.value) == one.slug for one in shown):
        return
    if any(fork.id == answered.value for one in shown for fork in one.forks):
        return
    titles = " or ".join(one.title for one in shown)
    yield (
        f"The command starts {titles}, and {answered.written or answered.value} is answered: settings are read as those of the answer, so "
        "that what it has no key for is left out."
    )


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
