"""Sizes that must come out even: what a trainer or its engine refuses at its start when a change leaves a rest.

Only what came out even before is looked at: where the run was uneven and ran, its trainer does not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnose.batch import UNITS, data_parallel, longest_row, whole
from diagnose.estimate import behaviours_of
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.writing import Written
from diagnose.types import Fact, Facts
from diagnose.vocabulary import Value

_SIZES = frozenset(
    ("train_batch_size", "mini_batch_size", "rollout_n", "micro_batch", "gradient_accumulation", "max_num_batched_tokens")
    + ("tp", "pp", "sp", "ep")
)  # fmt: skip
_Does = Mapping[str, Value]
# The whole and what must divide it, with the words where it does not; None where one of them is unknown or nobody asks.
_Found = tuple[float, float, str] | None


def uneven(situation: Situation, made: Written) -> str:
    """Why the changed run would be refused; empty where it comes out even, or did not before."""
    if not any(change.fact in _SIZES for change in made.changes):
        return ""
    does = behaviours_of(made.facts, situation.fallback)
    for rule in _RULES:
        before, after = rule(situation.facts, does), rule(made.facts, does)
        if after and after[0] % after[1] and not (before and before[0] % before[1]):
            return after[2]
    return ""


def _mini_batch(facts: Facts, does: _Does) -> _Found:
    """Rows of a mini batch on one rank, in micro batches as they are written."""
    values, micro = facts.values, facts.stated.get("micro_batch")
    mini, n, ranks = whole(values, "mini_batch_size"), whole(values, "rollout_n"), data_parallel(values)
    if not (micro and mini and n and ranks) or values.get("dynamic_batch") is True:
        return None
    rows, each = mini * n // ranks, UNITS[micro.unit or "sequences_per_gpu"][0](float(micro.value), values)
    return (rows, each, f"A mini batch of {rows} rows on each rank is no multiple of {each:g}.") if each else None


def _batch(facts: Facts, does: _Does) -> _Found:
    """Rows of a step, where they are dealt to the ranks."""
    values = facts.values
    prompts, n, ranks = whole(values, "train_batch_size"), whole(values, "rollout_n"), data_parallel(values)
    if not (prompts and n and ranks) or "mini_batch_size" not in values:
        return None
    return prompts * n, ranks, f"{prompts * n} rows do not divide among {ranks} ranks."


def _groups(facts: Facts, does: _Does) -> _Found:
    """Rows that must hold whole groups of samples: of one pass of all ranks, or of the passes of a step.

    As of one rank where the cards are not told: what is whole there is whole on any number of them.
    """
    values, span = facts.values, does.get("whole_groups")
    micro, n, ranks = whole(values, "micro_batch"), whole(values, "rollout_n"), data_parallel(values) or 1
    passes = whole(values, "gradient_accumulation") if span == "step" else 1
    if span in (None, "sampled") or not (micro and n and passes):
        return None
    rows = micro * ranks * passes
    return rows, n, f"{rows} rows hold no whole number of groups of {n} samples."


def _engine_step(facts: Facts, does: _Does) -> _Found:
    """A step of the engine that must hold the longest row: the part of the row that it does not hold is the rest."""
    tokens, row = whole(facts.values, "max_num_batched_tokens"), longest_row(facts.values)
    if does.get("engine_step") != "row" or not (tokens and row):
        return None
    return min(tokens, row), row, f"A step of the engine must hold the longest row, {row:,} tokens."


def _experts(facts: Facts, does: _Does) -> _Found:
    """Cards that must divide among the copies of all experts, each copy cut by all of its sizes.

    Megatron-core 0.14.0 parallel_state.py: expert_tensor_model_pipeline_parallel_size.
    """
    values, cards = facts.values, whole(facts.values, "trainer_gpus")
    if values.get("strategy") != "megatron" or not cards or (whole(values, "ep") or 1) == 1:
        return None
    tp, pp, ep = (whole(values, id) or 1 for id in ("tp", "pp", "ep"))
    copy = ep * pp * (whole(values, "etp") or tp)
    return cards, copy, f"{cards} cards do not divide among copies of the experts on {copy} each."


def _whole_experts(facts: Facts, does: _Does) -> _Found:
    """The same of experts that no tensor parallelism cuts, which is as few cards as a copy can have."""
    return _experts(facts.with_fact(Fact("etp", 1, "assumed")), does) if "etp" not in facts.values else None


def _split_experts(facts: Facts, does: _Does) -> _Found:
    """Experts of a layer that must divide among the ranks that share them: NVIDIA/Megatron-LM@d98e8a6 moe_layer.py:186."""
    moe, ep = facts.model.moe if facts.model else None, whole(facts.values, "ep")
    if facts.values.get("strategy") != "megatron" or moe is None or not ep:
        return None
    return moe.experts, ep, f"{moe.experts} experts of a layer do not divide among {ep} ranks."


_RULES: tuple[Callable[[Facts, _Does], _Found], ...] = (
    _mini_batch,
    _batch,
    _groups,
    _engine_step,
    _experts,
    _whole_experts,
    _split_experts,
)
