"""What sharding and the optimizer step need for a moment: gathered units, buckets, gradients on their way, Adam's temporaries."""

from __future__ import annotations

from diagnose.estimate.frozen import experts_in_16_bits
from diagnose.estimate.low_rank import projected
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import autocasts
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.estimate.terms_activation import checkpointing
from diagnose.estimate.terms_held import drops_gradients, perhaps_less, trained_shard
from diagnose.types import Term

_FSDP = "torch 2.6 distributed/fsdp/_runtime_utils.py:482-496, 745-757, 880-892"
_ZERO3 = "DeepSpeed runtime/zero/config.py: stage3_max_live_parameters, reduce_bucket_size"
_BUCKETS = "DeepSpeed 0.16 runtime/zero/config.py: reduce_bucket_size; runtime/zero/stage_1_and_2.py: backward_prologue"
_DDP = "torch 2.6 nn/parallel/distributed.py: gradient_as_bucket_view, which is off unless a trainer asks for it"
_ADAM = "torch 2.6 optim/adamw.py:697-706, optim/optimizer.py:167-192"
_PIPELINE = (
    "torch 2.6 distributed/pipelining/stage.py: backward_maybe_with_nosync; torchtitan parallelize_llama.py: apply_fsdp"
)
_CAST = "torch 2.6 ATen/autocast_mode.cpp: cached_cast"
_LIVE_BYTES = 2e9  # stage3_max_live_parameters 1e9 in bf16
_BUCKET_BYTES = 1e9  # 5e8 elements in bf16
_SUB_GROUP = 1e9  # sub_group_size, in parameters


def fsdp_gather_bytes(*, root: float, layer: float, layer_bytes: float = 2.0) -> float:
    """Gathered units, in bf16 unless quantized: the root from the first forward to the end of the backward pass, two layers in flight."""
    return 2 * root + 2 * layer_bytes * layer


def fsdp_root_gradient_bytes(*, root: float) -> float:
    """The root unit's gradient at the end of the backward pass: bf16 from autograd and its fp32 copy for the reduction."""
    return 6 * root


def zero3_live_bytes(*, parameters: float) -> Band:
    """Live gathered parameters, prefetch and the reduce bucket; low without overlap of communication."""
    everything = 2 * parameters
    live, bucket = min(everything, _LIVE_BYTES), min(everything, _BUCKET_BYTES)
    return Band(0.5 * live + bucket, live + bucket, live + 2 * bucket)


def zero_bucket_bytes(*, bucket: float) -> Band:
    """Where ZeRO stages 1 and 2 lay gradients end to end: a buffer of a whole bucket however little is trained, on a single GPU too.

    High with the second one of overlapped communication (DeepSpeed 0.16 runtime/zero/stage_1_and_2.py: backward_prologue).
    """
    return Band(bucket, bucket, 2 * bucket)


def gathered(plan: Plan) -> list[Term]:
    """What a forward pass puts together."""
    how_gathered = plan.does.get("gather", "none")
    stage, moved_by = plan.split.stage, ("zero_stage", "shard_size", "tp")
    if _pipelined(plan):
        size, how = 2 * plan.split.whole, f"2 B × {count(plan.split.whole)} of this stage"
        return [make_term("gathers", "weights of all its layers", "work", size, how, _PIPELINE, (*moved_by, "pp"))]
    if stage >= 3 and how_gathered == "fsdp_units" and (plan.split.group > 1 or _gathers_alone(plan)):
        (root, layer), each = units(plan), _layer_bytes(plan)
        size = fsdp_gather_bytes(root=root, layer=layer, layer_bytes=each)
        how = f"2 B × {count(root)} of the root unit + 2 layers × {each:.3g} B × {count(layer)}"
        return [make_term("gathers", "gathered weights", "work", size, how, _FSDP, moved_by)]
    zero = how_gathered == "zero3" or plan.values.get("strategy") == "deepspeed"
    if stage >= 3 and zero and plan.split.group > 1:
        band = zero3_live_bytes(parameters=plan.split.whole)
        how = f"2 B × at most 1 B live of {count(plan.split.whole)} + reduce bucket"
        return [make_term("gathers", "gathered weights", "work", band, how, _ZERO3, moved_by)]
    if autocasts(plan):
        size, how = _cast_in_backward(plan)
        return [make_term("gathers", "weights cast to bf16", "work", size, how, _CAST, ("precision", *moved_by))]
    return []


def _layer_bytes(plan: Plan) -> float:
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
    size = 2 * _cast(plan) - _cast_in_backward(plan)[0]
    how = f"{count(_cast(plan))} × 2 B until the forward pass is over"
    return [make_term("forward_casts", "weights cast to bf16", "work", size, how, _CAST, ("precision",))]


def _cast(plan: Plan) -> float:
    """Parameters that autocast casts: all but an embedding table that is not the head as well."""
    return plan.split.whole - (0 if plan.model.tied else plan.shape.embedding / plan.whole("tp"))


def _cast_in_backward(plan: Plan) -> tuple[float, str]:
    """Casts that the graph holds: of all layers, or where layers are recomputed those of the head and of one layer."""
    _, layer = units(plan)
    if checkpointing(plan) != "full":
        return 2 * _cast(plan), f"autocast keeps {count(_cast(plan))} × 2 B"
    table = plan.shape.embedding / plan.whole("tp")
    return 2 * (table + layer), f"autocast keeps head and one layer, {count(table + layer)} × 2 B"


def pipeline_gradients(plan: Plan) -> list[Term]:
    """Gradients between the micro batches of a pipeline, which are reduced once at the end and are whole until then."""
    if not _pipelined(plan) or plan.adapters:
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


