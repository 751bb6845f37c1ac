"""Parallel sizes of roles that share a process."""

import pytest

RUN = (
    "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator={algo} "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 "
    "critic.megatron.tensor_model_parallel_size={critic} trainer.n_gpus_per_node=8\nCUDA OOM"
)


@pytest.mark.parametrize(
    ("version", "critic", "algo", "tp", "said"),
    [
        ("0.7.0", 2, "gae", 4, "critic.megatron.tensor_model_parallel_size 2 is not in force"),
        ("0.9.0", 2, "gae", 2, "actor_rollout_ref.actor.megatron.tensor_model_parallel_size 4 is not in force"),
        ("0.9.0", 4, "gae", 4, ""),
        ("0.9.0", 2, "grpo", 4, ""),
    ],
)
def test_the_role_that_is_made_first_sets_the_size_of_both(facts, version, critic, algo, tp, said):
    found = facts(RUN.format(algo=algo, critic=critic), framework_version=version)
    told = [note for note in found.notes if "is not in force" in note]
    assert found.values["tp"] == tp
    assert bool(told) is bool(said)
    assert all(note.startswith(said) for note in told)
