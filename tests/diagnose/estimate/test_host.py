"""Host RAM of a node."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.types import PoolEstimate, Term
from diagnose.units import GIB
from diagnose.vocabulary import Value
from tests.runs import run_of

PARAMETERS = 7_615_616_512


def _host(facts: Any) -> PoolEstimate:
    host = estimate(facts).host
    assert host is not None
    return host


def _term(facts: Any, phase: str, id: str) -> Term | None:
    found = _host(facts).phase(phase)
    assert found is not None
    return next((term for term in found.terms if term.id == id), None)


def test_it_gives_no_pool_when_the_gpus_of_a_node_are_unknown(facts: Any) -> None:
    answer = estimate(facts(n_gpus=64, n_nodes=None))
    assert answer.host is None
    assert "gpus_per_node" in answer.missing


def test_offloaded_adam_state_counts_for_every_gpu_of_the_node(facts: Any) -> None:
    term = _term(facts(optimizer_offload=True), "rollout", "actor_optimizer")
    assert term is not None
    assert term.bytes == pytest.approx(8 * PARAMETERS, rel=0.001)


def test_megatrons_optimizer_on_the_cpu_keeps_a_copy_of_each_gradient(facts: Any) -> None:
    run = {"strategy": "megatron", "precision": "megatron", "optimizer_on_cpu": True}
    copies, state = (_term(facts(**run), "rollout", id) for id in ("gradient_copies", "actor_optimizer"))
    assert copies is not None
    assert state is not None
    assert copies.low == pytest.approx(state.bytes / 3, rel=0.001)  # 4 bytes beside 12
    assert _term(facts(**run, optimizer_cpu_fraction=0.5), "rollout", "gradient_copies").bytes < copies.bytes
    assert _term(facts(optimizer_on_cpu=True), "rollout", "gradient_copies") is None


def test_a_second_node_halves_what_one_node_parks(facts: Any) -> None:
    one, two = (
        _term(facts(optimizer_offload=True, n_gpus=16, n_nodes=nodes), "rollout", "actor_optimizer") for nodes in (1, 2)
    )
    assert one is not None
    assert two is not None
    assert two.bytes == pytest.approx(one.bytes / 2, rel=0.001)


def test_powers_of_two_cost_at_most_the_double(facts: Any, record: Any) -> None:
    exact, rounded = (
        _term(facts(record(pinned_rounding=kind), optimizer_offload=True), "rollout", "actor_optimizer")
        for kind in ("exact", "power_of_two")
    )
    assert exact is not None
    assert rounded is not None
    assert exact.bytes < rounded.bytes <= 2 * exact.bytes


@pytest.mark.parametrize(("level", "there"), [(1, True), (2, False)])
def test_only_sleep_level_1_keeps_the_engines_weights(facts: Any, level: int, there: bool) -> None:
    assert (_term(facts(sleep_level=level), "actor_update", "engine_backup") is not None) is there


@pytest.mark.parametrize(("first", "there"), [("yes", True), ("no", False)])
def test_an_engine_sleeps_during_loading_only_where_it_was_there_first(
    facts: Any, record: Any, first: str, there: bool
) -> None:
    assert (_term(facts(record(engine_first=first)), "load", "engine_backup") is not None) is there


def test_loading_on_every_rank_takes_a_copy_each(facts: Any, record: Any) -> None:
    one, every = (
        _term(facts(record(load_on_host=kind)), "load", "loading") for kind in ("one_rank_fp32", "every_rank_fp32")
    )
    assert one is not None
    assert every is not None
    assert one.bytes == pytest.approx(4 * PARAMETERS, rel=0.001)
    assert every.bytes == 8 * one.bytes


def test_the_limit_is_rays_threshold_where_one_is_known(facts: Any) -> None:
    host = _host(facts(ray_memory_threshold=0.9))
    assert host.limit == pytest.approx(900 * GIB)


def test_a_node_that_ray_measured_is_killed_at_its_default_threshold(facts: Any) -> None:
    host = _host(facts(node_used_gb=726.3, node_total_gb=760.0))
    assert host.capacity == 760 * GIB
    assert host.limit == pytest.approx(0.95 * 760 * GIB)


def test_without_ray_all_of_the_ram_is_the_limit(facts: Any) -> None:
    assert _host(facts()).limit == 1000 * GIB


def test_counters_of_used_memory_leave_page_locked_copies_out(facts: Any, record: Any) -> None:
    seen, locked = (
        estimate(facts(record(pinned_rounding=kind), optimizer_offload=True)) for kind in ("exact", "power_of_two")
    )
    assert seen.host_used is not None
    assert locked.host_used is not None
    assert seen.host_used - locked.host_used == pytest.approx(8 * PARAMETERS, rel=0.001)


def test_a_sleeping_engines_weights_are_page_locked_whatever_else_is(facts: Any) -> None:
    backup = _term(facts(), "rollout", "engine_backup")
    answer = estimate(facts())
    assert backup is not None
    assert answer.host is not None
    assert answer.host_used == answer.host.peak.bytes - backup.bytes


def test_rows_stand_on_the_node_from_the_first_rollout_on(facts: Any) -> None:
    assert _term(facts(), "load", "rows") is None
    assert _term(facts(), "rollout", "rows") is not None


@pytest.mark.parametrize(("who", "copies"), [("one_process", 0), ("every_rank", 2 * 4.5)])
def test_every_rank_of_an_engine_in_the_trainers_reads_the_images(
    facts: Any, record: Any, vision_model: Any, who: str, copies: float
) -> None:
    run = facts(record(engine_images=who, images_on_host=1), model=vision_model, max_pixels=401_408)
    read, rows = (_term(run, "rollout", id) for id in ("engine_images", "rows"))
    text = _term(facts(), "rollout", "rows")
    assert rows is not None
    assert text is not None
    assert (read.bytes if read else 0) == pytest.approx(copies * (rows.bytes - text.bytes), rel=0.01)


def test_checkpoints_that_are_offloaded_stand_on_the_host() -> None:
    """Of each layer but two: rows x tokens x hidden x 2 bytes, 2 x 4,096 x 2,560 of Qwen3-4B's 36 layers."""
    script = "from unsloth import FastLanguageModel\nSFTConfig(per_device_train_batch_size = 2)"
    answers: dict[str, Value] = {
        "gpu_model": "L4",
        "algo": "pretrain",
        "model": "Qwen3-4B",
        "max_length": 4096,
        "full_or_lora": "lora",
    }
    found = run_of(script, answers).estimate
    assert found is not None
    assert found.host is not None
    update = next(phase for phase in found.host.phases if phase.phase == "actor_update")
    waiting = next(term for term in update.terms if term.id == "offloaded_checkpoints")
    assert waiting.bytes == pytest.approx(2 * 4096 * 2560 * 2 * 34, rel=0.01)


