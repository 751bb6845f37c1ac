"""What loading a model and saving a checkpoint take on a node, as the framework's record says how it does either."""

from __future__ import annotations

from collections.abc import Callable

from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, count, make_term
from diagnose.types import Term

_HANDING_SOURCE = "torch 2.6 distributed/fsdp: summon_full_params, and the code of the framework, as its record says"
_STATE_SOURCE = (
    "accelerate@16cb6eb utils/fsdp_utils.py: save_fsdp_model, save_fsdp_optimizer; accelerator.py: get_state_dict"
)
_SAVING_SOURCE = "accelerate 1.9 accelerator.py: get_state_dict; transformers 4.57 and 5.0 trainer.py: save_model"


def loading(plan: Plan, gpus: int) -> list[Term]:
    """Weights that stand on the node while the trainer loads them."""
    kind = str(plan.does.get("load_on_host", "none"))
    if kind == "none":
        return []
    each = 4 if kind.endswith("fp32") and not plan.adapters else 2
    one = each * plan.shape.parameters
    source = "loading code of the framework, as its record says"
    if kind == "own_part_bf16":
        # a rank that finds its part in the files reads it alone; where it cannot, one rank of the run reads everything
        part = gpus * each * plan.split.whole
        how = f"{count(plan.split.whole)} × {each} B × {gpus} ranks, or the whole model on one"
        size = Band(part, part, max(part, one))
        return [make_term("loading", "weights while loading", "work", size, how, source, ("tp", "pp", "ep"))]
    if kind == "written_bf16":
        # each rank copies to the host what of the model no other writes; a checkpoint that was converted before is only read
        written = one * min(1.0, gpus / plan.gpus)
        how = f"{count(plan.shape.parameters)} × {each} B, written out once where no converted checkpoint stands"
        size = Band(0, written, written)
        return [make_term("loading", "weights while converting", "work", size, how, source, ("n_gpus",))]
    ranks = gpus if kind.startswith("every_rank") else 1
    # Tied embeddings keep a rank from starting with empty weights in some trainers: then every rank loads.
    size = Band(ranks * one, ranks * one, (gpus if plan.model.tied else ranks) * one)
    how = f"{count(plan.shape.parameters)} × {each} B × {ranks} rank{'s' if ranks > 1 else ''}"
    return [make_term("loading", "weights while loading", "work", size, how, source, ("n_gpus", "gpus_per_node"))]


def handing_over(plan: Plan, gpus: int) -> list[Term]:
    """The base of adapters, which every rank moves to the host and gathers there to send it to an engine that has none.

    FSDP1 moves its flat parameters beside the tensors that are sent: four workers of a 7B held 56.5 GiB each (verl issue 2950).
    """
    kind = str(plan.does.get("sync_on_host", "none"))
    if kind == "none" or not plan.adapters:
        return []
    ranks, each = min(gpus, plan.gpus), plan.each.unpacked
    copies = 2 if kind.startswith("base_twice") else 1
    one = each * plan.shape.parameters * ranks
    how = f"{'2 × ' if copies > 1 else ''}{count(plan.shape.parameters)} × {each:g} B × {ranks} ranks"
    moved_by = ("layered_summon", "n_gpus", "gpus_per_node")
    size = Band(one, copies * one, copies * one)
    return [make_term("handed_over", "base weights handed over", "work", size, how, _HANDING_SOURCE, moved_by)]


def saving(plan: Plan, gpus: int) -> list[Term]:
    """What stands on the node while a checkpoint is written."""
    kind = str(plan.does.get("checkpoint_on_host", "none"))
    everything = plan.adapters or plan.shape.parameters
    # What is parked on the host already is saved from there.
    parked = plan.holds("checkpoint", "host")
    weights = 0.0 if "actor_weights" in parked else plan.each.weights
    optimizer = 0.0 if "actor_optimizer" in parked else plan.each.optimizer
    sizes: dict[str, Callable[[], float]] = {
        "sharded_all": lambda: (weights + optimizer) * everything * min(1.0, gpus / plan.gpus),
        "whole_fp32": lambda: 4 * everything,
        "whole_bf16": lambda: 2 * everything,
    }
    if kind in ("gathered_state", "sharded_state", "sharded_weights"):
        return [_in_turn(plan, kind, 1.0 if kind == "gathered_state" else min(1.0, gpus / plan.gpus))]
    if kind.endswith("with_frozen"):
        return [_saving_all(plan, min(gpus, plan.gpus) if kind.startswith("every_rank") else 1)]
    if kind not in sizes:
        return []
    how = f"{count(everything)} trained parameters, {kind.replace('_', ' ')}"
    source = "checkpoint code of the framework, as its record says"
    return [make_term("saving", "weights while saving", "work", sizes[kind](), how, source, ("n_gpus",))]


def _saving_all(plan: Plan, ranks: int) -> Term:
    """All weights, frozen ones too, as they stand on the cards: of ``ranks`` each its own copy, though one writes it.

    One rank gathers them under ZeRO-3, without the frozen ones since transformers 5.0.
    """
    each = plan.each.stored
    whole = ranks * (each * plan.shape.parameters + 2 * plan.adapters)
    low = 2.0 * plan.adapters if plan.adapters and ranks == 1 else whole
    how = f"{count(plan.shape.parameters)} × {each:g} B × {ranks} rank{'s' if ranks > 1 else ''}, frozen weights too"
    moved_by = ("n_gpus", "gpus_per_node", "zero_stage")
    return make_term("saving", "weights while saving", "work", Band(low, whole, whole), how, _SAVING_SOURCE, moved_by)


def _in_turn(plan: Plan, kind: str, share: float) -> Term:
    """What FSDP moves to a node to save it: all weights, frozen ones too, then in their place Adam's state of what is trained.

    ``share`` of it: all where one rank gathers it. A run that saves no state of Adam, or writes it from the cards, stops at the weights.
    """
    each = plan.each.stored
    trained = plan.adapters or plan.shape.parameters
    weights = share * (each * plan.shape.parameters + 2 * plan.adapters)
    state = share * plan.each.optimizer * trained if kind.endswith("state") else 0.0
    size = Band(weights, max(weights, state), max(weights, state))
    how = f"{count(plan.shape.parameters)} × {each:g} B of weights, frozen ones too"
    if state:
        how = f"the larger of {how}, and {count(trained)} × {plan.each.optimizer:g} B of Adam state"
    how += f" × {share:g} on this node" if share < 1 else ""
    source = _STATE_SOURCE if state else "checkpoint code of the framework, as its record says"
    moved_by = ("gather_on_save", "full_or_lora", "n_gpus", "gpus_per_node")
    return make_term("saving", f"{'state' if state else 'weights'} while saving", "work", size, how, source, moved_by)
