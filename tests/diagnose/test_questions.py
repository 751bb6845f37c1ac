from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from diagnose.estimate import estimate
from diagnose.facts import read_facts
from diagnose.facts.settings.defaults import read_again
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.situation import Situation
from diagnose.questions import ask
from diagnose.types import Fact
from diagnose.units import gib
from diagnose.vocabulary import PHASES, POOL_OF_KIND
from tests.diagnose.prescribe.conftest import GROUPED


@pytest.fixture
def asked() -> Callable[..., list]:
    def run(text, kind=None, phase=None, **answers):
        knowledge = current()
        paste = read(text)
        facts = read_facts(paste, answers, knowledge)
        kind, phase = kind or facts.values.get("oom_kind"), phase or facts.values.get("phase")
        before = estimate(facts, knowledge.fallback)
        pool = POOL_OF_KIND.get(kind or "")
        return list(ask(Situation(facts, before, kind, phase, pool, paste, knowledge.fallback), knowledge))

    return run


def facts_of(questions):
    return [one.question.fact for one in questions]


def test_it_never_asks_what_the_paste_says(asked):
    said = {
        "train_batch_size",
        "rollout_n",
        "prompt_length",
        "response_length",
        "param_offload",
        "n_gpus",
        "micro_batch",
    }
    assert not said & set(facts_of(asked(GROUPED, phase="actor_update")))


def test_it_never_asks_what_was_answered(asked):
    questions = asked(GROUPED, phase="actor_update", real_response_length=700, real_prompt_length=300)
    assert "real_response_length" not in facts_of(questions)


def test_it_asks_no_default_that_the_framework_cannot_change(asked):
    assert "zero_stage" not in facts_of(asked(GROUPED, phase="actor_update"))


def test_the_phase_is_not_asked_for_host_ram(asked):
    assert "phase" not in facts_of(asked(GROUPED.replace("in update_policy", "in nowhere"), kind="host_ram"))


def test_the_phase_is_not_asked_where_the_estimate_sees_exactly_one_run_out(asked):
    questions = asked(GROUPED.replace("in update_policy", "in nowhere"))
    assert "phase" not in facts_of(questions)
    assert questions[0].moves


def test_of_a_card_that_is_named_only_the_sizes_are_asked_for_in_which_it_is_sold(asked):
    questions = asked("verl grpo Qwen2.5-7B 8 x A100, CUDA out of memory in update_actor, max_response_length=8192")
    sizes = next(one for one in questions if one.question.fact == "gpu_mem_gib")
    assert [value for value, *_ in sizes.options] == ["40", "80"]


def test_the_answer_that_turns_the_verdict_by_the_highest_figure_is_kept():
    run = "trl grpo, Qwen2.5-7B, 8xH100 80GB, deepspeed zero3, max_completion_length 3072, will it fit?"
    version = next(
        one for one in diagnose(run, {}, current(), ()).questions if one.question.fact == "framework_version"
    )
    says = {value: text for value, _, text in version.options}
    assert version.turn is not None
    assert version.turn.verdict == "out"
    assert says[version.turn.answer] == f"{gib(version.turn.bytes)} GiB, runs out"


def test_growth_asks_for_versions_and_not_for_sizes(asked):
    questions = facts_of(asked("python3 -m verl.trainer.main_ppo trainer.nnodes=1", kind="memory_growth"))
    assert questions == ["growing_pool", "engine_version", "framework_version", "worked_before"]


def test_cards_are_not_asked_for_host_ram(asked):
    assert not {"gpu_mem_gib", "gpu_model"} & set(facts_of(asked("the job was Killed", kind="host_ram")))


def test_the_ram_of_the_node_is_asked_where_nothing_says_it(asked):
    text = "python3 -m verl.trainer.main_ppo trainer.nnodes=1 trainer.n_gpus_per_node=8"
    assert "host_ram_gb" in facts_of(asked(text, kind="host_ram"))


def test_the_kind_comes_first_while_it_is_unsettled(asked):
    assert facts_of(asked("the run ended with OOM", kind="other"))[0] == "oom_kind"


def test_the_phase_comes_before_what_only_lacks_in_the_estimate(asked):
    questions = facts_of(
        asked("torch.OutOfMemoryError: CUDA out of memory.\npython3 -m verl.trainer.main_ppo trainer.nnodes=1")
    )
    assert questions[0] == "phase"
    assert set(questions) & {"model", "n_gpus"}


