"""A frozen vision tower: what it keeps where gradients are asked of its inputs, and where nothing asks them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate.plan import make_plan
from diagnose.estimate.rows import image_patches
from diagnose.estimate.terms_vision import vision_tower
from diagnose.estimate.tokens import take

LAYERS, CHECKPOINT, LEAST, PLAIN = 32, 2 * 1280 * 32, 6 * (1280 + 3420), 30 * 1280 + 8 * 3420


@pytest.mark.parametrize(
    ("does", "adapters", "version", "own", "each"),
    [
        ("bare", "full", "5.0.0", None, LAYERS * PLAIN),
        ("bare", "full", "4.57.1", None, LEAST),
        ("bare", "full", "5.0.0", True, CHECKPOINT),
        ("kept", "full", "5.0.0", None, CHECKPOINT),
        ("kept", "full", "5.0.0", False, LAYERS * PLAIN),
        ("dropped", "lora", "5.0.0", None, CHECKPOINT),
        ("dropped", "lora", "4.57.1", None, LEAST),
        ("dropped", "full", "5.0.0", None, LEAST),
    ],
)
def test_a_later_transformers_asks_gradients_of_a_frozen_towers_inputs(
    facts: Any, record: Any, vision_model: Any, does: str, adapters: str, version: str, own: bool | None, each: float
) -> None:
    """transformers v5.0.0 modeling_utils.py: enable_input_require_grads; v4.57.1 asks them of the decoder's embedding alone"""
    tower = replace(vision_model.vision, hooked=True)
    run = {"freeze_vision": True, "max_pixels": 784_000, "full_or_lora": adapters, "vision_checkpointing": own}
    plan, _ = make_plan(facts(record(frozen_tower=does), replace(vision_model, vision=tower), **run), None)
    assert plan is not None
    one = take(plan, "update")
    (known,) = vision_tower(replace(plan, transformers=version), one, trains=True)
    (unhooked,) = vision_tower(replace(plan, model=vision_model, transformers=version), one, trains=True)
    assert known.bytes == pytest.approx(image_patches(plan, one.rows).mid * one.rows * each, rel=1e-6)
    assert unhooked.bytes <= known.bytes


def test_of_no_known_version_a_tower_without_checkpoints_may_keep_little(
    facts: Any, record: Any, vision_model: Any
) -> None:
    model = replace(vision_model, vision=replace(vision_model.vision, hooked=True))
    plan, _ = make_plan(facts(record(frozen_tower="bare"), model, freeze_vision=True, max_pixels=784_000), None)
    assert plan is not None
    (term,) = vision_tower(plan, take(plan, "update"), trains=True)
    assert term.low < term.bytes / 20
