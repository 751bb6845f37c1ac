"""What is parked in a node's RAM: shards of its cards in page-locked memory, of every role that stands there."""

from __future__ import annotations

import math
from collections.abc import Callable

from diagnose.estimate.engine import engine
from diagnose.estimate.plan import Plan
from diagnose.estimate.reward import reward_backup
from diagnose.estimate.roles import of_role, role_of
from diagnose.estimate.term import Band, count, exactly, make_term
from diagnose.estimate.terms_held import held
from diagnose.types import Term
from diagnose.units import GIB, gib

PINNED_SOURCE = "torch 2.6 ATen/core/CachingHostAllocator.h:132"
_DRIVE_SOURCE = (
    "deepspeedai/DeepSpeed@edaa722 runtime/zero/offload_config.py: buffer_count, buffer_size, max_in_cpu; "
    "runtime/swap_tensor/utils.py: SwapBufferManager; partitioned_param_swapper.py"
)
_HYBRID_SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a6 core/optimizer/cpu_offloading/hybrid_optimizer.py: cpu_copy_map_grad, pin_cpu_grads"
)
_PINNED_EACH = Band(1.0, 1.39, 2.0)  # powers of two on sizes that are spread evenly over their logarithm: 2 ln 2
_SUB_GROUP = 10**9  # parameters of a card that are stepped at once: zero/config.py, sub_group_size
_SWAP_GIB = 4.0  # vLLM V0 config.py: swap_space
_SHM_SOURCE = "tmpfs(5): what stands in it is in memory until it is removed"
_CACHE_RATIO = 2.0  # sgl-project/sglang v0.4.4.post1 srt/server_args.py: hicache_ratio
_CACHE_SOURCE = (
    "sgl-project/sglang v0.4.4.post1 srt/mem_cache/memory_pool.py: MHATokenToKVPoolHost, MLATokenToKVPoolHost"
)


def parked(plan: Plan, gpus: int) -> dict[str, list[Term]]:
    """The terms of everything that a node of so many GPUs keeps on the host.

    Each role's shards are as large as its own cards make them. Where roles have more cards together than a node has, it is the node
    with those that park most on each.
    """
    residents = dict.fromkeys(what for (_, pool), all in plan.residents.items() if pool == "host" for what in all)
    roles = {what: role_of(plan, what) for what in residents}
    shards = {what: _shard(of_role(plan, role), what) for what, role in roles.items()}
    each: dict[str, int] = {}
    for what, shard in shards.items():
        role = roles[what]
        each[role] = each.get(role, 0) + (shard.bytes if shard else 0)
    left, cards = gpus, {"actor": min(gpus, plan.gpus)}
    for role in sorted(each, key=lambda role: -each[role]):
        cards[role] = min(left, of_role(plan, role).gpus)
        left -= cards[role]
    return {what: _terms(plan, what, shard, cards[roles[what]]) for what, shard in shards.items()}


def _shard(plan: Plan, what: str) -> Term | None:
    """What one card keeps on the host."""
    if what in _OF_NODE:
        return None
    name = "ref_weights" if what == "ref_gradient_buffer" else what
    return held(plan, name, "host")


def _terms(plan: Plan, what: str, shard: Term | None, gpus: int) -> list[Term]:
    if what in _OF_NODE:
        return _OF_NODE[what](plan, gpus)
    if shard is None or not gpus:
        return []
    if swapped := _on_drive(plan, what, shard, gpus):
        return [swapped]
    title = "reference's unused gradient buffer" if what == "ref_gradient_buffer" else f"{shard.title} on the host"
    return [_pinned(plan, what, title, shard, gpus), *_gradient_copies(plan, what, shard, gpus)]


def _swap_space(plan: Plan, gpus: int) -> list[Term]:
    each = plan.number("swap_space_gib")
    each = _SWAP_GIB if each is None else each
    how = f"{each:g} GiB × {gpus} GPUs"
    source, moved_by = "vLLM V0 config.py: swap_space", ("swap_space_gib",)
    return [make_term("swap_space", "engine's swap space", "engine", each * gpus * GIB, how, source, moved_by)]


def _host_cache(plan: Plan, gpus: int) -> list[Term]:
    """What each rank of the engine keeps of past sequences: so many GB (10⁹), else a multiple of its cache on the card."""
    if each := plan.number("host_cache_gb"):
        size, how = exactly(each * 10**9), f"{each:g} GB"
    else:
        told = plan.number("host_cache_ratio")
        ratio = _CACHE_RATIO if told is None else told
        pool = next(iter(engine(plan, "kv_pool")), None)
        if pool is None:
            return []
        size = Band(*(ratio * bound for bound in (pool.low, pool.bytes, pool.high)))
        how = f"{ratio:g} × {gib(pool.bytes)} GiB of its cache on the card"
    moved_by = ("host_cache_gb", "host_cache_ratio", "gpu_memory_utilization", "n_gpus", "gpus_per_node")
    title = "engine's cache on the host"
    return [make_term("host_cache", title, "engine", size.times(gpus), f"{how} × {gpus} GPUs", _CACHE_SOURCE, moved_by)]


