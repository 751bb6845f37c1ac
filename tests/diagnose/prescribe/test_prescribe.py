from __future__ import annotations

from dataclasses import replace

from diagnose.estimate import estimate
from tests.diagnose.prescribe.conftest import GROUPED, ON_THE_HOST, make_case


def test_figures_are_the_failing_phase_before_and_after(advise):
    advice = advise(GROUPED, phase="actor_update")
    one = advice.advised("batch.train.down")
    assert one.before == advice.before.gpu.phase("actor_update")
    assert one.after.phase == "actor_update"
    assert one.after.bytes < one.before.bytes


def test_the_first_fits_by_its_middle_and_names_the_step_that_surely_fits(advise, knowledge):
    advice = advise(GROUPED, phase="actor_update")
    first = advice.prescriptions[0]
    assert first.after.bytes <= advice.before.gpu.limit < first.after.high
    (sure,) = [change for change in first.sure if change.key == "data.train_batch_size"]
    further = advise(GROUPED.replace("train_batch_size=8", f"train_batch_size={sure.after}"), phase="actor_update")
    phase = estimate(further.facts, knowledge.fallback).gpu.phase("actor_update")
    assert phase.high <= advice.before.gpu.limit


def test_the_smallest_change_that_is_enough_is_taken(advise, knowledge):
    advice = advise(GROUPED, phase="actor_update")
    after = int(advice.advised("batch.train.down").changes[0].after)
    larger = advise(GROUPED.replace("train_batch_size=8", f"train_batch_size={after * 2}"), phase="actor_update")
    phase = estimate(larger.facts, knowledge.fallback).gpu.phase("actor_update")
    assert phase.bytes > larger.before.gpu.limit


def test_a_smaller_step_that_was_enough_in_a_near_case_is_taken(advise):
    facts = {"framework": "logic-rl", "oom_kind": "gpu_oom", "n_gpus": 4, "model": "Qwen2.5-7B", "algo": "grpo"}
    case = make_case("near", facts, ("batch.train.down", True))
    fix = replace(case.fixes[0], facts={"train_batch_size": 4})
    alone = advise(GROUPED, phase="actor_update").advised("batch.train.down").changes[0]
    with_case = (
        advise(GROUPED, (replace(case, fixes=(fix,)),), phase="actor_update").advised("batch.train.down").changes[0]
    )
    assert int(alone.after) < int(with_case.after) == 4


def test_a_micro_batch_is_written_in_the_unit_of_its_key(advise):
    # 16 // 4 cards × 32 samples hold all 64 rows of a card; only 4 // 4 × 32 = 32 rows change anything.
    change = advise(GROUPED, phase="actor_update").advised("batch.micro.down").changes[0]
    assert (change.key, change.before, change.after) == ("actor_rollout_ref.actor.ppo_micro_batch_size", "16", "4")


def test_accumulation_grows_as_the_micro_batch_shrinks_where_the_batch_follows_from_both(advise):
    text = """torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.
NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --use_vllm true --vllm_mode colocate \\
  --deepspeed zero3 --per_device_train_batch_size 8 --gradient_accumulation_steps 4 --num_generations 8 --max_completion_length 4096
4 x A100 80GB"""
    changes = {
        c.fact: (int(c.before), int(c.after))
        for c in advise(text, phase="actor_update").advised("batch.micro.down").changes
    }
    (micro, less), (steps, more) = changes["micro_batch"], changes["gradient_accumulation"]
    assert micro * steps == less * more


def test_results_that_stay_the_same_come_before_results_that_may_change(advise):
    fitting = [one for one in advise(ON_THE_HOST).prescriptions if one.lever.order < 85 and one.after_verdict != "out"]
    kinds = [one.lever.results for one in fitting if one.after]
    assert kinds == sorted(kinds, key=lambda word: word != "same")


def test_more_cards_stand_behind_every_setting_that_fits(advise):
    advice = advise(GROUPED, phase="actor_update").prescriptions
    fits = [one.lever.slug for one in advice if one.after_verdict == "fits" or one.sure]
    assert fits[-1] == "hardware.more_gpus"


def test_what_worked_in_a_near_case_comes_first(advise):
    facts = {"framework": "logic-rl", "oom_kind": "gpu_oom", "n_gpus": 4, "model": "Qwen2.5-7B", "algo": "grpo"}
    without = advise(GROUPED, phase="actor_update").levers
    with_case = advise(GROUPED, (make_case("near", facts, ("rollout.n.down", True)),), phase="actor_update").levers
    assert without.index("batch.train.down") < without.index("rollout.n.down")
    assert with_case.index("rollout.n.down") < with_case.index("batch.train.down")