TRAINERS = {
    "trl": "from trl import SFTConfig, SFTTrainer\naccelerate launch sft.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct {lora} "
    "--deepspeed {stage}.json --bf16 true --max_length 2048",
    "llamafactory": "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen2.5-7B-Instruct --bf16 true --cutoff_len 2048 "
    "--finetuning_type {kind} --deepspeed {stage}.json",
    "ms-swift": "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type {kind} --deepspeed {stage} --max_length 2048",
}


def _saved(trainer: str, stage: str, kind: str = "lora", more: str = "") -> Term:
    run = TRAINERS[trainer].format(stage=stage, kind=kind, lora="--use_peft true --lora_r 16" if kind == "lora" else "")
    host = run_of(f"{run}\n{more}", {"n_gpus": 8, "gpu_mem_gib": 80}).estimate.host
    assert host is not None
    found = host.phase("checkpoint")
    assert found is not None
    return next(term for term in found.terms if term.id == "saving")


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("kind", ["lora", "full"])
def test_below_zero_3_every_rank_copies_all_weights_to_save(trainer: str, kind: str) -> None:
    assert _saved(trainer, "zero2", kind).bytes == pytest.approx(8 * 2 * PARAMETERS, rel=0.01)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_under_zero_3_one_rank_gathers_all_that_is_trained(trainer: str) -> None:
    assert _saved(trainer, "zero3", "full").bytes == pytest.approx(2 * PARAMETERS, rel=0.01)


