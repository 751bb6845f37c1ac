"""The rollout engine on a training GPU: its weights, its KV pool by the rule of its version, its graphs.

Rules of the pool: vLLM worker/worker.py and v1/worker/gpu_worker.py of the versions named below.
"""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.batch import whole
from diagnose.conditions import in_range
from diagnose.estimate.cache import cached_bytes_per_token
from diagnose.estimate.encoder import STEP_TOKENS, engine_length, tower_bytes, tried_tokens
from diagnose.estimate.engine_weights import engine_weights, shares_all, shares_base, weight_bytes
from diagnose.estimate.generation import OF_TRAINER, dense_cache
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, exactly, make_term, total
from diagnose.estimate.terms_fixed import CONTEXT, fixed
from diagnose.estimate.terms_held import held
from diagnose.types import CacheRoom, Measured, Term
from diagnose.units import GIB, gib

_RULES = {
    "share_of_total": "vLLM V0 and >= 0.9.1 v1/worker/gpu_worker.py: determine_available_memory",
    "share_of_free": "vLLM 0.6.3 as changed for colocation, worker.py:201-210",
    "share_of_total_less_others": "vLLM V1 <= 0.9.0 v1/worker/gpu_worker.py: determine_available_memory",
    "share_of_empty_card": "vLLM's own rule, with a share of what was free before it; the record of the framework names the file",
    "share_of_rest": "LMDeploy@1263d5c src/turbomind/turbomind.cc: CreateEngine",
    "share_of_start": "SGLang 0.5.2 srt/model_executor/model_runner.py: profile_max_num_token",
}
_SET = "vLLM 0.11 v1/worker/gpu_worker.py: determine_available_memory, kv_cache_memory_bytes"
# They start with any room at all and refuse single requests: SGLang v0.5.3 srt/model_executor/model_runner.py: init_memory_pool;
# LMDeploy@1263d5c src/turbomind/engine/engine.cc. vLLM does not: v1/core/kv_cache_utils.py: check_enough_kv_cache_memory.
_STARTS_ANYHOW = ("sglang", "lmdeploy")
# of few batch sizes: floor, what is usual and cap of unslothai/unsloth-zoo@ce232d6 vllm_utils.py: approximate_vllm_memory_usage
_FEW_GRAPHS = Band(0.15 * GIB, 0.3 * GIB, 1.0 * GIB)
_GRAPHS = Band(0.3 * GIB, 1.2 * GIB, 3.0 * GIB)  # log lines "Graph capturing finished in ... took"
_NON_TORCH = Band(
    0.3 * GIB, 1.0 * GIB, 2.0 * GIB
)  # NCCL and all-reduce buffers of the engine; vLLM pull 10511 prints 1.79 GiB
# SGLang captures up to so many on cards below 60 GB: 0.5.3 srt/server_args.py: _handle_gpu_memory_settings
_FEW_BATCHES = 32
_STEP_SEQUENCES = 256  # vLLM's own defaults, engine/arg_utils.py
_SAMPLER_COPIES = 4


def engine_activation_bytes(*, tokens: float, hidden: int, mlp: int, sequences: float, vocab: int, tp: int) -> float:
    """Peak of the profile run: one step of ``tokens`` and the sampler's fp32 logits of ``sequences`` rows."""
    return 2 * tokens * (2 * hidden + 4 * mlp / tp) + sequences * vocab * 4 * _SAMPLER_COPIES


def kv_pool_bytes(*, rule: str, share: float, capacity: float, own: float, resident: float) -> float:
    """The pool by rule. ``own`` is what the engine itself takes, ``resident`` what else is on the GPU when it starts.

    An empty card holds a context alone.
    """
    if rule in ("share_of_free", "share_of_rest"):
        return share * (capacity - own - resident)
    if rule == "share_of_total_less_others":
        return share * capacity - own - resident
    if rule in ("share_of_start", "share_of_empty_card"):
        return share * (capacity - resident) - own
    return share * capacity - own


@once
def engine(plan: Plan, what: str) -> list[Term]:
    """The terms of one of the engine's residents on the GPU, or of what the trainer takes to generate without one."""
    if what == "engine_weights":
        return [] if shares_all(plan) else [engine_weights(plan)]
    if what == "engine_graphs":
        return _graphs(plan)
    if what in OF_TRAINER:
        return [OF_TRAINER[what](plan)]
    return _pool(plan) if what == "kv_pool" else []


