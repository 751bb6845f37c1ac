"""What a vision tower keeps of the images of a pass."""

from __future__ import annotations

from diagnose.conditions import in_range
from diagnose.estimate.layer import Widths, checkpoint_bytes_per_token, no_grad_bytes_per_token
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import in_fp32
from diagnose.estimate.rows import image_patches
from diagnose.estimate.term import Band, count, counts, make_term
from diagnose.estimate.terms_activation import LAYER, checkpointing
from diagnose.estimate.tokens import Pass
from diagnose.estimate.tower import tower_bytes_per_patch
from diagnose.knowledge.hardware import Vision
from diagnose.types import Term

_HOOKED_SINCE = "5.0"
_IMAGES = ("max_pixels", "image_tiles", "images_per_prompt", "video_frames")
_MOVED_BY = (*_IMAGES, "freeze_vision", "vision_checkpointing")


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
    own, does = plan.values.get("vision_checkpointing"), plan.does.get("frozen_tower")
    bare = frozen and (does == "bare" if own is None else own is False)
    recomputed = not bare and (checkpointing(plan) == "full" if own is None else own is True)
    asked = trains and _asked_by_hook(plan, tower)
    least = wide * no_grad_bytes_per_token(Widths(tower.hidden, mlp, tower.hidden, 0, False))
    if frozen and trains and recomputed and (own is True or does == "kept" or asked):
        each = checkpoints
    elif frozen and not (bare and asked):
        each = least
    elif recomputed:
        each += checkpoints
    else:
        each *= tower.layers
    how = f"{count(one.rows)} rows × {counts(patches)} patches × {each:,.0f} B"
    moved_by = (*one.moved_by, *_MOVED_BY)
    size = patches.times(one.rows * each)
    if bare and asked and plan.transformers is None:
        size = Band(patches.low * one.rows * least, size.mid, size.high)
    return [make_term("vision_tower", "vision tower's activations", "work", size, how, LAYER, moved_by)]


def _asked_by_hook(plan: Plan, tower: Vision) -> bool:
    """Whether gradients are asked of a frozen tower's inputs with those of the decoder: under adapters, or as the trainer does anyway.

    (transformers 5.0 modeling_utils.py: enable_input_require_grads goes through all modules; before it took the decoder's embedding.)
    Where nothing tells the version only a trainer counts that asks by itself.
    """
    by_itself = plan.does.get("frozen_tower") in ("kept", "bare")
    later = in_range(_HOOKED_SINCE, "", plan.transformers) if plan.transformers else by_itself
    return tower.hooked and later and checkpointing(plan) == "full" and (by_itself or bool(plan.adapters))