@pytest.mark.parametrize("trainer", ["trl", "llamafactory"])
def test_under_zero_3_the_frozen_model_is_gathered_too_unless_transformers_leaves_it_out(trainer: str) -> None:
    term = _saved(trainer, "zero3")
    assert term.low < 0.05 * PARAMETERS
    assert term.bytes == term.high == pytest.approx(2 * PARAMETERS, rel=0.02)


def test_a_trainer_that_leaves_the_frozen_model_out_gathers_adapters_alone() -> None:
    assert _saved("ms-swift", "zero3").high < 0.05 * PARAMETERS
    assert _saved("ms-swift", "zero3", more="ms-swift==2.2.0").bytes > PARAMETERS


@pytest.mark.parametrize("trainer", TRAINERS)
def test_nothing_is_gathered_to_save_where_the_file_says_so(trainer: str) -> None:
    file = '{"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": false}}'
    with pytest.raises(StopIteration):
        _saved(trainer, "zero3", "full", file)


FSDP = {
    "trl": "accelerate launch trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct {lora} --max_length 2048",
    "llamafactory": "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen2.5-7B-Instruct --finetuning_type {kind}",
    "plain": "accelerate launch finetune.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct {lora} --max_length 2048",
}
FSDP_YAML = """
fsdp_config:
  fsdp_version: {version}
  {shard}
"""
SHARDS = {1: "fsdp_sharding_strategy: FULL_SHARD", 2: "fsdp_reshard_after_forward: true"}


def _under_fsdp(
    trainer: str, phase: str, id: str, kind: str, *more: str, version: int = 1, nodes: int = 1
) -> Term | None:
    run = FSDP[trainer].format(kind=kind, lora="--use_peft true --lora_r 16" if kind == "lora" else "")
    yaml = FSDP_YAML.format(version=version, shard=SHARDS[version]) + "".join(f"  {line}\n" for line in more)
    answers = {"n_gpus": 8 * nodes, "gpus_per_node": 8, "gpu_mem_gib": 80, "full_or_lora": kind, "lora_rank": 16}
    host = run_of(f"{yaml}{run}", answers).estimate.host
    assert host is not None
    found = host.phase(phase)
    assert found is not None
    return next((term for term in found.terms if term.id == id), None)


@pytest.mark.parametrize("trainer", FSDP)
def test_fsdp_that_gathers_to_save_adapters_moves_the_frozen_model_too(trainer: str) -> None:
    term = _under_fsdp(trainer, "checkpoint", "saving", "lora", "fsdp_state_dict_type: FULL_STATE_DICT")
    assert term is not None
    assert term.low > 1.99 * PARAMETERS


@pytest.mark.parametrize("trainer", FSDP)
def test_fsdp_that_gathers_a_whole_training_holds_its_adam_state_on_one_rank(trainer: str) -> None:
    one, two = (
        _under_fsdp(trainer, "checkpoint", "saving", "full", "fsdp_state_dict_type: FULL_STATE_DICT", nodes=nodes)
        for nodes in (1, 2)
    )
    assert one is not None
    assert two is not None
    assert one.bytes == two.bytes == pytest.approx(8 * PARAMETERS, rel=0.02)
    assert one.low == pytest.approx(4 * PARAMETERS, rel=0.02)


