"""What is written is taken by the program that runs, in the version that runs."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
    "3.30 GiB is free.\n"
)
PHASES = ("load", "init", "weight_sync", "rollout", "logprob", "critic", "actor_update", "optimizer_step")


def written(text, phases=PHASES, **answers):
    """Every change that is advised in any of the phases, as (key, word)."""
    found = []
    for phase in phases:
        told = diagnose(text + "\n8 x H100 80GB\n" + OOM, {"phase": phase, **answers}, current(), ())
        groups = [one.changes for one in told.prescriptions] + ([told.together.changes] if told.together else [])
        found += [(change.key, change.after) for changes in groups for change in changes if change.key]
    return dict(found)


VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator={algo} data.train_batch_size=128 data.max_prompt_length=1024 "
    "data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-32B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 {more} trainer.n_gpus_per_node=8 trainer.nnodes=1\nverl {version}"
)


@pytest.mark.parametrize(
    ("program", "version", "heads"),
    [
        ("fsdp_sft_trainer data.micro_batch_size_per_gpu=4 model.partial_pretrain=", "0.5.0", ("data.", "model.")),
        ("sft_trainer engine=fsdp model.path=", "0.8.0", ("data.", "model.", "engine.")),
    ],
)
def test_a_supervised_trainer_is_given_its_own_keys_alone(program, version, heads):
    text = f"torchrun --nproc_per_node=8 -m verl.trainer.{program}Qwen/Qwen2.5-14B-Instruct data.max_length=8192\nverl {version}"
    keys = written(text, ("load", "actor_update", "optimizer_step"))
    assert keys
    assert not [key for key in keys if not key.startswith(heads)]


def test_the_older_supervised_trainer_offloads_with_fsdp1_alone():
    text = (
        "torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.micro_batch_size_per_gpu=4 data.max_length=8192 "
        "model.partial_pretrain=Qwen/Qwen2.5-14B-Instruct {more}\nverl 0.5.0"
    )
    keys = written(text.format(more="model.strategy=fsdp"), ("actor_update", "optimizer_step"))
    assert keys["model.fsdp_config.cpu_offload"] == "true"
    assert keys["model.fsdp_config.offload_params"] == "True"
    assert "model.fsdp_config.cpu_offload" not in written(text.format(more=""), ("actor_update", "optimizer_step"))


@pytest.mark.parametrize(
    ("key", "version", "there"),
    [
        ("actor_rollout_ref.actor.freeze_vision_tower", "0.5.0", False),
        ("actor_rollout_ref.actor.freeze_vision_tower", "0.6.0", True),
        ("critic.model.fsdp_config.optimizer_offload", "0.7.0", True),
        ("critic.model.fsdp_config.optimizer_offload", "0.8.0", False),
        ("critic.fsdp.optimizer_offload", "0.8.0", True),
        ("critic.fsdp.optimizer_offload", "0.7.0", False),
    ],
)
def test_a_key_is_written_in_the_versions_that_have_it(key, version, there):
    assert (key in written(VERL.format(algo="gae", more="", version=version))) == there


@pytest.mark.parametrize(
    ("engine", "version", "key"),
    [
        ("vllm", "0.7.0", None),
        ("sglang", "0.7.0", "actor_rollout_ref.rollout.update_weights_bucket_megabytes"),
        ("vllm", "0.8.0", "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes"),
    ],
)
def test_the_sync_bucket_has_the_key_of_its_engine_and_version(engine, version, key):
    text = VERL.format(algo="grpo", more=f"actor_rollout_ref.rollout.name={engine}", version=version)
    facts = diagnose(text + "\n8 x H100 80GB\n" + OOM, {}, current(), ()).facts
    assert facts.keys.get("sync_bucket_mib") == key


def test_megatrons_rows_are_packed_unless_its_own_key_says_otherwise():
    more = "--config-name=ppo_megatron_trainer actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4"
    for version in ("0.5.0", "0.7.0"):
        assert "actor_rollout_ref.model.use_remove_padding" not in written(
            VERL.format(algo="grpo", more=more, version=version)
        )
    off = f"{more} actor_rollout_ref.actor.megatron.use_remove_padding=False"
    keys = written(VERL.format(algo="grpo", more=off, version="0.7.0"))
    assert keys["actor_rollout_ref.actor.megatron.use_remove_padding"] == "True"
