"""What runs out next: said of a later phase alone, and only where the estimate is of the person's own run."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_markdown
from diagnose.words.ahead import changed, told
from diagnose.words.figures import NBSP

NO_CACHE = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-{size}-Instruct "
    "data.train_batch_size=256 data.max_prompt_length=1024 data.max_response_length=8192 actor_rollout_ref.rollout.n=4 "
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1 "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.3 actor_rollout_ref.rollout.tensor_model_parallel_size=2 "
    "actor_rollout_ref.model.use_remove_padding=True trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x H100 80GB\n"
)
LARGE, SMALL = RUN.format(size="32B"), RUN.format(size="1.5B")


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return current()


def test_a_later_phase_that_has_no_room_is_named_with_what_makes_the_whole_run_fit(knowledge: Knowledge) -> None:
    found = diagnose(LARGE + NO_CACHE, {}, knowledge, ())
    assert found.prescriptions[0].lever.slug == "rollout.tensor_parallel.up"
    assert found.ahead is not None
    assert found.ahead.phase.phase == "weight_sync"  # the first in a step, though the update takes more
    assert found.ahead.phase.low > found.ahead.limit
    assert found.ahead.together is not None
    split = "actor_rollout_ref.rollout.tensor_model_parallel_size 2"
    assert not any(one.startswith(split) for one in changed(found.ahead))  # they come to the first change
    report = to_markdown(found)
    assert told(found.ahead).replace(NBSP, " ") in report
    assert "What to do first" in report
    assert "Smallest changes that fit" not in report
    assert to_json(found)["ahead"]["phase"] == "weight_sync"


def test_a_reader_of_chinese_is_told_as_well(knowledge: Knowledge) -> None:
    found = diagnose(f"{LARGE}显存不够，启动就报错，请问怎么办\n{NO_CACHE}", {}, knowledge, ())
    assert "随后也会溢出" in to_markdown(found)


def test_nothing_is_said_where_the_later_phases_have_room(knowledge: Knowledge) -> None:
    found = diagnose(SMALL + NO_CACHE, {}, knowledge, ())
    assert found.ahead is None
    assert to_json(found)["ahead"] is None


def test_what_went_through_before_is_no_phase_to_come(knowledge: Knowledge) -> None:
    failed = 'torch.OutOfMemoryError: CUDA out of memory.\n  File "verl/workers/fsdp_workers.py", line 90, in save_checkpoint\n'
    found = diagnose(f"step:31 - actor/loss:0.1\n{LARGE}{failed}", {}, knowledge, ())
    assert found.phase == "checkpoint"
    assert found.ahead is None
    untold = diagnose(f"{LARGE}{failed}", {}, knowledge, ())
    assert untold.ahead is None or untold.ahead.next_step  # of this step nothing is to come


def test_a_run_of_which_no_setting_is_told_is_not_foreseen(knowledge: Knowledge) -> None:
    found = diagnose(f"verl grpo Qwen2.5-72B-Instruct 8 x A100 40GB\n{NO_CACHE}", {}, knowledge, ())
    assert found.ahead is None


def test_two_libraries_never_shard_beside_each_other(knowledge: Knowledge) -> None:
    trl = (
        'args = GRPOConfig(use_vllm=True, vllm_mode="colocate", vllm_gpu_memory_utilization=0.3, per_device_train_batch_size=8, '
        "num_generations=8, max_completion_length=512)\nmodel = Qwen/Qwen2.5-3B-Instruct, 4 x L4\n"
    )
    found = diagnose(trl + NO_CACHE, {}, knowledge, ())
    assert found.ahead is not None
    keys = {change.key for change in (found.ahead.together.changes if found.ahead.together else ())}
    assert not {"config_file", "fsdp"} <= keys


PPO = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.max_prompt_length=512 data.max_response_length=512 "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.model.use_remove_padding=False "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=32 "
    "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization={share} "
    "critic.model.path=Qwen/Qwen2.5-7B-Instruct critic.ppo_micro_batch_size_per_gpu=32 trainer.n_gpus_per_node=4 trainer.nnodes=1\n"
    '4 x A100 80G\n{passed}  File "verl/workers/critic/dp_critic.py", line 198, in update_critic\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.06 GiB. GPU 2 has a total capacity of 79.14 GiB of which 1.50 GiB "
    "is free.\n"
)


def test_a_phase_that_went_through_before_adam_had_a_state_is_foreseen(knowledge: Knowledge) -> None:
    found = diagnose(PPO.format(share=0.8, passed=""), {}, knowledge, ())
    assert found.phase == "critic"
    assert found.ahead is not None
    assert (found.ahead.phase.phase, found.ahead.next_step) == ("rollout", True)
    assert "from the second step on" in told(found.ahead)
    assert found.ahead.together is not None
    assert any("gpu_memory_utilization" in one for one in changed(found.ahead))


@pytest.mark.parametrize(("share", "passed"), [(0.4, ""), (0.8, "step:31 - actor/loss:0.1\n")])
def test_it_is_not_where_the_next_step_has_room_or_steps_went_through(
    knowledge: Knowledge, share: float, passed: str
) -> None:
    assert diagnose(PPO.format(share=share, passed=passed), {}, knowledge, ()).ahead is None


def test_settings_of_the_engine_alone_tell_nothing_of_a_later_phase(knowledge: Knowledge) -> None:
    pool = "RuntimeError: Prefill out of memory. Try to lower your batch size.\nTry to allocate 8192 tokens.\nAvailable tokens: 5001\n"
    text = f"AReaL, qwen2.5-1.5b, 4090 24G 八张，训练 4 张 + 推理 4 张, sglang.mem_fraction_static=0.6, context_length 32768\n{pool}"
    found = diagnose(text, {}, knowledge, ())
    assert found.kind == "vllm_no_kv_blocks"
    assert found.ahead is None
    told_batch = diagnose(f"{text}actor.mb_spec.max_tokens_per_mb=32768\n", {}, knowledge, ())
    assert told_batch.ahead is not None
