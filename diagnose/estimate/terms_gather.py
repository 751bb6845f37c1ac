"""What sharding needs for a moment: gathered units, buckets, gradients on their way."""

from __future__ import annotations

from diagnose.estimate import terms_zero
from diagnose.estimate.frozen import experts_in_16_bits
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import autocasts, casts_frozen, copies_in_fp32, fp32_around_products
from diagnose.estimate.sharding import keeps_gathered
from diagnose.estimate.term import count, make_term
from diagnose.estimate.terms_activation import checkpointing
from diagnose.estimate.terms_root import apart_from_root, head_apart, root_passes_by, units
from diagnose.estimate.terms_tiles import head_by_tiles
from diagnose.types import Term

_FSDP = "torch 2.6 distributed/fsdp/_runtime_utils.py:482-496, 745-757, 880-892"
_DDP = "torch 2.6 nn/parallel/distributed.py: gradient_as_bucket_view, which is off unless a trainer asks for it"
_PIPELINE = (
    "torch 2.6 distributed/pipelining/stage.py: backward_maybe_with_nosync; torchtitan parallelize_llama.py: apply_fsdp"
)
_CAST = "torch 2.6 ATen/autocast_mode.cpp: cached_cast"


def fsdp_gather_bytes(*, root: float, layer: float, layer_bytes: float = 2.0) -> float:
    """Gathered units, in bf16 unless quantized: the root from the first forward to the end of the backward pass, two layers in flight."""
    return 2 * root + 2 * layer_bytes * layer


@once
def gathered(plan: Plan) -> list[Term]:
    """What a forward pass puts together."""
    how_gathered = plan.does.get("gather", "none")
    stage, moved_by = plan.split.stage, ("zero_stage", "shard_size", "tp")
    if pipelined(plan):
        size, how = 2 * plan.split.whole, f"2 B × {count(plan.split.whole)} of this stage"
        return [make_term("gathers", "weights of all its layers", "work", size, how, _PIPELINE, (*moved_by, "pp"))]
    if stage >= 3 and how_gathered == "fsdp_units" and (plan.split.group > 1 or _gathers_alone(plan)):
        if keeps_gathered(plan.values):
            return [_all_units(plan)]
        (root, layer), each = units(plan), layer_bytes(plan)
        size = fsdp_gather_bytes(root=root, layer=layer, layer_bytes=each)
        how = f"2 B × {count(root)} of the root unit + 2 layers × {each:.3g} B × {count(layer)}"
        return [make_term("gathers", "gathered weights", "work", size, how, _FSDP, moved_by)]
    if terms_zero.gathers(plan):
        return [terms_zero.gathered(plan)]
    if fp32_around_products(plan) or copies_in_fp32(plan):
        size, how = _cast_in_backward(plan)
        return [make_term("gathers", "weights cast to bf16", "work", size, how, _CAST, ("precision", *moved_by))]
    return []


def gathered_at_head(plan: Plan) -> list[Term]:
    """What is put together when a pass without gradient is at the head: the root or the head alone; layers are freed as they end."""
    by_units = plan.does.get("gather") == "fsdp_units" and plan.split.stage >= 3 and not pipelined(plan)
    terms = gathered(plan)
    if terms_zero.gathers(plan):
        return [terms_zero.gathered_at_head(plan)]
    if not by_units or not terms or keeps_gathered(plan.values):
        return terms
    root, _ = units(plan)
    each = 4 if head_apart(plan) else 2  # a head of its own is gathered last, and so its buffer is still there
    how = f"{each} B × {count(root)} of the root unit"
    return [
        make_term("gathers", "gathered weights", "work", each * root, how, _FSDP, ("zero_stage", "shard_size", "tp"))
    ]