def test_what_failed_in_a_near_case_comes_later(advise):
    facts = {"framework": "logic-rl", "oom_kind": "gpu_oom", "n_gpus": 4, "model": "Qwen2.5-7B", "algo": "grpo"}
    levers = advise(GROUPED, (make_case("near", facts, ("batch.train.down", False)),), phase="actor_update").levers
    assert levers.index("rollout.n.down") < levers.index("batch.train.down")


def test_what_worked_in_cases_that_share_the_kind_alone_moves_nothing(advise):
    cases = tuple(make_case(f"c{i}", {"oom_kind": "gpu_oom"}, ("allocator.empty_cache", True)) for i in range(3))
    bare = "torch.OutOfMemoryError: CUDA out of memory."
    assert advise(bare, cases).levers == advise(bare).levers


def test_an_assumed_length_gives_the_range_in_which_the_change_helps(advise, knowledge):
    from diagnose.pipeline import diagnose

    told = diagnose(GROUPED, {}, knowledge, ())
    first = next(one for one in told.prescriptions if one.lever.slug == "batch.train.down")
    runs_out_from, fits_up_to = first.length_range
    assert runs_out_from is not None
    assert fits_up_to is None or fits_up_to > runs_out_from


def test_a_length_that_the_person_gave_needs_no_range(advise):
    advice = advise(GROUPED, phase="actor_update", real_response_length=900, real_prompt_length=300)
    assert all(one.length_range is None for one in advice.prescriptions)


def test_the_reason_is_put_together_from_the_numbers(advise):
    one = advise(GROUPED, phase="actor_update").advised("batch.train.down")
    assert "8 × 32 = 256 sequences give each GPU 64" in one.why


def test_the_reason_names_no_framework(advise, knowledge):
    names = [framework.title for framework in knowledge.frameworks.values() if not framework.fallback]
    for one in advise(GROUPED, phase="actor_update").prescriptions:
        if one.after:
            assert not any(name in one.why for name in names)


def test_the_engine_share_follows_what_the_message_says_was_free(advise):
    text = (
        "ValueError: Free memory on device (41.20/79.11 GiB) on startup is less than desired GPU memory utilization "
        "(0.85, 67.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
        "python3 -m openrlhf.cli.train_ppo_ray --vllm_gpu_memory_utilization 0.85 --colocate_all_models --pretrain Qwen/Qwen2.5-7B"
    )
    (change,) = advise(text).advised("rollout.gpu_memory_utilization.down").changes
    assert float(change.after) * 79.11 <= 41.20


def test_at_most_eight_levers_and_each_once(advise):
    levers = advise(GROUPED).levers
    assert len(levers) == len(set(levers)) <= 8


def test_prompts_that_do_not_go_evenly_to_the_cards_are_told(advise):
    by_prompts = advise(GROUPED).advised("batch.train.down")
    assert [change.after for change in by_prompts.changes] == ["2"]
    assert "refuses 2 prompts on 4 GPUs" in by_prompts.why
    assert "refuses" not in advise(GROUPED).advised("rollout.n.down").why


CRITIC = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.train_files=data/nq_search/train.parquet "
    "data.train_batch_size=512 data.max_start_length=2048 data.max_prompt_length=4096 data.max_response_length=500 max_turns=2 "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.model.enable_gradient_checkpointing=true critic.ppo_micro_batch_size=8 "
    "critic.model.fsdp_config.param_offload=true critic.model.fsdp_config.optimizer_offload=true {more} trainer.n_gpus_per_node=8 "
    "trainer.nnodes=1\n"
    '  File "/x/Search-R1/verl/workers/critic/dp_critic.py", line 181, in update_critic\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.08 GiB. GPU 0 has a total capacity of 39.56 GiB of which 1.71 GiB is "
    "free."
)


def test_the_critic_is_checkpointed_by_its_own_key(advise):
    given = advise(CRITIC.format(more="")).advised("checkpointing.critic.on")
    assert [change.key for change in given.changes] == ["critic.model.enable_gradient_checkpointing"]
    assert given.after.bytes < given.before.bytes


def test_a_critic_that_is_checkpointed_is_not_advised_to_be(advise):
    assert (
        "checkpointing.critic.on"
        not in advise(CRITIC.format(more="critic.model.enable_gradient_checkpointing=true")).levers
    )


def test_a_key_that_is_written_with_dashes_is_changed_as_it_stands(advise):
    launch = "accelerate launch --num_processes 8 trl/scripts/grpo.py --model-name-or-path Qwen/Qwen2.5-7B-Instruct"
    advice = advise(
        f"{launch} --per-device-train-batch-size 16 --max-completion-length 4096\n8 x A100 80GB", kind="gpu_oom"
    )
    change = advice.advised("batch.micro.down").changes[0]
    assert (change.key, change.before) == ("per-device-train-batch-size", "16")