@once
def engine_activations(plan: Plan) -> Term:
    """What a step of the engine needs beside weights and KV; the profile run sets it aside, after one of a vision tower."""
    tokens = whole(plan.values, "max_num_batched_tokens") or STEP_TOKENS
    sequences = whole(plan.values, "max_num_seqs") or _STEP_SEQUENCES
    mid = _activation_bytes(plan)
    how = f"{tokens:,} tokens a step + {sequences:,} sequences × {plan.model.vocab:,} × 4 B × {_SAMPLER_COPIES}"
    moved_by: tuple[str, ...] = ("max_num_batched_tokens", "max_num_seqs", "rollout_tp")
    if shown := tried_tokens(plan):
        how += f", or {shown:,} tokens of images through the vision tower" if _by_tower(plan) else ""
        moved_by = (*moved_by, "engine_image_pixels", "engine_videos", "tries_images", "max_model_len")
    source = "vLLM v1/worker/gpu_model_runner.py: profile_run"
    return make_term(
        "engine_activations", "engine's step", "engine", Band(0.5 * mid, mid, 1.5 * mid), how, source, moved_by
    )


def missing_share(plan: Plan) -> bool:
    """Whether an engine's pool would stand on the trainers' GPUs and its share is unknown."""
    pooled = any("kv_pool" in what for what in plan.residents.values())
    told = plan.number("kv_pool_gib") or plan.number("gpu_memory_utilization") is not None
    return pooled and plan.does.get("kv_rule") != "dense" and not told


def _graphs(plan: Plan) -> list[Term]:
    if plan.values.get("enforce_eager") is True:
        return []
    source = "vLLM issue 7553 and log lines of graph capture"
    few = shares_base(plan) or (whole(plan.values, "graph_batch") or _FEW_BATCHES + 1) <= _FEW_BATCHES
    size, how = (_FEW_GRAPHS, "0.15 to 1 GiB, of few batch sizes") if few else (_GRAPHS, "0.3 to 3 GiB")
    moved_by = ("enforce_eager", "graph_batch", "engine_version")
    return [make_term("engine_graphs", "CUDA graphs", "engine", size, how, source, moved_by)]


def _graphs_in_share(plan: Plan) -> bool:
    """Whether the engine measures its graphs before it sizes the cache (vLLM since 0.20 v1/worker/gpu_worker.py, envs.py:
    VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS); a version that nobody tells counts as one before."""
    version = plan.values.get("engine_version")
    return plan.values.get("rollout_engine") == "vllm" and version is not None and in_range("0.20", "", str(version))


def _pool(plan: Plan) -> list[Term]:
    if plan.does.get("kv_rule") == "dense":
        return [dense_cache(plan)]
    if set_to := plan.number("kv_pool_gib"):
        how = f"{set_to:g} GiB as it is set, whatever the engine's share"
        return [make_term("kv_pool", "KV pool", "engine", set_to * GIB, how, _SET, ("kv_pool_gib",))]
    share, capacity = plan.number("gpu_memory_utilization"), plan.capacity
    if share is None or capacity is None:
        return []
    rule = _rule(plan)
    own, resident = _beside_pool(plan, rule)
    size = Band(*(max(0.0, _left(plan, share, capacity, taken, resident)) for taken in (own.high, own.mid, own.low)))
    taken = f" − {gib(own.mid - (0 if own.exact else _NON_TORCH.mid))} GiB of its own"
    others = f" − {gib(resident)} GiB resident" if resident and rule != "share_of_total" else ""
    if rule in ("share_of_free", "share_of_rest"):
        how = f"{share:g} × ({gib(capacity)} GiB{taken}{others})"
    elif rule in ("share_of_start", "share_of_empty_card"):
        how = f"{share:g} × ({gib(capacity)} GiB{others}){taken}"
    else:
        how = f"{share:g} × {gib(capacity)} GiB{taken}{others}"
    moved_by = ("gpu_memory_utilization", "rollout_tp", "engine_version", "param_offload", "max_num_seqs")
    return [make_term("kv_pool", "KV pool", "engine", size, how, _RULES[rule], moved_by)]


def cache_room(
    plan: Plan | None, measured: Sequence[Measured] = (), unseen: int = 0, card: int | None = None
) -> CacheRoom | None:
    """What the engine's start leaves its cache; None without an engine of this kind, or where its share or the card is not known.

    ``measured`` are the readings of the log, of which the last of a cache tells what is left. ``unseen`` bytes stand on the card that the
    plan does not know, as a reading of what was free showed before a change. A ``card`` of so many bytes is meant where nobody tells its
    size; what the log shows free before the engine loaded tells it where the share is one of that.
    """
    share = plan.number("gpu_memory_utilization") if plan else None
    if plan is None or share is None or plan.does.get("kv_rule") == "dense":
        return None
    capacity = plan.capacity or card or _card_by_free(plan, measured)
    if capacity is None:
        return None
    own, resident = _beside_pool(plan, _rule(plan))
    unseen = _unseen(plan, capacity - resident, measured) or unseen
    resident += unseen
    left, weights = _left(plan, share, capacity, own.mid, resident), weight_bytes(plan)
    if set_to := plan.number("kv_pool_gib"):
        left = set_to * GIB
    others = 0.0 if plan.serves or _rule(plan) in ("share_of_total", "share_of_empty_card") else resident
    tokens, token = engine_length(plan), token_bytes(plan)
    parts = (own.mid + others + left, weights, own.mid - weights, others - unseen, left, tokens * token)
    taken, weighed, worked, stands, rest, row = (round(part) for part in parts)
    refuses = plan.values.get("rollout_engine") not in _STARTS_ANYHOW
    caches = [one for one in measured if one.counter in ("kv_pool", "kv_tokens")]
    shown = round(caches[-1].tokens * token) or caches[-1].bytes if caches else None
    doubt = round(own.high - own.mid)
    return CacheRoom(taken, weighed, worked, stands, rest, row, tokens, doubt, token, refuses, shown, unseen, capacity)


