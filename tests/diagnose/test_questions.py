from __future__ import annotations

from collections.abc import Callable

import pytest

from diagnose.estimate import estimate
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.questions import ask
from diagnose.vocabulary import POOL_OF_KIND
from tests.diagnose.prescribe.conftest import GROUPED


@pytest.fixture
def asked() -> Callable[..., list]:
    def run(text, kind=None, phase=None, **answers):
        knowledge = current()
        facts = read_facts(read(text), answers, knowledge)
        kind, phase = kind or facts.values.get("oom_kind"), phase or facts.values.get("phase")
        before = estimate(facts, knowledge.fallback)
        return list(ask(facts, before, kind, phase, POOL_OF_KIND.get(kind or ""), knowledge))

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


def test_kind_and_phase_come_first_while_they_are_unsettled(asked):
    assert facts_of(asked("the run ended with OOM", kind="other"))[0] == "oom_kind"
    assert facts_of(asked(GROUPED.replace("in update_policy", "in nowhere")))[0] == "phase"


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
