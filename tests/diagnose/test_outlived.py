"""A run that got further than its estimate allows: the contradiction is said, and no set of changes rests on it."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge, current
from diagnose.outlived import TITLE, behind, outlived, told
from diagnose.pipeline import diagnose
from diagnose.report import to_markdown
from diagnose.types import Facts
from diagnose.words.chinese import summary

RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-32B "
    "data.train_batch_size=64 data.max_prompt_length=1024 data.max_response_length=4096 actor_rollout_ref.rollout.n=8 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.gpu_memory_utilization=0.7 "
    "actor_rollout_ref.rollout.tensor_model_parallel_size=4 trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x H100 80GB\n"
)
FAILED = (
    'torch.OutOfMemoryError: CUDA out of memory.\n  File "verl/workers/actor/dp_actor.py", line 248, in update_policy\n'
)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return current()


def test_steps_that_went_through_contradict_phases_that_have_no_room(knowledge: Knowledge) -> None:
    found = diagnose(f"step:31 - actor/loss:0.1\n{RUN}{FAILED}", {}, knowledge, ())
    over = outlived(found.facts, found.estimate, found.phase)
    assert found.estimate.gpu is not None
    assert found.estimate.gpu.limit is not None
    assert over is not None
    assert over.phase == "rollout"
    assert over.least > found.estimate.gpu.limit
    assert TITLE in to_markdown(found)
    assert found.together is None


def test_a_first_step_that_ends_in_its_first_phase_contradicts_nothing(knowledge: Knowledge) -> None:
    found = diagnose(RUN, {"oom_kind": "gpu_oom", "phase": "rollout"}, knowledge, ())
    assert told(found) == ""
    assert TITLE not in to_markdown(found)


@pytest.mark.parametrize("phase", ["logprob", "ref_logprob", "actor_update", "optimizer_step", "checkpoint"])
def test_a_later_phase_of_the_first_step_contradicts_an_earlier_one_that_has_no_room(
    knowledge: Knowledge, phase: str
) -> None:
    found = diagnose(RUN.replace("=0.7", "=0.95"), {"oom_kind": "gpu_oom", "phase": phase}, knowledge, ())
    over = outlived(found.facts, found.estimate, found.phase)
    assert over is not None
    assert over.phase == "init"
    assert "which is later in a step" in told(found)
    assert "日志显示训练越过了" in summary(found).lead
    assert found.together is None


@pytest.mark.parametrize("phase", ["logprob", "rollout", "weight_sync", "eval"])
def test_a_phase_that_may_come_later_is_not_held_against_the_one_that_failed(knowledge: Knowledge, phase: str) -> None:
    wide = (
        RUN.replace("32B", "7B")
        .replace("=0.7", "=0.3")
        .replace("micro_batch_size_per_gpu=4", "micro_batch_size_per_gpu=256")
        .replace("train_batch_size=64", "train_batch_size=512")
    )
    found = diagnose(
        wide.replace("trainer.nnodes", "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1 trainer.nnodes"),
        {"oom_kind": "gpu_oom", "phase": phase},
        knowledge,
        (),
    )
    assert found.estimate.gpu is not None
    assert found.estimate.gpu.only_out == "actor_update"
    assert told(found) == ""


def test_the_state_of_adam_is_not_there_in_the_first_step(knowledge: Knowledge) -> None:
    found = diagnose(
        "trl==1.9.0 GRPOTrainer Qwen2.5-3B, one 24GB 4090, CUDA out of memory in backward", {}, knowledge, ()
    )
    assert found.estimate.gpu is not None
    assert found.estimate.gpu.limit is not None
    rollout = found.estimate.gpu.phase("rollout")
    assert rollout is not None
    assert rollout.low > found.estimate.gpu.limit
    assert told(found) == ""


def test_of_rows_that_nobody_samples_no_order_is_taken(knowledge: Knowledge) -> None:
    assert behind(Facts(values={"algo": "dpo"}), "actor_update") == ()
    assert behind(Facts(values={"algo": "online_dpo"}), "actor_update") == ()
    assert "ref_logprob" in behind(Facts(values={"algo": "grpo"}), "actor_update")


def test_the_phase_that_failed_may_have_grown(knowledge: Knowledge) -> None:
    small = (
        RUN.replace("32B", "7B")
        .replace("=0.7", "=0.3")
        .replace(
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=64 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1",
        )
    )
    found = diagnose(f"step:31 - actor/loss:0.1\n{small}{FAILED}", {}, knowledge, ())
    assert found.phase == "actor_update"
    assert found.verdict != "fits"
    assert told(found) == ""


def test_a_second_step_that_fails_before_a_phase_shows_nothing_of_it_beside_adam(knowledge: Knowledge) -> None:
    """Its only pass through the rollout was the first step's, in which Adam had no state yet."""
    run = (
        "First step ok, the second step dies in wake_up:\n"
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n"
        "openrlhf==0.8.5, vllm==0.8.5.post1, torch 2.6, 8 A800-80G\n"
        "python3 -m openrlhf.cli.train_ppo_ray --ref_num_nodes 1 --ref_num_gpus_per_node 8 --actor_num_nodes 1 "
        "--actor_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models "
        "--vllm_gpu_memory_utilization 0.7 --advantage_estimator reinforce_baseline --pretrain Qwen/Qwen2.5-14B-Instruct "
        "--micro_train_batch_size 2 --train_batch_size 128 --micro_rollout_batch_size 4 --rollout_batch_size 128 "
        "--n_samples_per_prompt 8 --prompt_max_len 1024 --generate_max_len 8192 --zero_stage 3 --bf16 --init_kl_coef 1e-3 "
        "--gradient_checkpointing --packing_samples --enforce_eager --vllm_enable_sleep\n"
    )
    found = diagnose(run, {}, knowledge, ())
    assert found.facts.number("step") == 2
    assert found.phase == "weight_sync"
    assert outlived(found.facts, found.estimate, found.phase) is None
    later = diagnose(run.replace("the second step", "the third step"), {}, knowledge, ())
    assert outlived(later.facts, later.estimate, later.phase) is not None
