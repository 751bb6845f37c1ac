"""Which pass a change makes smaller: the role's own key, a critic's, a log-prob's, a reward model's."""

from __future__ import annotations

import pytest


def test_without_a_model_the_rows_of_a_pass_are_advised_whatever_a_usual_run_takes(advise):
    advice = advise("verl GRPO: CUDA out of memory in update_actor", phase="actor_update", oom_kind="gpu_oom")
    assert {"batch.micro.down", "length.response.down", "logits.chunked"} <= set(advice.levers)


PPO = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.max_response_length=8192 "
    "data.max_prompt_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 trainer.nnodes=1 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16 "
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=32 actor_rollout_ref.actor.use_kl_loss=True "
    "critic.ppo_micro_batch_size_per_gpu=8 critic.forward_micro_batch_size_per_gpu=24\nA100 80GB\nverl 0.7.0\n"
)


@pytest.mark.parametrize(
    ("phase", "lever", "key"),
    [
        ("update_critic", "batch.micro.down", "critic.ppo_micro_batch_size_per_gpu"),
        ("update_critic", "shard.sequence_parallel.up", "critic.ulysses_sequence_parallel_size"),
        ("update_critic", "offload.activation.on", "critic.model.enable_activation_offload"),
        ("compute_values", "batch.logprob_micro.down", "critic.forward_micro_batch_size_per_gpu"),
        (
            "compute_ref_log_prob",
            "batch.logprob_micro.down",
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
        ),
        ("compute_log_prob", "batch.logprob_micro.down", "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"),
        ("update_actor", "batch.micro.down", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"),
        ("update_actor", "shard.sequence_parallel.up", "actor_rollout_ref.actor.ulysses_sequence_parallel_size"),
    ],
)
def test_a_pass_is_made_smaller_by_the_key_of_its_own_role(advise, phase, lever, key):
    told = advise(PPO + f"CUDA out of memory in {phase}").prescriptions
    written = [[change.key for change in one.changes] for one in told if one.lever.slug == lever]
    assert written == [[key]]


def test_a_critic_that_packs_by_tokens_whatever_it_is_told_is_given_a_smaller_budget(advise):
    newer = PPO.replace("verl 0.7.0", "verl 0.8.0") + "CUDA out of memory in update_critic"
    written = {one.lever.slug: [change.key for change in one.changes] for one in advise(newer).prescriptions}
    assert written["batch.critic_tokens.down"] == ["critic.ppo_max_token_len_per_gpu"]
    assert "batch.micro.down" not in written
    assert "batch.critic_tokens.down" not in advise(PPO + "CUDA out of memory in update_critic").levers


def test_only_the_critics_batch_is_told_and_the_actors_is_advised(advise):
    run = PPO.replace("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 ", "")
    told = advise(run + "CUDA out of memory in update_actor").prescriptions
    written = [change.key for one in told if one.lever.slug == "batch.micro.down" for change in one.changes]
    assert written == ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"]


def test_a_figure_that_explains_nothing_refuses_no_smaller_pass(advise):
    text = (
        "verl 0.7.0 ppo gae, Qwen2.5-7B, 8xH100 critic.ppo_micro_batch_size_per_gpu=8\nOOM in update_critic\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
        "2.05 GiB is free."
    )
    assert advise(text).levers[0] == "batch.micro.down"


def test_the_processes_that_hold_a_steps_samples_speak_for_a_smaller_step(advise):
    rows = "\n".join(f"{pid}      37.90   ray::AgentLoopWorker.generate_sequences" for pid in (412, 97, 633, 58))
    text = (
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B data.train_batch_size=512 "
        "trainer.n_gpus_per_node=8 trainer.nnodes=1\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on "
        "memory.\nMemory on the node where the task (pid=412, memory used=37.90GB) was running was 478.90GB / 503.51GB (0.95), which "
        f"exceeds the memory usage threshold of 0.95. Top 10 memory users:\nPID     MEM(GB) COMMAND\n{rows}\n"
        "70      21.30   ray::WorkerDict.x\n"
    )
    assert advise(text).levers[0] == "batch.train.down"
    assert (
        "batch.train.down"
        not in advise(text.replace("AgentLoopWorker", "WorkerDict").replace("WorkerDict.x", "IDLE")).levers
    )


def test_a_reward_model_that_runs_out_has_a_batch_of_its_own(advise):
    text = (
        "python3 -m verl.trainer.main_ppo reward_model.enable=True reward_model.micro_batch_size_per_gpu=32 trainer.n_gpus_per_node=8\n"
        "verl 0.5.0\nray::WorkerDict.rm_compute_rm_score() torch.OutOfMemoryError: CUDA out of memory."
    )
    (change,) = advise(text).advised("batch.logprob_micro.down").changes
    assert change.key == "reward_model.micro_batch_size_per_gpu"


LOGPROB = "torch.OutOfMemoryError: CUDA out of memory in the old log probs. 8 x A100 80GB on one node, Qwen2.5-7B.\n"


def test_a_log_prob_pass_follows_the_update_where_no_key_of_its_own_cuts_it(advise):
    text = (
        LOGPROB + "# trl GRPOTrainer, trl 0.18.1\nper_device_train_batch_size=8\nnum_generations=8\n"
        "gradient_accumulation_steps=2\nmax_completion_length=8192\nuse_peft=True\nbeta=0.0\n"
    )
    assert "batch.micro.down" in {one.lever.slug for one in advise(text, phase="logprob").prescriptions}


def test_a_log_prob_pass_is_cut_by_its_own_key_where_there_is_one(advise):
    text = LOGPROB + "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8"
    assert "batch.micro.down" not in {one.lever.slug for one in advise(text, phase="logprob").prescriptions}
