"""What a change is said to save: sums by term, and words that are no numbers."""

from diagnose.pipeline import diagnose

MEGATRON = """8x H100 80GB; will it fit?
python3 -m verl.trainer.main_ppo model_engine=megatron algorithm.adv_estimator=grpo data.train_batch_size=1024 \\
    data.max_prompt_length=1024 data.max_response_length=2048 actor_rollout_ref.model.path=Qwen/Qwen3-8B \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.actor.use_dynamic_bsz=True \\
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24576 actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \\
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=1
"""
KILLED = (
    "Memory cgroup out of memory: Killed process 118823 (ray::WorkerDict) total-vm:231234512kB, anon-rss:52113120kB, "
    "file-rss:812344kB, shmem-rss:10480640kB\n"
)


def test_two_terms_of_one_name_are_told_as_their_sum(knowledge):
    found = diagnose(MEGATRON, {}, knowledge, ())
    phase = next(one for one in found.estimate.gpu.phases if one.phase == "actor_update")
    assert sum(term.id == "activations" for term in phase.terms) == 2
    elsewhere = [
        one.why for one in found.prescriptions if one.lever.slug in ("offload.optimizer.on", "hardware.more_gpus")
    ]
    assert elsewhere
    assert not any("Activations" in why for why in elsewhere)


def test_a_switch_is_never_less_than_now(knowledge):
    found = diagnose(KILLED, {}, knowledge, ())
    changes = [change for one in found.prescriptions for change in one.changes]
    assert {change.after for change in changes if change.key.endswith("free_cache_engine")} == {"false"}
