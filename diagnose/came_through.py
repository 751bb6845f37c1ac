"""What a run that came so far must have been: a default by which it could not have is left for a value by which it could.

Nothing that is read or answered is touched. A launch file that is not in the paste may share out what the default leaves whole, and the
engine of a large model is spread over more cards than that of a small one.
"""

from __future__ import annotations

from diagnose.batch import whole
from diagnose.estimate import cache_room, estimate, plan_of
from diagnose.facts.settings.complete import complete
from diagnose.facts.settings.defaults import as_answered
from diagnose.knowledge.records import Framework
from diagnose.outlived import behind, how_far, kept_through, outlived
from diagnose.types import Estimate, Fact, Facts, Paste
from diagnose.units import gib
from diagnose.vocabulary import PHASES, POOL_OF_KIND

_ON_ONE_NODE = 8  # cards of a machine: an engine is rarely spread over a network
_OPEN = ("default", "assumed")
_PARTS = ("tp", "pp", "ep", "etp")
_SHARING = ("strategy", "zero_stage")


def as_it_came_through(facts: Facts, before: Estimate, paste: Paste, fallback: Framework | None) -> Facts:
    """These facts, in place of a default that the run has outlived the value by which it has not; as they are where none helps.

    ``before`` is the estimate by these facts.
    """
    told = facts.values.get("phase")
    phase = None if told is None else str(told)
    found = _engine_over_more(facts, phase, paste, fallback)
    # activations once more where only what is shared out leaves them room
    for change in (_recomputing, _shared_out, _parted, _by_layers, _recomputing):
        found = change(found, before if found is facts else estimate(found, fallback), phase, paste, fallback)
    return found


def _shared_out(facts: Facts, before: Estimate, phase: str | None, paste: Paste, fallback: Framework | None) -> Facts:
    """The same with everything shared out, where a card cannot have held all of it. Not of Megatron, which knows no such stage."""
    if facts.values.get("strategy") == "megatron":
        return facts
    cards, elsewhere = whole(facts.values, "n_gpus") or 1, outlived(facts, before, phase, within=False)
    over = elsewhere or (None if complete(paste) else outlived(facts, before, phase))
    if over is None or before.gpu is None or before.gpu.limit is None or cards == 1 or not _open(facts, *_SHARING):
        return facts
    why = f"whole on each card the {PHASES[over.phase]} takes {gib(over.least)} of {gib(before.gpu.limit)} GiB"
    stage = Fact("zero_stage", 3, "assumed", why=f"{why}, and {how_far(facts, phase, over.phase)}")
    shared = as_answered(facts, stage, paste)
    left = outlived(shared, estimate(shared, fallback), phase, within=elsewhere is None)
    return shared if left is None else facts


def _by_layers(facts: Facts, before: Estimate, phase: str | None, paste: Paste, fallback: Framework | None) -> Facts:
    """The same with adapters handed over layer by layer, where a card cannot have gathered the whole model for them and did."""
    over = outlived(facts, before, phase, within=False)
    whole_model = facts.values.get("layered_summon") is False and _open(facts, "layered_summon")
    if over is None or over.phase != "weight_sync" or not whole_model or complete(paste) or not before.gpu:
        return facts
    why = f"with the whole model gathered the {PHASES[over.phase]} takes {gib(over.least)} of {gib(before.gpu.limit or 0)} GiB"
    layered = as_answered(
        facts, Fact("layered_summon", True, "assumed", why=f"{why}, and {how_far(facts, phase, over.phase)}"), paste
    )
    left = outlived(layered, estimate(layered, fallback), phase, within=False)
    return layered if left is None or left.phase != over.phase else facts


def _parted(facts: Facts, before: Estimate, _phase: str | None, paste: Paste, fallback: Framework | None) -> Facts:
    """The same with Megatron's tensors over as few cards as hold them, where the host failed and one card cannot have held all of it.

    Layers or experts may be what was split: weights, gradients and Adam come to much the same. Where a card failed the default may be why.
    """
    if facts.values.get("strategy") != "megatron" or complete(paste) or not _open(facts, *_PARTS):
        return facts
    on_host = POOL_OF_KIND.get(str(facts.values.get("oom_kind"))) == "host"
    load, limit = _low(before, "load"), before.gpu.limit if before.gpu else None
    if limit is None or load <= limit or not on_host:
        return facts
    cards, node = 1, whole(facts.values, "gpus_per_node") or _ON_ONE_NODE
    most, found = min(node, whole(facts.values, "n_gpus") or node), facts
    why = f"whole on each card the {PHASES['load']} takes {gib(load)} of {gib(limit)} GiB"
    while (cards := 2 * cards) <= most:
        parted = as_answered(facts, Fact("tp", cards, "assumed", why=why), paste)
        after = estimate(parted, fallback)
        if _low(after, "load") <= limit:
            found = parted
            if _low(after) <= limit:
                break
    return found


def _low(estimated: Estimate, name: str = "") -> int:
    """The low end of a phase on a card, or of the highest one, in bytes."""
    return max(
        (one.low for one in (estimated.gpu.phases if estimated.gpu else ()) if name in ("", one.phase)), default=0
    )


def _recomputing(facts: Facts, before: Estimate, phase: str | None, paste: Paste, fallback: Framework | None) -> Facts:
    """The same with activations recomputed, where a card cannot have held those of all layers and did, or it would have failed earlier.

    Not of a whole command: it says all that ran, so that the estimate is what is doubted.
    """
    kept, limit = kept_through(facts, before, phase), before.gpu.limit if before.gpu else None
    off = facts.values.get("gradient_checkpointing") is False and _open(facts, "gradient_checkpointing")
    if phase is None or not off or limit is None or kept <= limit or complete(paste):
        return facts
    why = f"without it the {PHASES[phase]} holds {gib(kept)} of {gib(limit)} GiB when its layers are through, and they were"
    again = as_answered(facts, Fact("gradient_checkpointing", True, "assumed", why=why), paste)
    return again if kept_through(again, estimate(again, fallback), phase) <= limit else facts


def _engine_over_more(facts: Facts, phase: str | None, paste: Paste, fallback: Framework | None) -> Facts:
    """The same with the engine over more cards, where on as few it would not have started."""
    room = cache_room(plan_of(facts, fallback), facts.measured)
    if room is None or room.verdict != "out" or "init" not in behind(facts, phase) or not _open(facts, "rollout_tp"):
        return facts
    cards, node = whole(facts.values, "rollout_tp") or 1, whole(facts.values, "gpus_per_node") or _ON_ONE_NODE
    most = min(node, whole(facts.values, "n_gpus") or node)
    why = f"on {cards} its weights leave no room for a cache, and {how_far(facts, phase)}"
    while (cards := 2 * cards) <= most:
        spread = as_answered(facts, Fact("rollout_tp", cards, "assumed", why=why), paste)
        left = cache_room(plan_of(spread, fallback), facts.measured)
        if left is not None and left.verdict != "out":
            return spread
    return facts


def _open(facts: Facts, *ids: str) -> bool:
    """Whether nobody says any of these."""
    return all(id not in facts.stated or facts.stated[id].origin in _OPEN for id in ids)