def _pipelined(plan: Plan) -> bool:
    """Whether pipeline stages shard their weights: gathering them anew for every micro batch would cost too much, so they stay."""
    if plan.values.get("strategy") in ("megatron", "deepspeed"):
        return False
    return plan.whole("pp") > 1 and plan.split.stage >= 3 and plan.split.group > 1


def bucketed(plan: Plan) -> list[Term]:
    """Gradient buckets, which stand beside the gradients during the backward pass: of ZeRO stages 1 and 2, and of DDP."""
    if plan.values.get("strategy") == "ddp" and plan.split.group > 1 and plan.split.stage == 0:
        size = plan.each.gradients * plan.trained
        how = f"{plan.each.gradients:g} B × {count(plan.trained)}, as large as the gradients"
        return [make_term("buckets", "gradient buckets", "work", size, how, _DDP, ("zero_stage", "full_or_lora"))]
    if plan.split.stage not in (1, 2) or plan.values.get("strategy") not in (None, "deepspeed"):
        return []
    bucket = plan.number("reduce_bucket_bytes") or _BUCKET_BYTES
    how = f"buffers of {count(bucket)}B for gradients on their way"
    band = zero_bucket_bytes(bucket=bucket)
    return [make_term("buckets", "gradient buckets", "work", band, how, _BUCKETS, ("zero_stage",))]


def layer_gradient(plan: Plan) -> list[Term]:
    """A layer's gradient before its reduction."""
    if plan.split.stage < 3 or plan.adapters or plan.split.group == 1 or _pipelined(plan):
        return []
    _, layer = units(plan)
    each = 6 if plan.does.get("gather") == "fsdp_units" else 2
    how = f"{each} B × {count(layer)}"
    return [make_term("layer_gradient", "a layer's gradient", "work", each * layer, how, _FSDP, ("tp",))]


def root_gradient(plan: Plan) -> list[Term]:
    """The outermost gradient, which comes last."""
    if plan.adapters or plan.split.stage < 3 or plan.split.group == 1:
        return []
    root, _ = units(plan)
    fsdp = plan.does.get("gather") == "fsdp_units"
    size = fsdp_root_gradient_bytes(root=root) if fsdp else 2 * root
    how = f"{'6' if fsdp else '2'} B × {count(root)} of the root unit"
    return [make_term("root_gradient", "gradient of embedding and head", "work", size, how, _FSDP, ("tp",))]


def adam_temporaries(plan: Plan) -> list[Term]:
    """What the optimizer step needs beside state and gradients."""
    kind = plan.does.get("adam_temporaries", "none")
    mine, moved_by = trained_shard(plan, 1), ("fused_optimizer", "zero_stage", "shard_size")
    if plan.values.get("optimizer_on_cpu") is True or (kind == "foreach" and _in_place(plan)):
        return []
    each, table = plan.each.optimizer / 2, plan.shape.embedding
    if projected(plan.values) or drops_gradients(plan):
        band, how = exactly(2 * each * table), f"2 × {each:g} B × {count(table)}, one matrix at a time"
    elif kind == "foreach":
        # of an unknown trainer nobody knows whether its kernel is the fused one
        perhaps_none = plan.framework.fallback and "fused_optimizer" not in plan.values
        band = Band(0.0 if perhaps_none else each * mine, each * mine, each * mine)
        how = f"{count(mine)} × {each:g} B for all at once"
    elif kind == "all_fp32_gradients":
        band, how = exactly(4 * mine), f"{count(mine)} × 4 B"
    elif kind == "fp32_gradients":
        band, how = _fp32_gradients(plan, mine)
    elif kind == "largest_shard":
        largest = max(plan.shape.embedding, plan.shape.layer / 7) / plan.split.group
        band, how = exactly(2 * 4 * largest), f"2 × 4 B × {count(largest)}"
    else:
        return []
    size = perhaps_less(plan, band)
    return [make_term("adam_temporaries", "temporaries of the optimizer step", "work", size, how, _ADAM, moved_by)]


def _in_place(plan: Plan) -> bool:
    """A kernel that takes one tensor after the other: torch's fused one, bitsandbytes' (bitsandbytes/optim/optimizer.py: step)."""
    named = str(plan.values.get("optimizer", "")).lower()
    return plan.values.get("fused_optimizer") is True or "8bit" in named or named.startswith("paged")


def _fp32_gradients(plan: Plan, mine: float) -> tuple[Band, str]:
    """Gradients joined in 16 bits (2 B) and cast to fp32 (4 B), then in their place torch's square roots of a moment (4 B) beside the cast.

    At stages 1 and 2 of all that this GPU updates, whose own gradients are dropped once they are cast, and at stage 3 of one sub group,
    whose gradients stay. A fused step needs no square roots (DeepSpeed runtime/zero/stage_1_and_2.py: step; stage3.py:
    _prepare_fp32_grad_for_sub_group; torch 2.6 optim/adamw.py: _multi_tensor_adamw).
    """
    if plan.split.stage < 3:
        return exactly(6 * mine), f"{count(mine)} × 6 B"
    group = min(mine, _SUB_GROUP)
    return Band(6 * group, 6 * group, 8 * group), f"{count(group)} × 6 B, a sub group of at most 1 B"


def units(plan: Plan) -> tuple[float, float]:
    """Parameters of the root unit and of one layer, after tensor parallelism."""
    tp = plan.whole("tp")
    return plan.shape.root / tp, plan.shape.layer / tp
