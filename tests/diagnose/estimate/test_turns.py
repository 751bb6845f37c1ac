"""What bounds a row that holds a conversation, by the keys and the code of each trainer."""

from __future__ import annotations

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.rows import row_limit
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current

MACHINE = "\n8 x A100 80GB, Qwen2.5-7B"
SEARCH = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_start_length=2048 data.max_prompt_length=4096 "
    "data.max_response_length=500 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 trainer.nnodes=1 "
)
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=1024 data.max_response_length=2048 "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 trainer.nnodes=1 "
)
SKYRL = (
    "python -m skyrl_train.entrypoints.main_base trainer.policy.model.path=Qwen/Qwen2.5-7B trainer.max_prompt_length=2048 "
    "generator.sampling_params.max_generate_length=500 trainer.placement.policy_num_gpus_per_node=8 "
)


def limits(text: str) -> tuple[int | None, int | None]:
    knowledge = current()
    plan = plan_of(read_facts(read(text + MACHINE), {}, knowledge), knowledge.fallback)
    assert plan is not None
    return row_limit(plan)


@pytest.mark.parametrize(
    ("more", "row"),
    [
        ("max_turns=2 data.max_obs_length=500", (2048, 2500)),  # two answers with a search each, and one without
        ("max_turns=4 data.max_obs_length=500", (2048, 4096)),
        ("max_turns=1 data.max_obs_length=200", (2048, 1200)),
        ("max_turns=2", (2048, 2524)),  # 512 tokens of a search by default
    ],
)
def test_search_r1_cuts_what_all_turns_say_at_the_limit_of_a_prompt(more: str, row: tuple[int, int]) -> None:
    assert limits(SEARCH + more) == row


@pytest.mark.parametrize(
    "more",
    [
        "actor_rollout_ref.rollout.multi_turn.enable=True actor_rollout_ref.rollout.multi_turn.max_assistant_turns=8 "
        "actor_rollout_ref.rollout.multi_turn.max_tool_response_length=4096",
        "actor_rollout_ref.agent.max_turns=5 actor_rollout_ref.agent.max_obs_length=1024  # verl-tool",
    ],
)
def test_verl_and_verl_tool_cut_a_whole_conversation_at_the_limit_of_the_response(more: str) -> None:
    assert limits(VERL + more) == (1024, 2048)


@pytest.mark.parametrize(
    ("more", "row"),
    [
        ("actor_rollout_ref.rollout.max_turns=4", 4 * 2048),
        (
            "actor_rollout_ref.rollout.max_turns=3 actor_rollout_ref.rollout.tool_response_length=1024",
            3 * 2048 + 2 * 1024,
        ),
        ("", 2048),
    ],
)
def test_rl_factory_cuts_none_of_the_answers(more: str, row: int) -> None:
    assert limits(VERL + more + " --config-name=rl_factory_ppo_trainer") == (1024, row)


@pytest.mark.parametrize(
    ("more", "row"),
    [
        ("", (2048, 500)),
        ("generator.max_turns=1 generator.max_input_length=4096", (2048, 500)),
        ("generator.max_turns=4 generator.max_input_length=4096", (2048, 4096 - 2048 + 500)),
        ("generator.max_turns=4", (2048, 500)),
    ],
)
def test_skyrl_ends_a_conversation_that_is_longer_than_its_input_may_be(more: str, row: tuple[int, int]) -> None:
    assert limits(SKYRL + more) == row


@pytest.mark.parametrize(("more", "row"), [("", 3600), ("actor_rollout_ref.rollout.max_model_len=15000", 15000)])
def test_a_row_of_ragen_is_all_that_its_engine_may_see(more: str, row: int) -> None:
    text = "python train.py agent_proxy.max_turn=9 es_manager.train.env_groups=8 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
    assert limits(text + more + " trainer.n_gpus_per_node=8")[1] == row


def test_fewer_turns_of_search_r1_are_a_lever_where_the_turns_bound_the_row() -> None:
    facts = read_facts(read(SEARCH + "max_turns=2 data.max_obs_length=500"), {}, current())
    assert facts.keys["max_turns"] == "max_turns"
    assert facts.values["observation_length"] == 500
