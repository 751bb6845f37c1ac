"""What a person should know of how the paste was read, in a sentence each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from diagnose.batch import data_parallel, resolve, whole
from diagnose.facts.hardware.machine import gpu_of
from diagnose.facts.hardware.strange_cards import told_strange
from diagnose.facts.sentences.run_words import run_words
from diagnose.facts.settings.at_odds import at_odds
from diagnose.facts.settings.keys import KeyFacts
from diagnose.facts.settings.proven import Proofs
from diagnose.facts.trainer.framework import Detected
from diagnose.facts.whose_run.former import known_to_work
from diagnose.knowledge.hardware import Gpu, Model
from diagnose.types import Fact, Line
from diagnose.vocabulary import FACTS

# a size that somebody rounds is the card's all the same
_ROUNDED = 0.1
_ROWS = tuple(id for id, spec in FACTS.items() if spec.unit == "sequences per GPU")


def remarks(
    detected: Detected,
    version: Fact | None,
    keyed: KeyFacts,
    stated: Mapping[str, Fact],
    proven: Proofs,
    speech: Sequence[Line],
    gpus: Mapping[str, Gpu],
    model: Model | None = None,
) -> Iterator[str]:
    """All of them; ``speech`` are the lines that people wrote."""
    yield from _of_fork(detected, version, keyed)
    yield from _of_dead_keys(keyed)
    yield from keyed.remarks
    yield from _of_variables(keyed)
    yield from _of_part(stated)
    yield from _of_card(stated, gpu_of(stated, gpus))
    if "gpu_model" not in stated:
        yield from told_strange(speech, gpus)
    yield from _unlike(proven, keyed, speech)
    yield from _uneven(stated)
    yield from at_odds(stated, model)
    yield from known_to_work(speech)


def _of_card(stated: Mapping[str, Fact], gpu: Gpu | None) -> Iterator[str]:
    """A size in which the card is not sold: a part of one, or another card."""
    size = stated.get("gpu_mem_gib")
    if gpu is None or not gpu.sizes or size is None or not size.certain or not isinstance(size.value, int | float):
        return
    sold = sorted(float(one) for one in gpu.sizes)
    if all(abs(float(size.value) - one) > _ROUNDED * one for one in sold):
        told = " or ".join(f"{one:g}" for one in sold)
        less = float(size.value) < max(sold)
        other = "a part of a card (MIG or a virtual one), or another card" if less else "a rebuilt card, or another one"
        yield f"{gpu.title} is sold with {told} GB; {size.value:g} GB is taken as it was told: {other}."


def _of_dead_keys(keyed: KeyFacts) -> Iterator[str]:
    return (f"{key} has no effect: {why}" for key, why in keyed.dead.items())


def _of_variables(keyed: KeyFacts) -> Iterator[str]:
    """Settings whose value stands in a line that was not pasted."""
    if told := [one for one in keyed.untold.values() if "$" in one]:
        settings = ", ".join(dict.fromkeys(told))
        yield f"{settings}: no line says what the variable holds, so neither a value nor the default is taken. Paste that line."


def _of_part(stated: Mapping[str, Fact]) -> Iterator[str]:
    """What is said where less is trained than the estimate can tell."""
    part = stated.get("partial_training")
    if part is not None and part.value is True and "full_or_lora" in stated and stated["full_or_lora"].value == "full":
        yield f"{part.key or 'This way of training'} trains a part that is not modelled: counted as if all were, so it may need far less."


def _of_fork(detected: Detected, version: Fact | None, keyed: KeyFacts) -> tuple[str, ...]:
    """What a person should know of a trainer that is read by another's keys, or by nobody's."""
    fork, base = detected.fork, detected.framework
    if fork is None:
        return ()
    if fork.trains_elsewhere:
        return (f"{fork.title}: {fork.says} Nothing is estimated.",)
    if base is None or base.fallback:
        if keyed.stated:
            known = "the keys above are read; what they leave open is taken as in plain training, or from your answers"
        else:
            known = "its name is known, its keys are not in the catalogue: read as plain training and by your answers"
        return (f"{fork.title}: {known}. {fork.says}",)
    number = f" {version.value}" if version else ""
    return (f"{fork.title} is read as {base.title}{number}. {fork.says}",)


def _unlike(proven: Proofs, keyed: KeyFacts, speech: Sequence[Line]) -> Iterator[str]:
    """Settings that a key or a sentence tells otherwise than a line of the paste proves; once for each line."""
    told = [*keyed.denied, *run_words(speech, {}).values()] if proven else []
    said: set[int] = set()
    for fact in told:
        proof = proven.get(fact.id)
        if proof is None or not proof.denies(fact.value) or proof.hit.span.line in said:
            continue
        said.add(line := proof.hit.span.line)
        words = f"{fact.key} = {fact.written}" if fact.key else fact.written
        yield f"“{words}” is told, but line {line} proves otherwise: {proof.hit.signature.title}. The estimate goes by the line."


def _uneven(stated: Mapping[str, Fact]) -> Iterator[str]:
    """Cards that do not divide by the sizes of a group, and batches of all cards that are less than one row for each."""
    certain = {id for id, fact in stated.items() if fact.certain}
    values = resolve(stated)
    cards, ranks = whole(values, "trainer_gpus"), data_parallel(values)
    if not cards or not ranks or not certain & {"n_gpus", "gpus_per_node", "trainer_gpus"}:
        return
    groups = [
        certain & {"tp", "pp", "sp"},
        certain & {"rollout_tp"} if values.get("rollout_mode") == "colocated" else set(),
    ]
    for ids in groups:
        sizes = {id: size for id in sorted(ids) if (size := whole(values, id)) and size > 1}
        if cards % math.prod(sizes.values()):
            told = " × ".join(f"{stated[id].key or FACTS[id].title} {size}" for id, size in sizes.items())
            yield f"{cards} GPUs do not divide by {told}: as it stands the run cannot take all of them."
    for id in _ROWS:
        fact = stated.get(id)
        if (
            fact
            and fact.certain
            and fact.unit == "global_sequences"
            and isinstance(fact.value, int)
            and fact.value < ranks
        ):
            name = fact.key or FACTS[id].title
            yield f"{name} {fact.value} is shared by {ranks} ranks, which is 0 rows for each: the estimate counts one."
