"""What handing weights over needs for a moment: from the trainer to the engine, and from the policy to the reference."""

from __future__ import annotations

from collections.abc import Callable

from diagnose.estimate.engine_weights import engine_weight_bytes
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.estimate.terms_root import units
from diagnose.types import Term
from diagnose.units import GIB, MIB


def sync_transient(plan: Plan) -> list[Term]:
    """What handing the weights to the engine needs beside the residents."""
    kind = plan.does.get("sync_transient", "none")
    table, everything = plan.shape.embedding, plan.shape.parameters
    if kind == "none" or (kind.__class__ is str and str(kind).startswith("gather") and plan.split.stage < 3):
        return []
    parts = plan.whole("sync_batches")
    sizes: dict[str, Callable[[], tuple[Band | float, str]]] = {
        "fsdp_full_tensor": lambda: _by_state_dict(plan),
        "gather_stored": lambda: _gathered_as_stored(plan, waking=True),
        "gather_stored_before_waking": lambda: _gathered_as_stored(plan, waking=False),
        "gather_model": lambda: (2 * everything, f"{count(everything)} × 2 B"),
        "copy_model": lambda: _copied(plan),
        "gather_in_parts": lambda: (2 * max(everything / parts, table), f"{count(everything)} × 2 B in {parts} parts"),
        "gather_tensor": lambda: (4 * table, f"2 × 2 B × {count(table)}"),
        "bucket": lambda: (_bucket(plan), "one buffer"),
        "weight_and_bucket": lambda: _with_bucket(plan),
    }
    size, how = sizes[str(kind)]()
    source = "torch 2.6 distributed/fsdp/_state_dict_utils.py:157-171; DeepSpeed zero.GatheredParameters"
    moved_by = ("sync_batches", "zero_stage", "layered_summon", "sync_by_tensor", "sync_bucket_mib")
    return [make_term("sync_transient", "weights on their way", "work", size, how, source, moved_by)]


def _by_state_dict(plan: Plan) -> tuple[float, str]:
    """A state dict of shards, whose weights are put together one after the other and cast for the engine.

    FSDP1 gathers the root unit as stored while it goes through the layers, and copies each of its weights whole before it takes its part
    (torch 2.6 and 2.13 distributed/fsdp/_state_dict_utils.py: _common_unshard_pre_state_dict_hook; _shard_utils.py: _create_chunk_dtensor).
    FSDP2 has its shards already.
    """
    (root, layer), table, each = units(plan), plan.shape.embedding, plan.each.weights
    cast = (each + 2) * table
    if plan.values.get("strategy") == "fsdp2":
        return cast, f"{each + 2:g} B × {count(table)}"
    if plan.adapters:
        # of each layer by itself: gathered as its base is stored, and copied
        return 2 * plan.each.unpacked * layer, f"2 × {plan.each.unpacked:g} B × {count(layer)} of one layer"
    beside = max(layer, table)
    return max(each * (root + beside), cast), f"{each:g} B × {count(root)} of the root unit and {count(beside)} copied"


def _copied(plan: Plan) -> tuple[float, str]:
    """All parameters copied in 16 bits by whoever sends them, beside themselves where they had to be gathered first.

    (allenai/open-instruct@e6c3044aa open_instruct/vllm_utils.py: _prepare_params_for_sync)
    """
    copies = 2 if plan.split.stage >= 3 else 1
    return 2.0 * copies * plan.shape.parameters, f"{count(plan.shape.parameters)} × 2 B × {copies}"


def _gathered_as_stored(plan: Plan, waking: bool) -> tuple[float, str]:
    """The whole model beside its own shard, in the type in which it is stored, as FSDP1's summon_full_params gathers it.

    Before the engine wakes its weights are not there yet, which stand among the residents of the phase.
    """
    each, rest = plan.each.unpacked, plan.split.whole - plan.split.shard(plan.split.stage)
    how = f"{count(rest)} × {each:g} B gathered as stored"
    asleep = "engine_weights" in plan.holds("weight_sync", "gpu") and "engine_weights" not in plan.holds(
        "logprob", "gpu"
    )
    if waking or not asleep:
        return each * rest, how
    later = engine_weight_bytes(parameters=plan.shape.parameters, tp=plan.whole("rollout_tp"))
    return max(0.0, each * rest - later), f"{how}, less the engine's weights, which wake afterwards"


def ref_sync(plan: Plan) -> list[Term]:
    """Parameters of policy and reference that stand whole on every GPU while the one is mixed into the other.

    (TRL v0.24.0 trainer/callbacks.py: SyncRefModelCallback gathers both at ZeRO stage 3 alone.)
    """
    kind, synced = plan.does.get("ref_sync", "none"), plan.values.get("sync_ref") is True
    if kind == "none" or not synced or plan.split.stage < 3 or "ref_weights" not in plan.holds("ref_logprob", "gpu"):
        return []
    parts = plan.whole("sync_batches") if kind == "in_parts" else 1
    each = plan.each.weights + plan.each.ref
    size = each * max(plan.shape.parameters / parts, plan.shape.embedding if parts > 1 else 0)
    how = f"{count(plan.shape.parameters)} × ({plan.each.weights:g} + {plan.each.ref:g}) B{f' in {parts} parts' if parts > 1 else ''}"
    source = "DeepSpeed zero.GatheredParameters over the parameters of both"
    return [
        make_term("ref_sync", "policy and reference gathered", "work", size, how, source, ("sync_ref", "zero_stage"))
    ]


def _with_bucket(plan: Plan) -> tuple[Band, str]:
    """The largest weight, whole, beside the buffer through which the engine reads it; or before that what the state dict itself takes."""
    each, buckets = plan.each.weights + (plan.number("sync_cast_bytes") or 0.0), plan.number("sync_buckets") or 1.0
    bucket, whole = _bucket(plan).times(buckets), each * plan.shape.embedding
    first, how = _by_state_dict(plan)
    if plan.values.get("strategy") == "fsdp" and first > bucket.mid + whole:
        return Band(first, first, max(first, bucket.high + whole)), how
    several = f"{buckets:g} buffers" if buckets > 1 else "one buffer"
    return bucket.plus(whole), f"{several} + {each:g} B × {count(plan.shape.embedding)}"


def _bucket(plan: Plan) -> Band:
    stated = plan.number("sync_bucket_mib")
    return exactly(stated * MIB) if stated else Band(0.5 * GIB, 1.0 * GIB, 2.0 * GIB)
