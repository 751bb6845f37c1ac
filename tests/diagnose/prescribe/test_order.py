"""In which order levers are said, by what the text tells of the situation."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.order import HARDWARE
from diagnose.report import to_text
from diagnose.words import lead
from tests.diagnose.prescribe.conftest import GROUPED, make_case, printed


def test_an_unsettled_kind_gets_nothing_that_suits_one_kind_alone(advise):
    levers = set(advise("the run ended with OOM", kind="other").levers)
    assert levers
    assert not levers & {
        "rollout.gpu_memory_utilization.up",
        "host.shm.up",
        "offload.optimizer.on",
        "offload.optimizer.off",
    }


def test_nothing_is_advised_where_nothing_failed(advise):
    assert advise("4 x A100 80GB, Qwen2.5-7B, grpo").levers == []


@pytest.mark.parametrize("algo", ["sft", "dpo"])
def test_a_run_without_a_rollout_gets_no_lever_of_the_engine(advise, algo):
    levers = advise("torch.OutOfMemoryError: CUDA out of memory.", algo=algo).levers
    assert levers
    assert not [lever for lever in levers if lever.startswith(("rollout.", "sync."))]


def test_a_version_is_no_answer_to_a_plain_lack(advise):
    levers = advise("torch.OutOfMemoryError: CUDA out of memory.", phase="actor_update").levers
    assert not [lever for lever in levers if lever.startswith(("upgrade.", "downgrade."))]


def test_more_cards_are_no_lever_of_one_card(advise):
    levers = advise("torch.OutOfMemoryError: CUDA out of memory.", phase="load", n_gpus=1).levers
    assert not set(levers) & {"rollout.tensor_parallel.up", "load.meta_init", "shard.zero_stage.up"}


def test_expandable_segments_are_not_for_an_engine_that_sleeps(advise):
    levers = advise(printed(2.0, 1.0, 78.0, unused=12.0), sleep_level=1).levers
    assert "allocator.expandable_segments" not in levers
    assert "allocator.empty_cache" in levers[:3]


def test_ray_is_not_tuned_where_no_ray_runs(advise):
    text = "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full\n/run.sh: line 9: 4711 Killed swift sft"
    assert not set(advise(text, kind="host_ram").levers) & {"ray.object_store.down", "ray.memory_threshold.up"}


def test_what_keeps_results_stands_before_shorter_answers_where_nothing_names_the_phase(advise):
    levers = advise(
        "uv run examples/run_grpo_math.py policy.train_micro_batch_size=2 policy.max_total_sequence_length=8192 "
        "policy.dtensor_cfg.activation_checkpointing=false policy.generation.vllm_cfg.gpu_memory_utilization=0.8\n"
        "torch.OutOfMemoryError: CUDA out of memory."
    ).levers
    same = ("checkpointing.activation.on", "rollout.gpu_memory_utilization.down", "allocator.empty_cache")
    assert [levers.index(one) < levers.index("length.total.down") for one in same] == [True] * 3


def test_a_critic_that_nobody_named_is_not_the_first_to_go(advise):
    told = "{} Qwen2.5-7B on 1 x A100 40GB: CUDA out of memory while loading the model"
    assert advise(told.format("verl PPO")).levers[0] == "algo.drop_critic"
    assert "algo.drop_critic" in advise(told.format("Search-R1")).levers[1:]
    assert "algo.drop_critic" not in advise(told.format("verl")).levers


def test_a_critic_that_nobody_named_is_not_the_first_to_be_offloaded(advise):
    levers = advise("CUDA Error: out of memory at cumem_allocator.cpp:62, verl Qwen2.5-32B 16xH800, wake_up").levers
    assert levers[0] != "offload.critic.on"


SEES = "swift sft --model {} --train_type lora --per_device_train_batch_size 1\nCUDA out of memory on one RTX 4090"


def test_images_without_a_limit_get_one(advise):
    given = next(
        one
        for one in advise(SEES.format("Qwen/Qwen2.5-VL-7B-Instruct")).prescriptions
        if one.lever.slug == "image.pixels.down"
    )
    assert [(change.key, change.after) for change in given.changes] == [("max_pixels", "602112")]
    assert "Nothing limits the pixels" in given.why
    for told in (
        SEES.format("Qwen/Qwen2.5-7B-Instruct"),
        "MAX_PIXELS=50176 " + SEES.format("Qwen/Qwen2.5-VL-7B-Instruct"),
    ):
        assert "image.pixels.down" not in advise(told).levers


@pytest.mark.parametrize(
    "data", ["--dataset AI-ModelScope/alpaca-gpt4-data-zh", "--dataset mine.jsonl\nThe data is text-only."]
)
def test_no_image_is_made_smaller_where_the_data_holds_none(data):
    command = "swift sft --model Qwen/Qwen3.5-9B --train_type lora --per_device_train_batch_size 4 --max_length 4096 "
    failed = "\n8xA100 80G torch.OutOfMemoryError: CUDA out of memory in the actor update"
    shown = "--dataset mine.jsonl\neach sample has 2 images"
    told = [diagnose(f"{command}{one}{failed}", {}, current(), ()) for one in (data, shown)]
    levers = [[one.lever.slug for one in answer.prescriptions] for answer in told]
    assert ["image.pixels.down" in one for one in levers] == [False, True]


def test_without_figures_micro_batch_and_engine_share_come_before_shorter_answers(advise):
    levers = advise("torch.OutOfMemoryError: CUDA out of memory.").levers
    assert levers[:2] == ["batch.micro.down", "rollout.gpu_memory_utilization.down"]
    assert levers.index("checkpointing.activation.on") < levers.index("length.response.down") < 5


@pytest.mark.parametrize(
    ("phase", "first"),
    [
        ("rollout", "rollout.gpu_memory_utilization.down"),
        ("init", "rollout.gpu_memory_utilization.down"),
        ("logprob", "batch.logprob_micro.down"),
        ("optimizer_step", "offload.optimizer.on"),
        ("load", "hardware.kill_stale"),
    ],
)
def test_a_phase_has_its_own_first_lever(advise, phase, first):
    assert advise("torch.OutOfMemoryError: CUDA out of memory.", phase=phase).levers[0] == first


def test_what_leaves_the_phase_over_the_limit_stands_behind_what_fits(advise):
    advice = advise(GROUPED, phase="actor_update")
    here = [one for one in advice.prescriptions if one.after and one.lever.order < HARDWARE]
    fits = [one.after_verdict == "fits" or bool(one.sure) for one in here]
    assert fits == sorted(fits, reverse=True)


def test_one_far_case_does_not_turn_the_order_around(advise):
    case = make_case("far", {"oom_kind": "gpu_oom"}, ("rollout.n.down", True), ("batch.micro.down", False))
    levers = advise("torch.OutOfMemoryError: CUDA out of memory.", (case,)).levers
    assert levers.index("batch.micro.down") < 3
    assert "rollout.n.down" not in levers[:3]


def test_who_asks_what_hardware_it_takes_is_told_of_hardware(advise):
    text = "How many GPUs are needed for the 14B model? With one A100 40GB it is CUDA out of memory."
    assert advise(text).levers[0] in ("hardware.more_gpus", "hardware.bigger_gpus")


def test_what_failed_in_one_near_case_is_still_said_where_it_fits_here(advise):
    case = make_case(
        "near",
        {"oom_kind": "gpu_oom", "phase": "actor_update", "framework": "verl", "algo": "grpo"},
        ("batch.micro.down", False),
    )
    assert "batch.micro.down" in advise(GROUPED, (case,)).levers


BUDGET = r"""
verl 0.9.1, 8 x A100 80GB, one node
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=gsm8k/train.parquet data.train_batch_size=256 \
    data.max_prompt_length=1024 data.max_response_length=8192 actor_rollout_ref.model.path=Qwen/Qwen2.5-14B-Instruct \
    actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24576 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 trainer.nnodes=1
  File "verl/workers/engine_workers.py", line 446, in update_actor
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 13.92 GiB. GPU 3 has a total capacity of 79.25 GiB of which 9.31 GiB is
free. Including non-PyTorch memory, this process has 69.93 GiB memory in use. Of the allocated memory 58.11 GiB is allocated by PyTorch,
and 9.04 GiB is reserved by PyTorch but unallocated.
"""


def test_what_costs_results_and_may_not_be_enough_does_not_lead_by_a_near_case(advise):
    near = {"oom_kind": "gpu_oom", "phase": "actor_update", "framework": "verl", "algo": "grpo"}
    advice = advise(BUDGET, (make_case("near", near, ("rollout.n.down", True)),))
    fewer = advice.advised("rollout.n.down")
    assert (fewer.lever.results, fewer.after_verdict, fewer.evidence.worked) == ("may_change", "close", ("near",))
    assert advice.prescriptions[0].after_verdict == "fits"
    assert advice.prescriptions[0].lever.results == "same"


def given(text):
    return diagnose(text, {}, current(), ())


def test_what_was_guessed_is_the_first_suspect_where_the_guess_leaves_room():
    first = given("verl grpo qwen2.5-7b 8张A100 80G，训练阶段 OOM，offload 都开了").prescriptions[0]
    assert first.lever.slug == "batch.micro.down"
    assert [(change.key, change.after) for change in first.changes] == [
        ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", "1")
    ]


def test_a_bare_oom_in_a_pass_is_probably_the_cards_and_one_while_an_engine_writes_is_not_told():
    said = "verl grpo qwen2.5-7b 8张A100 80G，ppo_micro_batch_size_per_gpu=4，{} 爆了"
    found = given(said.format("update_actor"))
    assert (found.kind, found.pool) == ("gpu_oom", "gpu")
    assert to_text(found).startswith("中文摘要：很可能是显存溢出，发生在策略更新阶段")
    assert "What ran out?" in to_text(found)
    assert given(said.format("rollout 的时候")).kind == "other"
    assert given("verl grpo qwen2.5-7b 8张A100 80G，host RAM OOM in update_actor").kind == "host_ram"


def test_a_lever_writes_the_key_whose_condition_is_nearest_to_hold():
    keys = given("verl qwen2.5-7b 8张A100 80G OOM").facts.keys
    assert keys["optimizer_offload"] == "actor_rollout_ref.actor.fsdp_config.optimizer_offload"
    assert given("verl sft qwen2.5-7b 8张A100 80G OOM").facts.keys["optimizer_offload"] == "engine.optimizer_offload"


def test_the_teacher_s_sharding_is_no_lever_of_a_reference():
    found = given("ms-swift grpo qwen3-30b-a3b 8*H20 96G 全参，CUDA OOM")
    assert "teacher_deepspeed" not in [change.key for one in found.prescriptions for change in one.changes]


def test_a_fault_of_one_library_is_not_asked_for_where_another_shards():
    found = given("verl ppo qwen2.5-7b 8张A100 80G，compute_log_prob 的时候爆显存")
    assert "deepspeed" not in [check.advisory.package for check in found.checks]


def test_no_key_of_one_sharding_is_written_where_another_may_run():
    found = given("TRL GRPO Qwen2.5-7B 2x H100 80GB, CUDA OOM in the backward pass")
    assert "fsdp_offload_params" not in [change.key for one in found.prescriptions for change in one.changes]


def test_the_segments_of_a_trainer_are_not_those_of_an_engine_in_another_process():
    found = given("SkyRL GRPO Qwen3-4B 8x H100 80GB, CUDA OOM in the actor update")
    assert "allocator.expandable_segments.off" not in [one.lever.slug for one in found.prescriptions]


def test_a_saving_that_nobody_would_notice_does_not_lead_where_the_settings_do_not_explain_the_use(knowledge):
    text = (
        "verl Qwen2.5-VL-7B GRPO, 8 x H100 80GB\n"
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.0.0.1, ID: 3d) where the task (task ID: ffff, name=main_task, pid=71209, memory used=1138.52GB) was "
        "running was 1889.10GB / 1984.00GB (0.952167), which exceeds the memory usage threshold of 0.95."
    )
    found = [one.lever.slug for one in diagnose(text, {}, knowledge, ()).prescriptions]
    assert found[0] != "dataloader.workers.down"
    assert "dataloader.workers.down" in found


def of_answers(**answers):
    told = {"algo": "ppo", "gpu_mem_gib": 80, "n_gpus": 8, "oom_kind": "gpu_oom", **answers}
    return {one.lever.slug: one for one in diagnose("", told, current(), ()).prescriptions}


def test_where_the_failure_is_not_explained_a_saving_that_the_card_would_not_notice_is_not_said():
    run = {
        "framework": "logic-rl",
        "model": "Qwen2.5-1.5B-Instruct",
        "algo": "grpo",
        "phase": "load",
        "gpu_model": "A100",
    }
    advised = of_answers(**run)
    assert {"hardware.more_gpus", "offload.ref.on"}.isdisjoint(advised)
    assert "hardware.kill_stale" in advised
    assert "offload.ref.on" in of_answers(**run | {"model": "Qwen2.5-72B-Instruct"})


def test_what_is_for_a_merge_or_an_evaluation_is_not_said_of_an_algorithm():
    advised = of_answers(model="Qwen2.5-1.5B-Instruct", framework="plain", phase="load")
    assert advised
    assert not [slug for slug, one in advised.items() if one.lever.when.get("trains") is False]


def test_of_a_run_to_come_the_setting_that_nobody_tells_comes_first_and_not_a_phase_that_has_room():
    asked = diagnose("can I do full GRPO of Qwen3-8B with 16k responses on 8x H100 with verl?", {}, current(), ())
    pool = asked.estimate.gpu
    assert pool is not None
    assert (asked.verdict, pool.deciding.phase) == ("close", "actor_update")
    assert pool.peak.phase != "actor_update"
    first, *others = asked.prescriptions
    assert (first.lever.slug, first.changes[0].after) == ("batch.micro.down", "1")
    assert {one.phase for one in others if one.after} == {"actor_update"}


def test_a_share_that_nobody_tells_is_no_suspect_where_the_engine_sleeps():
    text = (
        "NeMo RL grpo llama-3.1-8b, 1 node 8xH100, dtensor tp=1, seq len 8192, train_micro_batch_size 1, logprob_batch_size 4: "
        "torch.OutOfMemoryError: CUDA out of memory in get_logprobs, tried to allocate 15.66 GiB"
    )
    first = diagnose(text, {}, current(), ()).prescriptions[0]
    assert first.lever.slug == "batch.logprob_micro.down"
    assert "GPU memory utilization" not in lead(diagnose(text, {}, current(), ()))