def _card_by_free(plan: Plan, measured: Sequence[Measured]) -> int | None:
    """Bytes of the card by what the log shows free before the engine loaded; None where its share is not one of what is free then."""
    read = free_before(measured) if _rule(plan) == "share_of_start" else 0
    return round(_beside_pool(plan, _rule(plan))[1]) + read if read else None


def _unseen(plan: Plan, free: float, measured: Sequence[Measured]) -> int:
    """Bytes by which less was free before the engine loaded than the plan leaves, where its share is one of what is free then."""
    read = free_before(measured)
    return max(0, round(free) - read) if read and _rule(plan) == "share_of_start" else 0


def free_before(measured: Sequence[Measured]) -> int:
    """Bytes that the log shows free before the engine loaded; 0 where it does not tell."""
    read = [one.bytes for one in measured if (one.counter, one.phase, one.moment) == ("free", "init", "before")]
    return read[-1] if read else 0


def token_bytes(plan: Plan) -> float:
    """KV bytes of a token on one GPU of the engine."""
    each = 1 if plan.values.get("kv_cache_dtype") == "fp8" else 2
    return cached_bytes_per_token(plan.model, plan.whole("rollout_tp"), each) / plan.whole("rollout_pp")


def _rule(plan: Plan) -> str:
    return str(plan.does.get("kv_rule", "share_of_total"))


def _left(plan: Plan, share: float, capacity: float, own: float, resident: float) -> float:
    """Bytes for the cache by the rule of the version, below 0 where the engine's own needs are larger than its share."""
    return kv_pool_bytes(rule=_rule(plan), share=share, capacity=capacity, own=own, resident=resident)


def _beside_pool(plan: Plan, rule: str) -> tuple[Band, float]:
    """What the engine takes of its share for itself, and what stands on the GPU before it starts, in bytes.

    SGLang's share is one of what is free before it loads, and only its weights come out of it; LMDeploy's one of what they leave.
    """
    weights, resident = weight_bytes(plan), _resident_at_start(plan)
    if rule in ("share_of_start", "share_of_rest"):
        return exactly(weights), resident + total(fixed(plan)).mid
    own = weights + _activation_bytes(plan)
    beside = [_NON_TORCH, total(_graphs(plan))] if _graphs_in_share(plan) else [_NON_TORCH]
    low, mid, high = (own + sum(edge) for edge in zip(*beside, strict=True))
    return Band(low, mid, high), resident


@once
def _activation_bytes(plan: Plan) -> float:
    """The larger of the two passes that are tried: images through the tower, then one step with what the tower gave beside it."""
    shown = tried_tokens(plan)
    given = 2 * shown * plan.model.hidden
    return given + max(tower_bytes(plan, shown), _step_bytes(plan))


def _by_tower(plan: Plan) -> bool:
    return tower_bytes(plan, tried_tokens(plan)) > _step_bytes(plan)


@once
def _step_bytes(plan: Plan) -> float:
    return engine_activation_bytes(
        tokens=whole(plan.values, "max_num_batched_tokens") or STEP_TOKENS,
        hidden=plan.model.hidden,
        mlp=plan.model.moe.width * plan.model.moe.active if plan.model.moe else plan.model.intermediate,
        sequences=whole(plan.values, "max_num_seqs") or _STEP_SEQUENCES,
        vocab=plan.model.vocab,
        tp=plan.whole("rollout_tp"),
    )


def _resident_at_start(plan: Plan) -> float:
    """Bytes of the trainer that stand on the GPU when the engine sizes its pool; none where the engine is there first."""
    if _rule(plan) == "share_of_empty_card":
        return CONTEXT.mid
    phase = "init" if "init" in plan.phases else "load"
    terms = (held(plan, what) for what in plan.holds(phase, "gpu"))
    return float(sum(term.bytes for term in terms if term and term.family == "held"))
