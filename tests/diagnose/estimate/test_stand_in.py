"""Models of which only the size is known."""

from __future__ import annotations

import pytest

from diagnose.estimate import shape, stand_in
from diagnose.knowledge import current


@pytest.mark.parametrize("size", [0, -7, 0.05, 235, 671])
def test_it_has_no_stand_in_beyond_the_sizes_of_dense_models(size):
    assert stand_in.shape_from_params(size) is None


@pytest.mark.parametrize("size", [0.5, 1.5, 3, 7, 14, 32, 72])
def test_a_stand_in_of_a_published_size_has_the_published_shape(size):
    assumed, published = stand_in.shape_from_params(size), current().models[f"qwen2.5-{size:g}b"]

    for name in (
        "hidden",
        "layers",
        "heads",
        "kv_heads",
        "intermediate",
        "vocab",
        "tied",
        "published",
        "attention_bias",
    ):
        assert getattr(assumed, name) == getattr(published, name), name


@pytest.mark.parametrize("size", [0.135, 0.6, 1, 2, 4, 6, 8, 9, 13, 24, 27, 34, 70, 110])
def test_a_stand_in_has_about_the_size_that_was_said(size):
    assumed = stand_in.shape_from_params(size)

    assert shape.parameters(assumed) / 1e9 == pytest.approx(size, rel=0.12)
    assert assumed.params_b == size


def test_a_stand_in_is_marked_as_assumed():
    assert stand_in.shape_from_params(13).family == "assumed"


def test_stand_ins_grow_with_the_size():
    counts = [shape.parameters(stand_in.shape_from_params(size / 10)) for size in range(1, 1500, 3)]

    assert counts == sorted(counts)


def test_what_a_stand_in_holds_is_near_what_models_of_its_size_hold():
    """Nine in ten of the dense models of text, by the size that their names tell (diagnose/estimate/doubt.py)."""
    models = [model for model in current().models.values() if not (model.moe or model.vision)]
    pairs = [(stand_in.shape_from_params(model.params_b), model.published) for model in models]
    apart = sorted(abs(shape.parameters(one) / count - 1) for one, count in pairs if one)
    assert len(apart) > 100
    assert apart[int(0.9 * len(apart))] < 0.09
