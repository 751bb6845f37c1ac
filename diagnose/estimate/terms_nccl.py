"""What NCCL keeps on a card beside torch's memory: buffers for every group of ranks that a process talks in.

Of one peer that sends to it over one channel a rank keeps a buffer of each protocol (NVIDIA/nccl@5067397 src/init.cc: computeBuffSizes;
src/transport/p2p.cc: p2pRecvSetup). In a ring that is one peer, in an all-to-all every other rank of its node, since those of other
nodes share theirs (src/transport/net.cc: NET_SHARED_BUFFERS). Megatron makes a group for each way in which its ranks share work
(NVIDIA/Megatron-LM@d98e8a6 core/parallel_state.py: initialize_model_parallel); of large sparse models over many nodes they took more
than 10 GB (THUDM/slime docs/en/blogs/release_v0.1.0.md).
"""

from __future__ import annotations

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, make_term
from diagnose.types import Term
from diagnose.units import GIB

FEW_GROUPS = Band(0.3 * GIB, 0.7 * GIB, 1.5 * GIB)
_ASSUMED = "a heuristic band without a published source; to be calibrated"
_SOURCE = "NVIDIA/nccl@5067397 src/init.cc: computeBuffSizes; Megatron-LM core/parallel_state.py; how many channels is assumed"
_OF_CHANNEL = 8 * 512 * 8 * 16 + 120 * 640 * 8 * 8 + 4 * 2**20  # bytes: LL, LL128 and Simple
CHANNELS = Band(4, 16, 32)


def nccl(plan: Plan) -> Term | None:
    """NCCL's buffers on one card; None where it talks to no other."""
    if plan.gpus <= 1:
        return None
    if plan.values.get("strategy") != "megatron":
        return make_term("nccl", "NCCL buffers", "fixed", FEW_GROUPS, "0.3 to 1.5 GiB", _ASSUMED, ("n_gpus",))
    groups, peers = megatron_groups(plan), _peers_beside(plan)
    how = f"{groups} groups{f' and {peers} more peers of an all-to-all' if peers else ''} × 4 to 32 channels × 9.2 MiB"
    size = CHANNELS.times(_OF_CHANNEL * (groups + peers))
    return make_term("nccl", "NCCL buffers", "fixed", size, how, _SOURCE, ("n_gpus", "tp", "pp", "ep", "etp", "sp"))


def _peers_beside(plan: Plan) -> int:
    """The other ranks of an all-to-all between experts that stand in the same node."""
    if not plan.model.moe:
        return 0
    return max(0, min(plan.whole("ep"), int(plan.number("gpus_per_node") or 8)) - 1)


def megatron_groups(plan: Plan) -> int:
    """Groups of more than one rank in which a rank of Megatron talks.

    All ranks, those of the data with the context's and without, of tensors, context and pipeline, of the shared table, of one model; of a
    sparse one experts, parts of one expert, both together, what has the same experts, and all that the router's loss is averaged over.
    """
    tp, pp, cp, ep = (plan.whole(id) for id in ("tp", "pp", "sp", "ep"))
    data = max(1, plan.gpus // (tp * pp * cp))
    sizes = [plan.gpus, data, data * cp, tp, cp, pp, pp, tp * pp]
    if plan.model.moe:
        etp = plan.whole("etp") if "etp" in plan.values else tp
        sizes += [ep, etp, ep * etp, plan.gpus // (pp * ep * etp), tp * data * cp]
    return sum(size > 1 for size in sizes)
