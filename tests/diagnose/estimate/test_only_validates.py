"""A run that validates and ends."""

from tests.runs import run_of

COMMAND = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 trainer.n_gpus_per_node=1 trainer.nnodes=1 trainer.val_only={}"
)


def test_it_makes_no_gradients_and_no_adam_state():
    trains, validates = (run_of(COMMAND.format(told), {"gpu_mem_gib": 80}).estimate.gpu for told in ("False", "True"))
    assert [phase.phase for phase in validates.phases] == ["load", "init", "weight_sync", "rollout"]
    held = [{term.id for term in pool.phase("rollout").terms} for pool in (trains, validates)]
    assert held[0] - held[1] == {"actor_optimizer"}
