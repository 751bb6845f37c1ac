"""A reward model that an engine of its own serves on the cards of the run, and one that FSDP keeps on the host."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.6 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 {more}\nverl {version}, 8 x H100 80GB\n"
)
MODEL = "{at}.enable=True {at}.{path}=Skywork/Skywork-Reward-V2-Llama-3.1-8B"
NEW = MODEL.format(at="reward.reward_model", path="model_path")
OLD = MODEL.format(at="reward_model", path="model.path")
SHARE = "reward.reward_model.rollout.gpu_memory_utilization"


def found(more="", version="0.9", text=""):
    return diagnose(RUN.format(more=more, version=version) + text, {}, current(), ())


def held(said, phase, pool="gpu"):
    return {one.id: one.bytes for one in said.estimate.pool(pool).phase(phase).terms if one.id.startswith("reward_")}


def test_a_run_without_one_scores_nothing_on_the_cards():
    assert found().estimate.gpu.phase("reward") is None


def test_its_engine_fills_its_share_while_it_scores_and_nothing_else():
    said = found(f"{NEW} {SHARE}=0.4")
    assert held(said, "reward") == {"reward_engine": pytest.approx(0.4 * said.estimate.gpu.capacity, rel=1e-6)}
    assert not held(said, "rollout")
    assert not held(said, "actor_update")
    assert held(found(NEW), "reward")["reward_engine"] == pytest.approx(0.5 * said.estimate.gpu.capacity, rel=1e-6)


def test_the_first_release_with_an_engine_for_it_has_the_keys_of_before():
    said = found(f"{OLD} reward_model.rollout.gpu_memory_utilization=0.4", "0.7.0")
    assert held(said, "reward") == {"reward_engine": pytest.approx(0.4 * said.estimate.gpu.capacity, rel=1e-6)}


def test_the_trainers_state_stands_beside_it():
    phase = found(NEW).estimate.gpu.phase("reward")
    assert {"actor_weights", "actor_optimizer"} <= {one.id for one in phase.terms}


def test_its_weights_are_in_ram_while_it_sleeps():
    said = found(f"{NEW} reward.reward_model.rollout.tensor_model_parallel_size=4")
    assert held(said, "rollout", "host")["reward_engine"] == pytest.approx(8.03e9 * 2 / 4 * 8, rel=1e-3)
    assert not held(said, "reward", "host")


def test_one_that_never_sleeps_fills_its_share_in_every_phase():
    said = found(f"{NEW} reward.reward_model.rollout.free_cache_engine=False")
    assert held(said, "actor_update")
    assert not held(said, "actor_update", "host")


def test_cards_of_its_own_leave_those_of_the_trainer_alone():
    said = found(f"{NEW} reward.reward_model.enable_resource_pool=True")
    assert not held(said, "actor_update")
    assert not held(said, "rollout", "gpu")


@pytest.mark.parametrize(
    ("more", "version"), [(OLD, "0.4"), (OLD, "0.6"), (f"{OLD} reward_model.use_reward_loop=False", "0.7.0")]
)
def test_fsdp_keeps_it_on_the_host(more, version):
    said = found(more, version)
    assert (
        1 <= held(said, "rollout", "host")["reward_weights"] / (8.03e9 * 2) <= 2
    )  # page-locked memory goes by powers of two
    assert not held(said, "rollout")


def test_its_share_is_lowered_where_it_runs_out():
    text = 'File "verl/experimental/reward_loop/reward_model.py", line 120, in wake_up\ntorch.OutOfMemoryError: CUDA out of memory.'
    said = found(f"{NEW} {SHARE}=0.9", text=text)
    first = said.prescriptions[0]
    assert (said.phase, first.lever.slug, first.changes[0].key) == (
        "reward",
        "reward.engine_gpu_memory_utilization.down",
        SHARE,
    )


@pytest.mark.parametrize(("sharding", "parts"), [("--deepspeed zero3", 8), ("--deepspeed zero2", 1), ("", 1)])
def test_a_trainer_that_loads_it_on_every_rank_parts_it_at_stage_3_alone(sharding, parts):
    text = (
        "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --reward_model Qwen/Qwen2.5-Math-RM-72B "
        f"--train_type full --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.4 {sharding}\nms-swift 3.6, 8 x H100 80GB"
    )
    said = diagnose(text, {}, current(), ())
    assert held(said, "actor_update") == {"reward_weights": pytest.approx(72e9 * 2 / parts, rel=0.02)}


def test_a_trainer_without_one_holds_none():
    text = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --reward_funcs accuracy\nms-swift 3.6, 8 x H100 80GB"
    assert not held(diagnose(text, {}, current(), ()), "actor_update")
