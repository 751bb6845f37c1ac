"""Sizes that all roles of a process share are written for each of them; what a role has of its own is not counted for another."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.patch import patch
from diagnose.types import Change, Diagnosis

SIZES = "megatron.tensor_model_parallel_size"
RUN = (
    "verl=={version}\n8 x A100 80GB\n"
    "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator={algo} data.train_batch_size=256 "
    "actor_rollout_ref.model.path=Qwen/Qwen3-8B critic.model.path=Qwen/Qwen3-8B data.max_prompt_length=1024 data.max_response_length=2048 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 critic.ppo_micro_batch_size_per_gpu=8 {more} trainer.n_gpus_per_node=8\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB.\n"
)
EACH = f"actor_rollout_ref.actor.{SIZES}=2 critic.{SIZES}={{critic}} actor_rollout_ref.ref.{SIZES}=2"


def _run(phase: str, version: str = "0.9.0", algo: str = "gae", more: str = "") -> Diagnosis:
    return diagnose(RUN.format(version=version, algo=algo, more=more), {"phase": phase}, current(), ())


def _changes(run: Diagnosis, lever: str) -> tuple[Change, ...]:
    return next((one.changes for one in run.prescriptions if one.lever.slug == lever), ())


def _keys(changes: tuple[Change, ...]) -> dict[str, str | None]:
    return {change.key.removesuffix(f".{SIZES}"): change.before for change in changes}


@pytest.mark.parametrize("version", ["0.6.1", "0.9.0"])
@pytest.mark.parametrize("critic", ["2", "1"])
def test_a_size_is_changed_for_every_role_that_sets_it_whatever_it_says(version: str, critic: str) -> None:
    found = _changes(_run("critic", version, more=EACH.format(critic=critic)), "shard.model_parallel.up")
    assert _keys(found) == {"actor_rollout_ref.actor": "2", "critic": critic, "actor_rollout_ref.ref": "2"}
    assert len({change.after for change in found}) == 1


def test_a_critic_whose_size_is_not_set_would_keep_its_own_default() -> None:
    found = _changes(_run("critic"), "shard.model_parallel.up")
    assert _keys(found) == {"actor_rollout_ref.actor": None, "critic": None}
    assert _keys(_changes(_run("actor_update", algo="grpo"), "shard.model_parallel.up")) == {
        "actor_rollout_ref.actor": None
    }


def test_the_patch_holds_the_sizes_of_all_roles() -> None:
    run = _run("critic", more=EACH.format(critic="2"))
    found = _changes(run, "shard.model_parallel.up")
    new = next(line.text for line in patch(run.paste, found, run.facts.framework) if line.mark == "+")
    assert new.count(f"{SIZES}={found[0].after}") == 3


def test_layers_of_the_critic_are_computed_again_by_its_own_key() -> None:
    run = _run("critic")
    assert not _changes(run, "checkpointing.activation.on")
    keys = [change.key for change in _changes(run, "checkpointing.critic.on")]
    head = "critic.megatron.override_transformer_config.recompute_"
    assert keys == [f"{head}granularity", f"{head}method", f"{head}num_layers"]


def test_in_0_5_the_critic_followed_the_actor() -> None:
    follows = _run("critic", "0.5.0")
    assert _changes(follows, "checkpointing.activation.on")
    assert "critic_gradient_checkpointing" not in follows.facts.values


def test_an_actor_that_computes_layers_again_spares_the_critic_nothing_from_0_6_on() -> None:
    more = "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full"
    for version, spared in (("0.5.0", True), ("0.6.1", False)):
        plain, full = (
            run.estimate.gpu.phase("critic")  # type: ignore[union-attr]
            for run in (_run("critic", version), _run("critic", version, more=more))
        )
        assert plain is not None
        assert full is not None
        assert (full.bytes < plain.bytes) is spared


LONG = """verl 0.5.0, 4 nodes of 8 H800
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.n_gpus_per_node=8 trainer.nnodes=4 \\
    data.max_prompt_length=2048 data.max_response_length=32768 actor_rollout_ref.rollout.n=16 \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-32B actor_rollout_ref.model.use_remove_padding=True \\
    actor_rollout_ref.model.enable_gradient_checkpointing=True actor_rollout_ref.actor.use_dynamic_bsz=True \\
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True \\
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=34816 \\
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=34816 \\
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=34816
in update_policy
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 19.73 GiB."""


def test_a_size_that_two_facts_share_is_changed_once() -> None:
    found = _changes(diagnose(LONG, {}, current(), ()), "shard.sequence_parallel.up")
    assert len(found) == len({change.key for change in found}) == 4
