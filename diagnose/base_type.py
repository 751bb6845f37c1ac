"""The type of a frozen base that a default alone makes fp32, where it cannot have stood on the cards so."""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import resolve
from diagnose.estimate import Plan, plan_of
from diagnose.estimate.terms_held import held
from diagnose.knowledge.records import Framework
from diagnose.outlived import how_far, went_through
from diagnose.types import Fact, Facts
from diagnose.units import from_gib, gib
from diagnose.vocabulary import OF_ENGINE_START

_FP32 = 4.0  # bytes a parameter
_OF_TRAINER = (
    "logprob",
    "ref_logprob",
    "actor_update",
    "optimizer_step",
)  # phases that fail in the process that holds the base
_BEFORE_WEIGHTS_STAND = (None, "load", "init")


def with_base_type(facts: Facts, fallback: Framework | None) -> Facts:
    """These facts with a base in 16 bits where the run came past loading; without the default where it may be in 16 bits.

    What failed in loading is taken at its word: its base is loaded as the default says. Else a script may ask for 16 bits, and
    transformers 5 takes the type of the checkpoint.
    """
    told = facts.stated.get("precision")
    if told is None or told.origin != "default" or facts.values.get("full_or_lora") == "full":
        return facts
    plan = plan_of(facts, fallback)
    if plan is None or plan.each.base < _FP32 or plan.each.quantized:
        return facts
    if why := _against(facts, plan):
        return facts.with_fact(
            Fact("precision", "bf16", "assumed", why=f"in fp32, which is the default, its weights alone {why}")
        )
    if "precision" not in plan.missing or facts.values.get("phase") == "load":
        return facts
    stated = {id: fact for id, fact in facts.stated.items() if id != "precision"}
    return replace(facts, stated=stated, values=resolve(stated))


def _against(facts: Facts, plan: Plan) -> str:
    """What speaks against a base in fp32; empty where nothing does."""
    weights, stood = held(plan, "actor_weights"), _stood(facts)
    if weights is not None and stood and weights.bytes > stood:
        return f"would be {gib(weights.bytes)} GiB, and the message names {gib(stood)} GiB in use"
    if "precision" not in plan.missing:
        return ""
    phase = facts.values.get("phase")
    came = how_far(facts, str(phase)) if went_through(facts) or phase not in _BEFORE_WEIGHTS_STAND else ""
    return f"would be more than the cards have, and {came}" if came else ""


def _stood(facts: Facts) -> int:
    """Bytes in use beside which the base stood, as the message prints them; 0 where it prints none."""
    total, free, process = (facts.number(id) for id in ("gpu_total_gib", "gpu_free_gib", "process_gib"))
    if facts.values.get("oom_kind") in OF_ENGINE_START and total and free is not None:
        return from_gib(total - free)
    return from_gib(process) if process and facts.values.get("phase") in _OF_TRAINER else 0
