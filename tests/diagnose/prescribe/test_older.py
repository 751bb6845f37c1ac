"""A key that is added is told by its older name too, where nobody says which release runs."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words.together import why

RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
    "critic.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 trainer.nnodes=1 data.max_response_length=2048\n"
    "8xA100 80GB, CUDA out of memory in update_actor\n"
)
OLD = "critic.model.fsdp_config.param_offload"


def said(more: str) -> str:
    found = diagnose(RUN + more, {}, current(), ())
    critic = [one for one in found.prescriptions if any(change.key.startswith("critic.") for change in one.changes)]
    assert critic
    return " ".join(one.why for one in critic)


def test_the_older_name_stands_beside_a_new_key() -> None:
    assert f"Before 0.8, critic.fsdp.param_offload is called {OLD}." in said("")


@pytest.mark.parametrize("more", ["verl==0.9.0", "verl==0.4.1", "critic.model.fsdp_config.optimizer_offload=False"])
def test_nothing_is_said_where_the_release_or_the_key_is_told(more: str) -> None:
    assert "is called" not in said(more)


@pytest.mark.parametrize(("release", "told"), [("", True), ("verl==0.9.0", False)])
def test_the_older_name_stands_beside_several_changes_as_well(release: str, told: bool) -> None:
    run = (
        RUN.replace("max_response_length=2048", "max_response_length=4096")
        .replace("80GB", "40GB")
        .replace(" in update_actor", "")
    )
    run = run.replace("data.max", "data.train_batch_size=64 data.max_prompt_length=1024 data.max").replace(
        "trainer.nnodes", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 trainer.nnodes"
    )
    share = "actor_rollout_ref.rollout.gpu_memory_utilization=0.4 trainer.n_gpus_per_node"
    found = diagnose(run.replace("trainer.n_gpus_per_node", share) + release, {}, current(), ()).together
    assert found
    assert ("Before 0.8, critic.fsdp" in why(found, None)) is told


@pytest.mark.parametrize(
    ("release", "key", "told"),
    [
        ("OpenRLHF 0.9.6", "zero_stage", False),
        ("OpenRLHF 0.11.0", "ds.zero_stage", False),
        ("OpenRLHF", "ds.zero_stage", True),
    ],
)
def test_a_release_gets_the_names_that_it_has(release: str, key: str, told: bool) -> None:
    """OpenRLHF/OpenRLHF v0.10.1 and v0.10.2 openrlhf/cli/train_ppo_ray.py: --zero_stage, --ds.zero_stage"""
    text = f"{release} PPO, Qwen2.5-7B, 8 x A100 80GB: torch.OutOfMemoryError: CUDA out of memory in the actor update"
    found = diagnose(text, {}, current(), ()).prescriptions
    one = next(one for one in found if one.lever.slug == "shard.zero_stage.up")
    assert one.changes[0].key == key
    assert ("Before 0.10.2, ds.zero_stage is called zero_stage." in one.why) is told


def test_keys_that_were_renamed_in_one_release_are_told_in_one_sentence() -> None:
    text = (
        "Can I train Qwen3-14B with GRPO full parameter on 8xA100 40GB using OpenRLHF? "
        "prompt 1024, response 4096, n=8, zero3, adam offload, vllm colocated"
    )
    found = diagnose(text, {}, current(), ())
    assert found.together is not None
    assert "vllm.enable_sleep, vllm.tensor_parallel_size and" in found.together.older
    assert found.together.older.count("Before 0.10.2") == 1
