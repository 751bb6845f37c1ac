"""A run that got further than its estimate allows: the contradiction is said, and no set of changes rests on it."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge, current
from diagnose.outlived import TITLE, outlived, told
from diagnose.pipeline import diagnose
from diagnose.report import to_markdown

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
    assert over.low > found.estimate.gpu.limit
    assert TITLE in to_markdown(found)
    assert found.together is None


def test_a_first_step_contradicts_nothing(knowledge: Knowledge) -> None:
    found = diagnose(f"{RUN}{FAILED}", {}, knowledge, ())
    assert told(found) == ""
    assert TITLE not in to_markdown(found)


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
