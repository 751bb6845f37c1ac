"""What a vision tower keeps of the images of a pass."""

from __future__ import annotations

from diagnose.estimate.layer import Widths, checkpoint_bytes_per_token, no_grad_bytes_per_token
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import in_fp32
from diagnose.estimate.rows import image_patches
from diagnose.estimate.term import count, counts, make_term
from diagnose.estimate.terms_activation import LAYER, checkpointing
from diagnose.estimate.tokens import Pass
from diagnose.estimate.tower import tower_bytes_per_patch
from diagnose.types import Term


def vision_tower(plan: Plan, one: Pass, trains: bool) -> list[Term]:
    """What the vision tower keeps of the images of one pass; one layer's tensors where nothing of it ``trains``.

    Where gradients are asked of a frozen tower's inputs its checkpoints stay too. Its layers are recomputed when the decoder is done,
    as the decoder's are unless a switch of its own says otherwise.
    """
    patches, tower = image_patches(plan, one.rows), plan.model.vision
    if not patches.mid or not tower:
        return []
    beside = plan.values.get("trains_vision") is True
    frozen = not trains or (not beside and (plan.values.get("freeze_vision") is True or bool(plan.adapters)))
    wide = 2 if in_fp32(plan) else 1
    mlp, each = tower.intermediate or 4 * tower.hidden, tower_bytes_per_patch(tower, wide == 2)
    checkpoints = checkpoint_bytes_per_token(hidden=tower.hidden, layers=tower.layers, bytes_each=2 * wide)
    own = plan.values.get("vision_checkpointing")
    recomputed = checkpointing(plan) == "full" if own is None else own is True
    if frozen and trains and recomputed and (own is True or plan.does.get("frozen_tower") == "kept"):
        each = checkpoints
    elif frozen:
        each = wide * no_grad_bytes_per_token(Widths(tower.hidden, mlp, tower.hidden, 0, False))
    elif recomputed:
        each += checkpoints
    else:
        each *= tower.layers
    how = f"{count(one.rows)} rows × {counts(patches)} patches × {each:,.0f} B"
    moved_by = (*one.moved_by, "max_pixels", "images_per_prompt", "freeze_vision", "vision_checkpointing")
    size = patches.times(one.rows * each)
    return [make_term("vision_tower", "vision tower's activations", "work", size, how, LAYER, moved_by)]
