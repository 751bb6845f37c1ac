"""What is taken where nothing sets it, and where that would say too much."""

from __future__ import annotations

import pytest

COMMAND = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct algorithm.adv_estimator=grpo "


def test_a_setting_given_by_a_variable_that_nothing_sets_is_not_at_its_default(facts):
    found = facts(COMMAND + "data.max_response_length=$RESPONSE actor_rollout_ref.rollout.n=${N}")
    assert not {"response_length", "rollout_n"} & found.values.keys()
    assert found.values["prompt_length"] == 512
    assert found.untold == {
        "response_length": "data.max_response_length=$RESPONSE",
        "rollout_n": "actor_rollout_ref.rollout.n=${N}",
    }
    assert any("data.max_response_length=$RESPONSE" in note and "Paste that line" in note for note in found.notes)


def test_nor_is_it_once_another_fact_is_answered(facts):
    found = facts(COMMAND + "data.max_response_length=$RESPONSE", n_gpus=8)
    assert "response_length" not in found.values
    assert facts(COMMAND + "data.max_response_length=$RESPONSE", response_length=4096).values["response_length"] == 4096


@pytest.mark.parametrize(
    "text",
    [
        "RESPONSE=2048\n" + COMMAND + "data.max_response_length=$RESPONSE",
        "export RESPONSE=${RESPONSE:-2048}\n" + COMMAND + "data.max_response_length=${RESPONSE}",
        COMMAND + "data.max_response_length=${RESPONSE:-2048}",
    ],
)
def test_a_variable_that_the_paste_sets_is_read(facts, text):
    found = facts(text)
    assert found.values["response_length"] == 2048
    assert not found.untold


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        (COMMAND + "trainer.nnodes=2", 16),
        (COMMAND + "trainer.nnodes=2\n\nWe have 4 x A100 in all.", 4),
        (COMMAND + "trainer.nnodes=2 trainer.n_gpus_per_node=$GPUS", None),
        (COMMAND + "trainer.nnodes=2 \\\n    ...", None),
        ("verl GRPO of Qwen2.5-7B is out of memory.", None),
    ],
)
def test_a_whole_command_that_counts_no_cards_takes_as_many_as_the_trainer_does(values, text, cards):
    assert values(text).get("n_gpus") == cards


def test_a_card_in_the_singular_is_not_alone_where_the_model_is_spread_over_several(values):
    text = "verl: actor_rollout_ref.rollout.tensor_model_parallel_size=4, Qwen2.5-7B. Will this fit on H100 80GB?"
    assert "n_gpus" not in values(text)
    assert values(text.replace("=4", "=1"))["n_gpus"] == 1


def test_no_default_limits_a_run_whose_rows_are_said_to_be_longer(facts):
    said = facts("verl grpo Qwen3-8B on 8xH100, 32k context, OOM in update_actor")
    assert said.values["max_length"] == 32768
    assert not {"prompt_length", "response_length"} & said.values.keys()
    assert facts("verl grpo Qwen3-8B on 8xH100, OOM in update_actor").values["response_length"] == 512
    keyed = facts(
        "from unsloth import FastLanguageModel\nmax_seq_length = 8192\nGRPOConfig(num_generations=8)\nQwen3-8B"
    )
    assert keyed.stated["max_length"].key


def test_what_follows_from_megatron_follows_as_well_where_it_is_answered(values):
    command = values("megatron sft --model Qwen/Qwen2.5-7B-Instruct --tensor_model_parallel_size 4")
    answered = values("", framework="ms-swift", strategy="megatron", model="Qwen2.5-7B-Instruct", tp=4)
    of_it = ("strategy", "precision", "zero_stage", "gradient_checkpointing", "flash_attention", "full_or_lora")
    assert [command[id] for id in of_it] == ["megatron", "megatron", 1, "selective", True, "full"]
    assert [answered[id] for id in of_it] == [command[id] for id in of_it]