def _shm_model(plan: Plan, gpus: int) -> list[Term]:
    size, how = 2 * plan.shape.parameters, f"{count(plan.shape.parameters)} × 2 B, once a node"
    return [make_term("shm_model", "model's files in /dev/shm", "held", size, how, _SHM_SOURCE, ("model_in_shm",))]


_OF_NODE: dict[str, Callable[[Plan, int], list[Term]]] = {
    "shm_model": _shm_model,
    "swap_space": _swap_space,
    "host_cache": _host_cache,
    "reward_engine": reward_backup,
}


def _gradient_copies(plan: Plan, what: str, shard: Term, gpus: int) -> list[Term]:
    """What Megatron's optimizer on the CPU reads its gradients from: an fp32 copy of each, page-locked, made once and kept."""
    here = plan.values.get("strategy") == "megatron" and plan.values.get("optimizer_on_cpu") is True
    if what != "actor_optimizer" or not here or not plan.each.optimizer:
        return []
    parameters = shard.bytes / plan.each.optimizer
    how = f"{count(parameters)} × 4 B × {gpus} GPUs × {_PINNED_EACH.mid:g} rounded"
    size = _PINNED_EACH.times(4 * parameters * gpus)
    moved_by = ("optimizer_on_cpu", "optimizer_cpu_fraction", "n_gpus", "gpus_per_node")
    return [make_term("gradient_copies", "gradients for the CPU's Adam", "work", size, how, _HYBRID_SOURCE, moved_by)]


def _on_drive(plan: Plan, what: str, shard: Term, gpus: int) -> Term | None:
    """The buffers through which a card's share goes to a drive and back; None where it stays on the host.

    Of Adam's state four that each hold one value of a group of parameters in fp32, of the weights five of 1e8 values and what of them
    may stay in 16 bits.
    """
    if what == "actor_optimizer" and plan.values.get("optimizer_on_nvme") is True:
        group = min(_SUB_GROUP, shard.bytes / plan.each.optimizer)
        size, how = 4 * 4 * group, f"4 buffers × {count(group)} × 4 B × {gpus} GPUs"
    elif what == "actor_weights" and plan.values.get("param_on_nvme") is True:
        kept = min(_SUB_GROUP, shard.bytes / plan.each.weights)
        size, how = 2 * (5 * 1e8 + kept), f"(5 × 100M + {count(kept)}) × 2 B × {gpus} GPUs"
    else:
        return None
    moved_by = ("optimizer_on_nvme", "param_on_nvme", "n_gpus", "gpus_per_node")
    return make_term(what, f"{shard.title}: buffers of the drive", "held", size * gpus, how, _DRIVE_SOURCE, moved_by)


def _pinned(plan: Plan, what: str, title: str, shard: Term, gpus: int) -> Term:
    rounding = _rounding(
        plan, shard.bytes, pieces=round(plan.each.optimizer / plan.each.weights) if "optimizer" in what else 1
    )
    how = f"{shard.how} × {gpus} GPUs{f' × {rounding.mid:.2f} rounded' if not rounding.exact else ''}"
    offload = ("param_offload", "optimizer_offload", "ref_offload", "param_on_cpu", "optimizer_on_cpu")
    size = rounding.times(shard.bytes * gpus)
    return make_term(what, title, "held", size, how, PINNED_SOURCE, (*offload, "n_gpus", "gpus_per_node"))


def _rounding(plan: Plan, size: float, pieces: int) -> Band:
    """The factor that powers of two put on ``size`` bytes of a GPU, parked in ``pieces`` a layer and as many for the rest."""
    if plan.does.get("pinned_rounding") != "power_of_two" or not size:
        return exactly(1.0)
    each = size / max(1, pieces)
    layer = each * plan.shape.layer / plan.shape.parameters
    rest = max(0.0, each - layer * plan.model.layers)
    factor = (_power_of_two(layer) * plan.model.layers + _power_of_two(rest)) / each
    return Band(1.0, min(factor, 2.0), 2.0)


def _power_of_two(size: float) -> float:
    return float(2 ** math.ceil(math.log2(size))) if size > 1 else 0.0
