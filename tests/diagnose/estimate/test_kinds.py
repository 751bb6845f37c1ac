"""Kinds of run that are counted in their own way: pipelines, adapters, unknown trainers, models known by name only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate, shape, stand_in
from diagnose.estimate.layer import Widths, frozen_layer_bytes_per_token, layer_bytes_per_token
from diagnose.estimate.plan import make_plan
from diagnose.estimate.tokens import take
from diagnose.types import Fact, Facts, Term

SFT = {
    "algo": "sft", "max_length": 2048, "prompt_length": None, "response_length": None, "has_ref": None, "train_batch_size": None,
    "rollout_n": None, "micro_batch": 4,
}  # fmt: skip


def _named(name: str) -> Fact:
    return Fact("model", name, "answered")


def _terms(run: Facts, phase: str = "actor_update") -> dict[str, Term]:
    gpu = estimate(run).gpu
    assert gpu is not None
    found = gpu.phase(phase)
    assert found is not None
    return {term.id: term for term in found.terms}


@pytest.mark.parametrize(("whole", "active"), [(3, 30), (30, 30), (30, 0.01), (5000, 30)])
def test_it_has_no_sparse_stand_in_of_sizes_that_no_model_has(whole: float, active: float) -> None:
    assert stand_in.sparse_from_params(whole, active) is None


@pytest.mark.parametrize(("whole", "active"), [(16, 3), (30, 3), (80, 3), (120, 12), (235, 22)])
def test_a_sparse_stand_in_has_about_the_sizes_of_its_name(whole: float, active: float) -> None:
    model = stand_in.sparse_from_params(whole, active)
    assert model is not None
    assert shape.parameters(model) / 1e9 == pytest.approx(whole, rel=0.05)
    assert shape.active(model) / 1e9 == pytest.approx(active, rel=0.4)


def test_experts_are_spread_of_a_model_that_is_known_by_its_name_only(facts: Any) -> None:
    sparse, dense = (
        _terms(facts(model=None, **SFT, params_b=80, strategy="megatron", ep=4).with_fact(_named(name)))
        for name in ("New-80B-A3B-Instruct", "New-80B-Instruct")
    )
    assert sparse["actor_weights"].bytes < 0.35 * dense["actor_weights"].bytes


def test_an_unknown_trainer_has_no_engine_unless_something_of_one_is_known(facts: Any, record: Any) -> None:
    unknown = replace(record(), fallback=True)
    engine = {"rollout_engine": None, "rollout_tp": None, "gpu_memory_utilization": None}
    assert "engine_weights" not in _terms(facts(unknown, **engine), "rollout")
    assert "engine_weights" in _terms(facts(unknown, **{**engine, "gpu_memory_utilization": 0.4}), "rollout")


def test_a_training_whose_state_fits_no_card_is_taken_as_sharded(facts: Any, record: Any) -> None:
    run = {**SFT, "strategy": None, "n_gpus": 8}
    large, small = (_terms(facts(replace(record(), fallback=True), **run, gpu_mem_gib=size)) for size in (80, 1000))
    assert large["actor_weights"].bytes == pytest.approx(small["actor_weights"].bytes / 8, rel=0.01)


def test_adapters_spare_inputs_of_frozen_weights_but_keep_their_own() -> None:
    """With adapters on all linear layers a layer keeps more than in full training, as tests/data/measured_cpu.toml shows."""
    widths = Widths(hidden=4096, mlp=11008, keys=4096, heads=32, gated=True)
    full = layer_bytes_per_token(widths)
    assert frozen_layer_bytes_per_token(widths, each_input=0) < full < frozen_layer_bytes_per_token(widths)


def test_an_embedding_trained_beside_adapters_costs_sixteen_bytes_a_parameter(facts: Any) -> None:
    without, beside = (_terms(facts(full_or_lora="lora", trains_embeddings=trains)) for trains in (False, True))
    more = sum(beside[id].bytes - without[id].bytes for id in ("actor_weights", "actor_gradients", "actor_optimizer"))
    copies = 2 * 152064 * 3584
    assert more == pytest.approx(
        copies * 4 + copies * 12 / 8, rel=0.01
    )  # FSDP shards gradients and Adam, not the copies


def test_adapters_under_zero_are_cast_with_the_model_and_keep_fp32_masters(facts: Any) -> None:
    zero = {"full_or_lora": "lora", "trains_embeddings": True, "strategy": "deepspeed", "zero_stage": 2}
    halves, whole = (_terms(facts(**zero, precision=precision)) for precision in ("mixed", "fp32"))
    assert halves["actor_gradients"].bytes * 2 == pytest.approx(whole["actor_gradients"].bytes, abs=8)
    assert halves["actor_optimizer"].bytes == pytest.approx(1.5 * whole["actor_optimizer"].bytes, abs=8)


ZERO = {"adam_temporaries": "fp32_gradients", "gradient_bytes": 2}


@pytest.mark.parametrize(("stage", "each"), [(1, 0), (2, 6), (3, 6)])
def test_the_step_under_zero_casts_the_gradients_of_what_a_gpu_updates(
    facts: Any, record: Any, stage: int, each: int
) -> None:
    """At stage 1 those of all others, which it drops first, were more."""
    run = facts(record(**ZERO), strategy="deepspeed", zero_stage=stage)
    assert _terms(run, "optimizer_step")["adam_temporaries"].bytes == pytest.approx(each * 7_615_616_512 / 8)


def test_at_stage_3_the_step_goes_by_sub_groups(facts: Any, record: Any) -> None:
    run = facts(record(**ZERO), strategy="deepspeed", zero_stage=3, n_gpus=4)
    term = _terms(run, "optimizer_step")["adam_temporaries"]
    assert (term.low, term.bytes, term.high) == (6e9, 6e9, 8e9)
    fewer = facts(record(**ZERO), strategy="deepspeed", zero_stage=3, n_gpus=4, sub_group=500_000_000)
    assert _terms(fewer, "optimizer_step")["adam_temporaries"].bytes == 3e9
    whole = facts(record(**ZERO), strategy="deepspeed", zero_stage=2, n_gpus=4)
    assert _terms(whole, "optimizer_step")["adam_temporaries"].bytes == pytest.approx(6 * 7_615_616_512 / 4)


def test_a_frozen_tower_has_no_gradients_and_no_adam_state(facts: Any, vision_model: Any) -> None:
    whole, frozen = (_terms(facts(model=vision_model, freeze_vision=v)) for v in (False, True))
    saved = {id: whole[id].bytes - frozen[id].bytes for id in ("actor_weights", "actor_gradients", "actor_optimizer")}
    tower = 676_550_144 / 8
    assert saved["actor_weights"] == 0
    assert saved["actor_gradients"] == pytest.approx(tower * 4)
    assert saved["actor_optimizer"] == pytest.approx(tower * 8)


@pytest.mark.parametrize(("checkpoints", "holds"), [(True, True), (False, False)])
def test_a_frozen_tower_keeps_its_checkpoints_where_its_inputs_need_gradients(
    facts: Any, record: Any, vision_model: Any, checkpoints: bool, holds: bool
) -> None:
    images = {
        "model": vision_model,
        "freeze_vision": True,
        "max_pixels": 784_000,
        "gradient_checkpointing": checkpoints,
    }
    kept, dropped = (
        _terms(facts(record(frozen_tower=what), **images))["vision_tower"].bytes for what in ("kept", "dropped")
    )
    assert (kept > dropped) is holds
    if holds:
        assert kept / dropped == pytest.approx(2 * 1280 * 32 / (6 * (1280 + 3420)), rel=0.01)


@pytest.mark.parametrize("decoder", ["full", "selective", False])
def test_a_switch_of_its_own_says_whether_a_towers_layers_are_recomputed(
    facts: Any, record: Any, vision_model: Any, decoder: str | bool
) -> None:
    images = {"model": vision_model, "max_pixels": 784_000, "gradient_checkpointing": decoder}

    def tower(frozen: bool, own: bool | None) -> int:
        run = facts(
            record(frozen_tower="kept"), **images, vision_checkpointing=own, freeze_vision=frozen, gpu_mem_gib=None
        )
        return max(_terms(run)["vision_tower"].bytes, 1)

    each = 30 * 1280 + 8 * 3420
    assert tower(False, False) / tower(False, True) == pytest.approx(32 * each / (each + 2 * 1280 * 32), rel=0.01)
    assert tower(True, True) / tower(True, False) == pytest.approx(2 * 1280 * 32 / (6 * (1280 + 3420)), rel=0.01)
    assert tower(False, None) == tower(False, decoder == "full")


def test_a_tower_that_is_trained_whole_beside_adapters_adds_gradients_and_moments_but_no_weights(
    facts: Any, vision_model: Any
) -> None:
    zero = {"strategy": "deepspeed", "zero_stage": 2, "full_or_lora": "lora", "n_gpus": 4, "max_pixels": 1_003_520}
    frozen, learns = (_terms(facts(model=vision_model, **zero, trains_vision=it)) for it in (False, True))
    tower = vision_model.vision.params
    assert learns["actor_weights"].bytes == frozen["actor_weights"].bytes
    assert learns["actor_optimizer"].bytes - frozen["actor_optimizer"].bytes == pytest.approx(12 * tower / 4, abs=2)
    alone = {**zero, "strategy": "ddp", "zero_stage": 0, "precision": "bf16"}
    frozen, learns = (_terms(facts(model=vision_model, **alone, trains_vision=it)) for it in (False, True))
    assert learns["actor_weights"].bytes == frozen["actor_weights"].bytes
    assert learns["actor_optimizer"].bytes - frozen["actor_optimizer"].bytes == pytest.approx(4 * tower, abs=2)


def test_a_teacher_is_as_large_as_itself(facts: Any, record: Any) -> None:
    gkd = {**SFT, "algo": "gkd", "n_gpus": 8}
    same, larger = (_terms(facts(**gkd, teacher_b=size)) for size in (None, 72))
    assert same["ref_weights"].bytes == pytest.approx(2 * 7_615_616_512 / 8)
    assert larger["ref_weights"].bytes == pytest.approx(2 * 72e9 / 8)
    assert larger["actor_weights"].bytes == same["actor_weights"].bytes


WRITES = {
    **SFT, "algo": "gkd", "n_gpus": 8, "gpu_mem_gib": 80, "rollout_engine": "vllm", "rollout_mode": "colocated",
    "gpu_memory_utilization": 0.3, "sleep_level": 1,
}  # fmt: skip


def test_a_student_that_writes_answers_has_an_engine_beside_it(facts: Any, record: Any) -> None:
    gpu = estimate(facts(record(student_writes="yes"), **WRITES)).gpu
    reads = estimate(facts(record(), **WRITES)).gpu
    assert gpu is not None
    assert reads is not None
    assert reads.phase("rollout") is None
    rollout, update = gpu.phase("rollout"), gpu.phase("actor_update")
    assert rollout is not None
    assert update is not None
    assert {"engine_weights", "kv_pool"} <= {term.id for term in rollout.terms}
    assert not {"engine_weights", "kv_pool"} & {term.id for term in update.terms}


def test_counters_of_torch_may_hold_an_engine_that_sleeps(facts: Any, record: Any) -> None:
    taken_out, held = (
        estimate(facts(record(student_writes="yes", asleep_in_counters=kept), **WRITES)) for kept in ("no", "yes")
    )
    assert taken_out.torch_reserved is not None
    assert held.torch_reserved is not None
    assert 0.2 * 80 < (held.torch_reserved - taken_out.torch_reserved) / 2**30 < 0.3 * 80
    assert held.device_used == taken_out.device_used


DDP = {**SFT, "strategy": "ddp", "full_or_lora": "lora", "n_gpus": 2, "gpu_mem_gib": 80}


@pytest.mark.parametrize(("torch", "mid", "high"), [("2.6.0", 1, 1), (None, 0, 1), ("2.9.1", 0, 0)])
def test_ddp_may_send_its_weights_in_copies_that_stay_reserved(facts: Any, torch: str, mid: int, high: int) -> None:
    terms = _terms(facts(**DDP, torch_version=torch), "load")
    copies, weights = terms.get("broadcast_copies"), terms["actor_weights"].bytes
    assert ((copies.bytes, copies.high) if copies else (0, 0)) == (mid * weights, high * weights)


def test_copies_of_ddp_take_no_more_than_the_card_has(facts: Any) -> None:
    run = facts(**{**DDP, "gpu_mem_gib": 40}, torch_version="2.6.0")
    load = estimate(run).gpu.phase("load")
    assert load.bytes <= estimate(run).gpu.capacity


@pytest.mark.parametrize(("does", "cards"), [("cards_of_process", 2), ("one_card", 1)])
def test_a_process_that_sees_several_cards_lays_its_layers_over_them(
    facts: Any, record: Any, does: str, cards: int
) -> None:
    run = facts(record(layers_over=does), **DDP, cards_per_process=2)
    terms, alone = _terms(run), _terms(facts(**{**DDP, "n_gpus": 1}))
    assert terms["actor_weights"].bytes == pytest.approx(alone["actor_weights"].bytes / cards)
    assert terms["checkpoints"].bytes == pytest.approx(alone["checkpoints"].bytes / cards, rel=0.02)
    assert ("buckets" in terms) is (cards == 1)


def test_a_padded_batch_without_a_rollout_is_as_long_as_its_longest_row(facts: Any) -> None:
    plan, _ = make_plan(facts(**{**SFT, "max_length": 1024}, remove_padding=False), None)
    assert plan is not None
    assert take(plan, "update").tokens.mid == 4 * 1024


def test_pipeline_stages_that_shard_keep_their_weights_and_gradients_whole(facts: Any) -> None:
    terms = _terms(facts(**SFT, pp=2))
    stage = shape.parameters(facts().model) / 2
    assert terms["gathers"].bytes == pytest.approx(2 * stage, rel=0.01)
    assert terms["whole_gradients"].bytes == pytest.approx(4 * stage, rel=0.01)


def test_rows_are_cut_into_a_part_a_stage_where_the_micro_batch_is_not_a_stages_own(facts: Any) -> None:
    cut, own = (make_plan(facts(**SFT, pp=4, strategy=strategy), None)[0] for strategy in ("fsdp", "megatron"))
    assert cut is not None
    assert own is not None
    assert (take(cut, "update").rows, take(own, "update").rows) == (1, 4)


def test_the_slack_never_fills_more_than_the_card_still_has(facts: Any) -> None:
    gpu = estimate(facts(micro_batch=32)).gpu
    assert gpu is not None
    peak = gpu.phase("actor_update")
    slack = next(term for term in peak.terms if term.id == "allocator_slack")
    in_use = peak.bytes - slack.bytes
    assert slack.bytes == max(0, gpu.capacity - in_use)


def test_selective_recomputation_by_products_keeps_every_second_one_and_puts_a_layer_together(
    facts: Any, record: Any
) -> None:
    run = {**SFT, "gradient_checkpointing": "selective"}
    fused, chosen = _terms(facts(**run)), _terms(facts(record(selective_keeps="chosen_products"), **run))
    assert chosen["activations"].bytes < 0.6 * fused["activations"].bytes


def test_a_reward_model_that_keeps_the_language_models_head_makes_its_logits(facts: Any, record: Any) -> None:
    run = {**SFT, "algo": "rm"}
    assert "logits" not in _terms(facts(record(), **run))
    assert "logits" in _terms(facts(record(reward_head="beside_logits"), **run))