def test_at_most_six_phases_are_given_to_choose_from_in_the_order_of_a_step(asked):
    text = GROUPED.replace("in update_policy", "in nowhere").replace("rollout.n=32", "rollout.n=2")
    text = re.sub(r"Tried to allocate [\d.]+ GiB", "Tried to allocate 20.00 MiB", text)  # rules nothing out
    (phase,) = [one for one in asked(text) if one.question.fact == "phase"]
    ids = [id for id, _, _ in phase.options]
    assert ids == [id for id in PHASES if id in ids]
    assert len(ids) == 6
    assert "actor_update" in ids


def test_where_the_settings_explain_nothing_the_phase_comes_after_what_could(asked):
    text = GROUPED.replace("in update_policy", "in nowhere").replace("rollout.n=32", "rollout.n=2")
    questions = facts_of(asked(text, real_response_length=200, real_prompt_length=100))
    assert questions.index("worked_before") < questions.index("phase")


def test_missing_facts_are_asked_before_any_that_only_move_the_peak(asked):
    text = (
        "torch.OutOfMemoryError: CUDA out of memory.\n"
        + "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8"
    )
    questions = facts_of(asked(text, phase="actor_update"))
    assert set(questions) & {"model", "n_gpus"}


def test_the_options_tell_what_each_changes(asked):
    questions = asked(GROUPED, phase="actor_update")
    moving = [one for one in questions if one.moves]
    assert moving
    assert all(any("GiB" in says for _, _, says in one.options) for one in moving)


def test_at_most_five_questions(asked):
    assert len(asked("CUDA out of memory")) <= 5


PLAN = "Planning: GRPO full finetune of Qwen2.5-72B with verl, how many H100 80GB do I need? response 8k."


def test_of_a_plan_nobody_is_asked_what_ran_out_or_where(asked):
    for text in (PLAN, "想在 4 张 4090 上跑 7B GRPO，够不够？", "Can I train Qwen2.5-7B with TRL GRPO on one A6000?"):
        assert not {"oom_kind", "phase"} & set(facts_of(asked(text)))


def test_a_plan_is_asked_for_its_cards_first_with_what_each_number_comes_to(asked):
    first = asked(PLAN)[0]
    assert first.question.fact == "n_gpus"
    assert [value for value, _, _ in first.options] == ["8", "16", "32", "64"]
    assert all(says.endswith(("runs out", "fits", "too close to call")) for _, _, says in first.options)


def test_a_plan_that_failed_is_a_failure(asked):
    assert facts_of(asked("Can I run Qwen2.5-7B GRPO with verl on 8 A100 80GB? I get OOM."))[0] == "oom_kind"


RUN = {"model": "Qwen2.5-7B", "n_gpus": 8, "gpu_mem_gib": 80}


def of_answers(**answers):
    """The questions of a run of which answers alone are known."""
    return diagnose("", answers, current(), ()).questions


def test_the_card_is_asked_before_anything_is_computed():
    questions = of_answers(oom_kind="gpu_oom", framework="verl", phase="actor_update")
    assert facts_of(questions)[:3] == ["gpu_mem_gib", "n_gpus", "model"]


def test_a_default_is_asked_first_where_no_setting_was_read():
    questions = of_answers(**RUN, oom_kind="gpu_oom", framework="verl", phase="actor_update")
    assert facts_of(questions)[:2] == ["full_or_lora", "algo"]


def test_an_answer_is_tried_with_the_defaults_that_hang_on_it():
    questions = of_answers(**RUN, oom_kind="gpu_oom", framework="verl", phase="actor_update")
    (algo,) = [one for one in questions if one.question.fact == "algo"]
    says = {value: told for value, _, told in algo.options}
    with_grpo = diagnose(
        "", {**RUN, "oom_kind": "gpu_oom", "framework": "verl", "phase": "actor_update", "algo": "grpo"}, current(), ()
    )
    assert says["grpo"].startswith(f"{with_grpo.estimate.gpu.phase('actor_update').shown} GiB")
    assert says["grpo"] != says["ppo"]


def test_a_size_of_which_the_failing_phase_takes_nothing_is_not_asked():
    assert "micro_batch" in facts_of(of_answers(**RUN, oom_kind="gpu_oom", framework="nemo-rl", phase="actor_update"))
    assert "micro_batch" not in facts_of(of_answers(**RUN, oom_kind="gpu_oom", framework="verl", phase="weight_sync"))


def test_a_sharded_trainer_is_not_asked_whether_it_shards():
    for framework in ("verl", "easyr1", "skyrl"):
        questions = of_answers(**RUN, oom_kind="gpu_oom", framework=framework, phase="actor_update")
        assert "zero_stage" not in facts_of(questions)
    assert "zero_stage" in facts_of(of_answers(**RUN, oom_kind="gpu_oom", framework="openrlhf", phase="actor_update"))


