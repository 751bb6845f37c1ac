"""The two stages of a pipeline that differ from those between: the first has the table, the last the head and its logits.

Megatron lets a run give each of them fewer layers or more (Megatron-LM core/transformer/transformer_config.py:
num_layers_in_first_pipeline_stage). A stage between is taken to need no more than these two.
"""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import Values, whole
from diagnose.estimate.plan import Plan
from diagnose.estimate.spread import spread


def stage_layers(values: Values, layers: int, which: str) -> float:
    """Layers of the ``first`` or the ``last`` stage; those that nothing counts are spread evenly over what is left."""
    stages, further = whole(values, "pp") or 1, whole(values, "mtp_layers") or 0
    known = {end: whole(values, f"{end}_stage_layers") for end in ("first", "last")}
    stated = [number for number in known.values() if number]
    even = (layers - further - sum(stated)) / max(1, stages - len(stated))
    return (known[which] or even) + (further if which == "last" else 0)


def staged(plan: Plan) -> tuple[Plan, ...]:
    """The plan of each stage that may need the most memory; the plan itself without a pipeline."""
    if plan.whole("pp") <= 1 or plan.values.get("strategy") != "megatron":
        return (plan,)
    return tuple(_stage(plan, which) for which in ("first", "last"))


def _stage(plan: Plan, which: str) -> Plan:
    layers = stage_layers(plan.values, plan.model.layers, which)
    laid_out = spread(
        plan.model,
        plan.shape,
        plan.values,
        plan.does,
        gpus=plan.gpus,
        capacity=plan.capacity,
        online=plan.online,
        stage=(which, layers),
    )
    return replace(plan, split=laid_out.everything, trains=laid_out.trained, stage=which, stage_layers=layers)
