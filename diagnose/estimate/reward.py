"""A reward model on the run's cards: its weights as the trainer keeps them, or an engine of its own that scores."""

from __future__ import annotations

from diagnose.estimate.parted import other_size, spread_over
from diagnose.estimate.plan import Plan
from diagnose.estimate.roles import at_own_stage
from diagnose.estimate.term import exactly, make_term
from diagnose.types import Term
from diagnose.units import gib

_ZERO = "ZeRO, arXiv:1910.02054, section 3"
_SHARE = (
    "vLLM v0.9.1 v1/worker/gpu_worker.py: determine_available_memory: weights, graphs and cache together fill the share"
)
_ASLEEP = "vLLM v0.8.5 device_allocator/cumem.py: sleep at level 1 keeps the weights in page-locked memory"
_BYTES = 2  # of a parameter, as an engine loads it
_MOVED_BY = ("has_reward_model", "reward_b", "reward_tp")


def reward_weights(plan: Plan) -> Term:
    """Its weights in 16 bits, sharded as the trained model is unless a stage of its own says how."""
    plan = at_own_stage(plan, "reward_zero_stage")
    size = float(plan.split.shard(3) * _BYTES)
    how = f"taken as large as the model: {spread_over(plan, 3)} × {_BYTES} B"
    if other := other_size(plan, "reward_b", 3, _BYTES):
        size, how = other
    moved_by = ("has_reward_model", "reward_b", "reward_zero_stage")
    return make_term("reward_weights", "reward model", "held", size, how, _ZERO, moved_by)


def reward_engine(plan: Plan) -> Term:
    """The share of the card that its engine fills while it is awake; its weights alone where the card is not known."""
    share, capacity = plan.number("reward_utilization"), plan.capacity
    if share and capacity:
        size, how = share * capacity, f"{share:g} × {gib(capacity)} GiB"
    else:
        size, how = _engine_weights(plan)
    moved_by = (*_MOVED_BY, "reward_utilization")
    return make_term("reward_engine", "reward model's engine", "engine", size, how, _SHARE, moved_by)


def reward_backup(plan: Plan, gpus: int) -> list[Term]:
    """The weights of its engines in a node's RAM while they sleep."""
    size, how = _engine_weights(plan)
    title, size_of_node = "reward model's weights while its engine sleeps", exactly(size).times(gpus)
    return [make_term("reward_engine", title, "engine", size_of_node, f"{how} × {gpus} GPUs", _ASLEEP, _MOVED_BY)]


def _engine_weights(plan: Plan) -> tuple[float, str]:
    """Bytes of one card, and the same in words: split over the engine's cards; as large as the policy where nothing tells its size."""
    tp, billions = max(1, plan.whole("reward_tp")), plan.number("reward_b")
    parameters = billions * 1e9 if billions else plan.shape.parameters
    taken = "" if billions else "taken as large as the model: "
    return parameters * _BYTES / tp, f"{taken}{parameters / 1e9:.3g} G ÷ {tp} × {_BYTES} B"