@pytest.mark.parametrize("trainer", ["trl", "llamafactory"])
def test_fsdp_that_writes_shards_moves_to_a_node_what_its_cards_hold(trainer: str) -> None:
    term = _under_fsdp(trainer, "checkpoint", "saving", "full", "fsdp_state_dict_type: SHARDED_STATE_DICT", nodes=2)
    assert term is not None
    assert term.bytes == pytest.approx(4 * PARAMETERS, rel=0.02)


@pytest.mark.parametrize("trainer", ["trl", "llamafactory"])
@pytest.mark.parametrize(("version", "each"), [(1, 8), (2, 4)])
def test_fsdp_gathers_by_default_and_its_second_version_does_not(trainer: str, version: int, each: int) -> None:
    term = _under_fsdp(trainer, "checkpoint", "saving", "full", version=version, nodes=2)
    assert term is not None
    assert term.bytes == pytest.approx(each * PARAMETERS, rel=0.02)


@pytest.mark.parametrize("trainer", FSDP)
def test_fsdp_loads_on_one_rank_or_on_each_as_its_file_says(trainer: str) -> None:
    one, every = (
        _under_fsdp(trainer, "load", "loading", "lora", f"fsdp_cpu_ram_efficient_loading: {value}")
        for value in ("true", "false")
    )
    assert one is not None
    assert every is not None
    assert every.bytes == pytest.approx(8 * one.bytes, rel=0.01)
    assert one.bytes == pytest.approx(2 * PARAMETERS, rel=0.05)


@pytest.mark.parametrize("trainer", ["trl", "llamafactory"])
def test_what_is_swapped_to_a_drive_leaves_buffers_on_the_host_and_nothing_on_the_card(trainer: str) -> None:
    run = TRAINERS[trainer].format(stage="zero3", kind="full", lora="")
    file = '{{"zero_optimization": {{"stage": 3, "offload_optimizer": {{"device": "{0}"}}, "offload_param": {{"device": "{0}"}}}}}}'
    on_host, on_drive = (
        run_of(f"{run}\n{file.format(device)}", {"n_gpus": 8, "gpu_mem_gib": 80}).estimate for device in ("cpu", "nvme")
    )
    assert on_host.host is not None
    assert on_drive.host is not None
    step = on_drive.host.phase("optimizer_step")
    assert step is not None
    held = {term.id: term.bytes for term in step.terms}
    share = PARAMETERS / 8
    assert held["actor_optimizer"] == pytest.approx(8 * 16 * min(share, 1e9), rel=0.01)
    assert held["actor_weights"] == pytest.approx(8 * 2 * (5e8 + min(share, 1e9)), rel=0.01)
    assert on_drive.gpu == on_host.gpu


VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "actor_rollout_ref.actor.strategy={strategy} actor_rollout_ref.actor.fsdp_config.optimizer_offload={offload} "
    "data.train_batch_size=64 data.max_response_length=1024 trainer.n_gpus_per_node=8 trainer.nnodes=1 trainer.save_freq={freq}"
)


def _saves(strategy: str = "fsdp", offload: bool = False, freq: int = 20) -> dict[str, int] | None:
    run = VERL.format(strategy=strategy, offload=offload, freq=freq)
    host = run_of(run, {"gpu_mem_gib": 80}).estimate.host
    assert host is not None
    phase = host.phase("checkpoint")
    return {term.id: term.bytes for term in phase.terms} if phase else None


def test_a_trainer_that_writes_adams_state_from_where_it_stands_copies_weights_alone() -> None:
    for offload in (False, True):
        held = _saves(offload=offload)
        assert held is not None
        assert held["saving"] == pytest.approx(4 * PARAMETERS, rel=0.02)


def test_shards_that_stay_on_the_card_take_nothing_of_the_host_to_be_saved() -> None:
    held = _saves("fsdp2")
    assert held is not None
    assert "saving" not in held


def test_a_run_that_is_told_never_to_save_has_no_such_phase() -> None:
    assert _saves(freq=-1) is None
