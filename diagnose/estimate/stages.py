"""The stages of a pipeline that may need the most memory: the first has the table, the last the head and its logits.

Megatron lets a run give each of them fewer layers or more, or count table and loss as a layer each (Megatron-LM
core/transformer/transformer_config.py: num_layers_in_first_pipeline_stage; core/transformer/transformer_block.py:
get_num_layers_to_build). A stage between is taken to need no more than these two unless it has more layers than the first.
"""

from __future__ import annotations

from dataclasses import replace

from diagnose.batch import Values, whole
from diagnose.estimate.plan import BETWEEN, Plan
from diagnose.estimate.spread import spread

_AS_LAYER = {"first": "embedding_as_layer", "last": "loss_as_layer"}


def stage_layers(values: Values, layers: int, which: str) -> float:
    """Layers of the ``first``, the ``last`` or a stage ``between``; those that nothing counts are spread evenly over what is left."""
    stages, further = whole(values, "pp") or 1, whole(values, "mtp_layers") or 0
    known = {end: whole(values, f"{end}_stage_layers") for end in ("first", "last")}
    taken = {end: int(values.get(id) is True) for end, id in _AS_LAYER.items()}
    stated = [number for number in known.values() if number]
    even = (layers - further + sum(taken.values()) - sum(stated)) / max(1, stages - len(stated))
    return (known.get(which) or even - taken.get(which, 0)) + (further if which == "last" else 0)


def staged(plan: Plan) -> tuple[Plan, ...]:
    """The plan of each stage that may need the most memory; the plan itself without a pipeline."""
    stages = plan.whole("pp")
    if stages <= 1 or plan.values.get("strategy") != "megatron":
        return (plan,)
    between, first = (stage_layers(plan.values, plan.model.layers, which) for which in (BETWEEN, "first"))
    return tuple(
        _stage(plan, which) for which in ("first", "last", *((BETWEEN,) if stages > 2 and between > first else ()))
    )


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
