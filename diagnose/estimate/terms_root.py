"""FSDP's outermost unit, embedding and head: what of it is gathered, its gradient, which comes last, and what waits for that until then."""

from __future__ import annotations

from diagnose.estimate.accumulated import one_micro_batch
from diagnose.estimate.once import once
from diagnose.estimate.part import part_of
from diagnose.estimate.plan import WITHOUT_HEAD, Plan
from diagnose.estimate.rank import in_fp32
from diagnose.estimate.term import count, make_term
from diagnose.types import Term

_ROOT = (
    "torch 2.6 distributed/fsdp/_runtime_utils.py:745-757, 880-892, _flat_param.py: _get_unflat_views;"
    " _fully_shard/_fsdp_state.py: _root_post_backward_final_callback"
)


def fsdp_gradient_bytes(*, parameters: float, each: float = 2.0, reduced: float = 4.0) -> float:
    """A unit's whole gradient: from autograd in ``each`` bytes, and joined or copied into what is reduced, in ``reduced`` bytes."""
    return (each + max(each, reduced)) * parameters


@once
def units(plan: Plan) -> tuple[float, float]:
    """Parameters of the root unit and of one layer, after tensor parallelism."""
    tp = plan.whole("tp")
    apart = plan.shape.embedding if _outer(plan) != "joined" else 0
    return (plan.shape.root - apart) / tp, plan.shape.layer / tp


def _outer(plan: Plan) -> str:
    """Which of embedding and head are units of their own: neither where they are one matrix."""
    return "joined" if plan.model.tied else str(plan.does.get("outer_units", "joined"))


def apart_from_root(plan: Plan) -> bool:
    """Whether the embedding or the head is a unit of its own."""
    return _outer(plan) != "joined"


def head_apart(plan: Plan) -> bool:
    """Whether the head is a unit of its own as well."""
    return _outer(plan) == "both"


def _trained(plan: Plan) -> bool:
    """Whether embedding and head are: not beside adapters, nor where some decoder layers alone are."""
    return not plan.adapters and "trained_layers" not in plan.values


def _pass_by(plan: Plan) -> bool:
    """Whether gradients are on the card for a moment alone: in part each, or on their way to the host, whole from a single GPU.

    There a piece stands in bf16 and once more in fp32 (deepspeedai/DeepSpeed@edaa722 runtime/zero/stage3.py: partition_grads).
    """
    to_host = plan.values.get("strategy") == "deepspeed" and plan.values.get("optimizer_on_cpu") is True
    return plan.split.stage >= 3 and (plan.split.group > 1 or to_host)


@once
def gradient_each(plan: Plan) -> tuple[float, float]:
    """Bytes of a number of a whole gradient as autograd gives it, and as it is reduced."""
    return (4.0, 4.0) if in_fp32(plan) else (2.0, plan.number("reduce_bytes") or 4.0)


@once
def root_passes_by(plan: Plan) -> bool:
    """Whether embedding and head are trained, and their gradient stands whole for a moment alone."""
    part = part_of(plan.model, plan.shape, plan.values)
    return _trained(plan) and _pass_by(plan) and not (part and not part.table)


@once
def root_gradient(plan: Plan) -> list[Term]:
    """The outermost gradient, which comes last. Units that are apart are reduced one after the other."""
    if not root_passes_by(plan):
        return []
    (each, reduced), table = gradient_each(plan), plan.shape.embedding / plan.whole("tp")
    root = plan.shape.root / plan.whole("tp")
    if plan.does.get("gather") != "fsdp_units":
        size, how = 2 * root, f"2 B × {count(root)} of the root unit"
        if plan.values.get("optimizer_on_cpu") is True:
            size += 6 * table / plan.split.group
            how += f" + 6 B × {count(table / plan.split.group)} on their way to the host"
    elif _outer(plan) == "joined":
        size = fsdp_gradient_bytes(parameters=root, each=each, reduced=reduced)
        how = f"{each + max(each, reduced):g} B × {count(root)} of the root unit"
        if plan.values.get("strategy") == "fsdp" and round(root) % plan.split.group:
            # copied into a tensor that the ranks can share evenly: torch 2.6 _runtime_utils.py: _get_reduce_scatter_tensors
            size += reduced * root
            how += f" + {reduced:g} B to fill it up for {plan.split.group} GPUs"
        if not one_micro_batch(plan):
            # the part of this micro batch beside that of those before it
            size += reduced * root / plan.split.group
            how += f" + {reduced:g} B × {count(root / plan.split.group)} of one more micro batch"
    else:
        waits = 0.0 if _outer(plan) == "both" else each * (root - table)
        size = fsdp_gradient_bytes(parameters=table, each=each, reduced=reduced) + waits
        how = f"{each + max(each, reduced):g} B × {count(table)} of the embedding"
        how += f", {each:g} B × {count(root - table)} of the head" if waits else ""
    return [make_term("root_gradient", "gradient of embedding and head", "work", size, how, _ROOT, ("tp",))]


def last_gradients(plan: Plan) -> float:
    """The share of all gradients that comes when the first layer has been gone through: its own and the embedding's, or the root unit's."""
    if root_passes_by(plan):
        return plan.shape.root / plan.shape.parameters
    part = part_of(plan.model, plan.shape, plan.values)
    if not plan.trained or plan.adapters or "trained_layers" in plan.values or (part and not part.table):
        return 0.0
    table = 0 if plan.model.tied else plan.shape.embedding
    body = plan.shape.parameters - plan.shape.root - plan.shape.vision
    return (table + body / plan.model.layers) / plan.shape.parameters


def waiting_gradient(plan: Plan) -> list[Term]:
    """The head's gradient, which FSDP reduces with the rest of the root unit when the backward pass is over."""
    sharded = plan.does.get("gather") == "fsdp_units" and plan.split.stage >= 3 and plan.split.group > 1
    if not _trained(plan) or not sharded or _outer(plan) == "both":
        return []
    matrix = plan.shape.embedding if plan.model.tied else plan.shape.root - plan.shape.embedding
    each, head = gradient_each(plan)[0], 0 if plan.algo in WITHOUT_HEAD else matrix / plan.whole("tp")
    how = f"{each:g} B × {count(head)} until the embedding's comes"
    return [make_term("waiting_gradient", "gradient of the head", "work", each * head, how, _ROOT, ("tp",))]


def layer_gradient(plan: Plan, pipelined: bool) -> list[Term]:
    """A layer's gradient before its reduction."""
    if plan.adapters or pipelined or not _pass_by(plan):
        return []
    layer, (each, reduced) = units(plan)[1], gradient_each(plan)
    size, how = 2 * layer, f"2 B × {count(layer)}"
    if plan.does.get("gather") == "fsdp_units":
        size = fsdp_gradient_bytes(parameters=layer, each=each, reduced=reduced)
        how = f"{each + max(each, reduced):g} B × {count(layer)}"
    return [make_term("layer_gradient", "a layer's gradient", "work", size, how, _ROOT, ("tp",))]