def gathering(plan: Plan) -> list[Term]:
    """What FSDP2 holds as a pass begins: embedding and root unit as they are gathered, and as parameters, into which that is copied.

    The buffer of one unit is kept until the next is there (torch 2.6 _fully_shard/_fsdp_param_group.py: wait_for_unshard).
    """
    if plan.values.get("strategy") != "fsdp2" or plan.does.get("gather") != "fsdp_units" or plan.split.group == 1:
        return []
    outer = plan.shape.root / plan.whole("tp")
    how = f"2 × 2 B × {count(outer)} of embedding and head"
    return [make_term("gathers", "gathered weights", "work", 4 * outer, how, _FSDP, ("zero_stage", "shard_size", "tp"))]


def gathered_at_loss(plan: Plan, gathers: list[Term]) -> list[Term]:
    """What is put together when the loss is taken: nothing where the root is freed between its two passes, as the layers are."""
    freed = plan.does.get("root_freed") == "yes" and plan.split.stage >= 3 and not keeps_gathered(plan.values)
    return [term for term in gathers if term.id != "gathers"] if freed else gathers


def gathered_at_end(plan: Plan) -> list[Term]:
    """What is still put together when the root unit's gradient is reduced: nothing, since every unit is freed before its gradient is.

    The root may hold the head while the embedding, a unit of its own, goes first (torch 2.6 distributed/fsdp/_runtime_utils.py:
    _post_backward_hook; _fully_shard/_fsdp_param_group.py: post_backward). Adapters leave the root without a gradient, gathered to the end.
    """
    apart = root_passes_by(plan) and not apart_from_root(plan) and plan.does.get("gather") == "fsdp_units"
    return [] if apart else gathered(plan)


def _all_units(plan: Plan) -> Term:
    """All units, where each stays gathered from its forward to the end of its backward pass."""
    each, whole = layer_bytes(plan), plan.split.whole
    how = f"{each:.3g} B × {count(whole)}, which stay gathered"
    return make_term(
        "gathers", "gathered weights", "work", each * whole, how, _FSDP, ("zero_stage", "shard_size", "tp")
    )


def layer_bytes(plan: Plan) -> float:
    """Bytes a parameter of a gathered layer: quantized weights travel as they are stored, packed in a type that can be sharded.

    (bitsandbytes 0.43 nn/modules.py: Params4bit.quant_storage, which accelerate and peft set to that of the other weights)
    """
    if not plan.each.quantized:
        return 2.0
    left = experts_in_16_bits(plan) / plan.model.sparse / plan.shape.layer if plan.model.sparse else 0.0
    return plan.each.quantized * (1 - left) + 2.0 * left


def _gathers_alone(plan: Plan) -> bool:
    """Whether a single GPU gathers its own weights, because the gathered copy is in another type."""
    each = plan.each.base if plan.adapters else plan.each.weights
    return plan.values.get("strategy") == "fsdp2" and each >= 4 and plan.values.get("precision") != "fp32"


def cast_in_forward(plan: Plan) -> list[Term]:
    """Weights that autocast keeps in bf16 until the forward pass is over, beyond those that the backward pass still needs."""
    if not autocasts(plan):
        return []
    cast = _cast(plan) - _head_by_parts(plan)
    size = 2 * cast - _cast_in_backward(plan)[0]
    how = f"{count(cast)} × 2 B until the forward pass is over"
    return [make_term("forward_casts", "weights cast to bf16", "work", size, how, _CAST, ("precision",))]


def frozen_casts(plan: Plan) -> list[Term]:
    """The 16-bit copies of a frozen fp32 base; a pass without gradient keeps none, as autocast's cache holds what is trained alone."""
    if not casts_frozen(plan):
        return []
    size, how = _cast_in_backward(plan)
    return [make_term("gathers", "weights cast to bf16", "work", size, how, _CAST, ("precision", "full_or_lora"))]


def cast_to_generate(plan: Plan) -> list[Term]:
    """What autocast keeps of fp32 weights during each step of a generation by the trainer's own model."""
    own = plan.does.get("generates") == "under_autocast" and plan.does.get("kv_rule") == "dense"
    if not own or not autocasts(plan):
        return []
    how = f"{count(_cast(plan))} × 2 B, token by token"
    return [make_term("gathers", "weights cast to bf16", "work", 2 * _cast(plan), how, _CAST, ("precision",))]


