"""Tuners that are no pair of narrow matrices, as peft 0.20 writes them; tests/data/trainers/swift-4.6.toml holds what they allocate."""

from __future__ import annotations

import pytest

from tests.runs import Run, run_of

H, F, KEYS, LAYERS = 3584, 18944, 512, 28  # Qwen2.5-7B
INPUTS, OUTPUTS = 6 * H + F, 2 * H + 2 * KEYS + 2 * F + H


def told(more: str) -> Run:
    text = f"swift sft --model Qwen/Qwen2.5-7B --max_length 1024 {more}"
    return run_of(text, {"gpu_model": "A100", "gpu_mem_gib": 80, "n_gpus": 1})


def size(run: Run, term: str, phase: str = "optimizer_step") -> float:
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    found = next(one for one in run.estimate.gpu.phases if one.phase == phase)
    return sum(one.bytes for one in found.terms if one.id == term)


def weights(run: Run) -> float:
    return size(run, "actor_weights") - 2 * 7_615_616_512


@pytest.mark.parametrize(("more", "block"), [("", 4), ("--boft_block_size 32", 32)])
def test_rotations_train_blocks_and_hold_a_permutation_of_each_input(more: str, block: int) -> None:
    run = told(f"--tuner_type boft {more}")
    trained, held = LAYERS * (block * INPUTS + OUTPUTS), LAYERS * (6 * H**2 + F**2)
    assert size(run, "actor_optimizer") == pytest.approx(8 * trained, rel=0.001)
    assert weights(run) == pytest.approx(4 * (trained + held), rel=0.001)


def test_a_number_of_blocks_tells_how_large_they_are() -> None:
    run = told("--tuner_type boft --boft_block_size 0 --boft_block_num 8")
    trained = LAYERS * ((6 * H**2 + F**2) / 8 + OUTPUTS)
    assert size(run, "actor_optimizer") == pytest.approx(8 * trained, rel=0.001)


def test_rotations_are_made_whole_in_every_layer_that_keeps_all() -> None:
    kept = size(told("--tuner_type boft --gradient_checkpointing false"), "tuner_matrices", "actor_update")
    assert kept == pytest.approx(LAYERS * 6 * (6 * H**2 + F**2), rel=0.01)
    assert size(told(""), "tuner_matrices", "actor_update") == 0


def test_vectors_go_around_one_pair_of_matrices_on_products_as_wide_as_the_values() -> None:
    """modelscope/ms-swift v4.6.0 swift/pipelines/train/tuner.py: get_vera_target_modules."""
    run = told("--tuner_type vera --vera_rank 64")
    trained, held = LAYERS * 2 * (64 + KEYS), 64 * (H + KEYS)
    assert size(run, "actor_optimizer") == pytest.approx(8 * trained, rel=0.001)
    assert weights(run) == pytest.approx(4 * (trained + held), rel=0.01)


def test_vectors_keep_less_than_adapters_on_all_layers() -> None:
    lora, vera = (
        size(told(f"--tuner_type {kind} --gradient_checkpointing false"), "activations", "actor_update")
        for kind in ("lora", "vera")
    )
    assert vera < 0.7 * lora