def test_a_trainer_without_an_engine_by_default_is_asked_for_it_and_not_for_its_share():
    asked = facts_of(
        of_answers(**RUN, oom_kind="gpu_oom", framework="ms-swift", phase="actor_update", response_length=2048)
    )
    assert "rollout_engine" in asked
    assert not {"gpu_memory_utilization", "rollout_tp", "sleep_level"} & set(asked)


def test_algorithms_are_those_that_the_trainer_has():
    questions = of_answers(**RUN, oom_kind="gpu_oom", framework="llamafactory", phase="actor_update")
    (algo,) = [one for one in questions if one.question.fact == "algo"]
    values = {value for value, _, _ in algo.options}
    assert "dpo" in values
    assert "grpo" not in values


def test_the_phases_to_choose_from_are_those_of_the_trainer():
    questions = of_answers(oom_kind="gpu_oom", framework="llamafactory")
    (phase,) = [one for one in questions if one.question.fact == "phase"]
    assert {"init", "weight_sync"}.isdisjoint(value for value, _, _ in phase.options)


def test_versions_that_an_advisory_hangs_on_come_early_where_no_setting_was_read():
    questions = facts_of(of_answers(**RUN, oom_kind="gpu_oom_raw", framework="verl", phase="weight_sync"))
    assert questions[:4] == ["full_or_lora", "algo", "engine_version", "framework_version"]


def test_what_the_estimate_can_lack_has_a_question():
    can_lack = {"model", "params_b", "n_gpus", "gpu_mem_gib", "host_ram_gb", "gpus_per_node", "zero_stage", "precision"}
    can_lack |= {"micro_batch", "response_length", "max_length", "gradient_checkpointing", "gpu_memory_utilization"}
    assert can_lack <= {question.fact for question in current().questions.values()}


def test_options_stand_in_their_own_order():
    questions = of_answers(
        **RUN, oom_kind="gpu_oom", framework="search-r1", phase="actor_update", algo="grpo", micro_batch=16
    )
    for one in (*questions, *of_answers(**RUN, oom_kind="gpu_oom", framework="trl", phase="actor_update")):
        numbers = [float(value) for value, _, _ in one.options if value.replace(".", "", 1).isdigit()]
        assert numbers == sorted(numbers)


def test_an_option_says_what_its_answer_gives_where_the_size_asked_for_tells_the_rows():
    knowledge = current()
    text = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
        "data.train_batch_size=256 data.max_prompt_length=1024 data.max_response_length=8192 actor_rollout_ref.rollout.n=8 "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.gpu_memory_utilization=0.5 "
        "trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x H100 80GB\n"
        '  File "/opt/verl/verl/workers/actor/dp_actor.py", line 420, in update_policy\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.55 GiB. GPU 0 has a total capacity of 79.15 GiB "
        "of which 12.10 GiB is free.\n"
    )
    found = diagnose(text, {}, knowledge, ())
    asked = next(one for one in found.questions if one.question.fact == "remove_padding")
    then = diagnose(text, {"remove_padding": True}, knowledge, ())
    assert then.facts.failed_row is not None
    assert then.estimate.gpu is not None
    shown = then.estimate.gpu.phase("actor_update").shown
    assert next(says for value, _, says in asked.options if value == "true").startswith(f"{shown} GiB")


def test_a_version_of_the_engine_reads_the_keys_again():
    knowledge = current()
    text = (
        "verl==0.2.0 python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
        "actor_rollout_ref.rollout.free_cache_engine=False trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x H100 80GB\n"
    )
    facts = diagnose(text, {"engine_version": "0.6.3"}, knowledge, ()).facts
    assert facts.values["sleep_level"] == 0
    again = read_again(facts, Fact("engine_version", "0.8.5", "answered"), read(text))
    answered = diagnose(text, {"engine_version": "0.8.5"}, knowledge, ()).facts
    assert again.values["sleep_level"] == answered.values["sleep_level"] == 1


def test_an_answer_by_which_a_failed_run_would_fit_is_told_as_no_explanation():
    run = "CUDA out of memory in update_actor. verl grpo Qwen2.5-1.5B 8 x H100 80GB max_response_length=512"
    said = [says for one in diagnose(run, {}, current(), ()).questions for _, _, says in one.options]
    assert any(says.endswith("would not explain it") for says in said)
    assert not any(says.endswith("fits") for says in said)
