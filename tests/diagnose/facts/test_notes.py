"""What is said of sizes that do not go up in the cards of the run."""

import pytest

VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-1.5B-Instruct "
    "trainer.nnodes=1 trainer.n_gpus_per_node={cards} actor_rollout_ref.rollout.name=vllm {more}"
)


@pytest.mark.parametrize(
    ("cards", "more", "note"),
    [
        (
            6,
            "actor_rollout_ref.rollout.tensor_model_parallel_size=4",
            "6 GPUs do not divide by actor_rollout_ref.rollout.tensor_model_parallel_size 4: as it stands the run cannot take all of them.",
        ),
        (
            6,
            "actor_rollout_ref.actor.ulysses_sequence_parallel_size=4",
            "6 GPUs do not divide by actor_rollout_ref.actor.ulysses_sequence_parallel_size 4: as it stands the run cannot take all of"
            " them.",
        ),
        (
            6,
            "actor_rollout_ref.actor.ppo_micro_batch_size=1",
            "actor_rollout_ref.actor.ppo_micro_batch_size 1 is shared by 6 ranks, which is 0 rows for each: the estimate counts one.",
        ),
    ],
)
def test_a_size_that_does_not_go_up_in_the_cards_is_said(facts, cards, more, note):
    assert note in facts(VERL.format(cards=cards, more=more)).notes


@pytest.mark.parametrize(
    ("cards", "more"),
    [
        (8, "actor_rollout_ref.rollout.tensor_model_parallel_size=4"),
        (6, "actor_rollout_ref.rollout.tensor_model_parallel_size=2"),
        (6, "actor_rollout_ref.actor.ppo_micro_batch_size=12"),
        (6, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1"),
        (6, ""),
    ],
)
def test_nothing_is_said_of_sizes_that_do(facts, cards, more):
    assert not facts(VERL.format(cards=cards, more=more)).notes


def test_nothing_is_said_while_the_cards_are_unknown(facts):
    text = VERL.format(cards=6, more="actor_rollout_ref.rollout.tensor_model_parallel_size=4")
    assert not facts(text.replace("trainer.n_gpus_per_node=6", "")).notes