def _cast(plan: Plan) -> float:
    """Parameters that autocast casts: all but an embedding table that is not the head as well."""
    return plan.split.whole - (0 if plan.model.tied else plan.shape.embedding / plan.whole("tp"))


def _head_by_parts(plan: Plan) -> float:
    """Parameters of a head that autocast does not keep, since the loss casts it part by part."""
    return plan.shape.embedding / plan.whole("tp") if head_by_tiles(plan) else 0.0


def _cast_in_backward(plan: Plan) -> tuple[float, str]:
    """Casts that the graph holds: of all layers, or where layers are recomputed those of the head and of one layer."""
    if not autocasts(plan) and not casts_frozen(plan):
        table = plan.shape.embedding / plan.whole("tp")
        return 2 * table, f"autocast keeps the head, {count(table)} × 2 B"
    _, layer = units(plan)
    if checkpointing(plan) != "full":
        cast = _cast(plan) - _head_by_parts(plan)
        return 2 * cast, f"autocast keeps {count(cast)} × 2 B"
    table = plan.shape.embedding / plan.whole("tp") - _head_by_parts(plan)
    return 2 * (table + layer), f"autocast keeps head and one layer, {count(table + layer)} × 2 B"


def pipeline_gradients(plan: Plan) -> list[Term]:
    """Gradients between the micro batches of a pipeline, which are reduced once at the end and are whole until then."""
    if not pipelined(plan) or plan.adapters:
        return []
    size, how = 4 * plan.split.whole, f"4 B × {count(plan.split.whole)} of this stage"
    return [make_term("whole_gradients", "gradients before reduction", "work", size, how, _PIPELINE, ("pp", "tp"))]


def gradients_between(plan: Plan) -> list[Term]:
    """Gradients that FSDP keeps whole from one micro batch to the next where it does not reduce them in between.

    A unit with frozen and trained parameters has a gradient as large as all of them (torch 2.6
    distributed/fsdp/fully_sharded_data_parallel.py: ``no_sync`` and ``use_orig_params``).
    """
    whole = plan.does.get("gradients_between") == "whole_model"
    if not whole or plan.split.stage < 3 or plan.split.group == 1 or plan.values.get("gradient_accumulation") == 1:
        return []
    size, how = 2 * plan.split.whole, f"2 B × {count(plan.split.whole)}, frozen ones included"
    moved_by = ("gradient_accumulation", "zero_stage", "tp")
    return [make_term("whole_gradients", "gradients between micro batches", "work", size, how, _FSDP, moved_by)]


@once
def pipelined(plan: Plan) -> bool:
    """Whether pipeline stages shard their weights: gathering them anew for every micro batch would cost too much, so they stay."""
    if plan.values.get("strategy") in ("megatron", "deepspeed"):
        return False
    return plan.whole("pp") > 1 and plan.split.stage >= 3 and plan.split.group > 1


def buckets_of_replicas(plan: Plan) -> list[Term]:
    """DDP's buckets, which its reducer makes once and keeps: beside gradients in a backward pass and in the optimizer step."""
    if plan.values.get("strategy") != "ddp" or plan.split.group == 1 or plan.split.stage > 0:
        return []
    size = plan.each.gradients * plan.trained
    how = f"{plan.each.gradients:g} B × {count(plan.trained)}, as large as the gradients"
    return [make_term("buckets", "gradient buckets", "work", size, how, _DDP, ("zero_stage", "full_or_lora"))]


def bucketed(plan: Plan, *, first_gradient: bool = True) -> list[Term]:
    """Gradient buckets beside the gradients during the backward pass: of ZeRO, and of DDP, whose stand from its start."""
    return buckets_of_replicas(plan) or terms_zero.buckets(plan, first_gradient=first_gradient)
