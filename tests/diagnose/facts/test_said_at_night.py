"""What people type in a hurry, half in Chinese: who has which cards, where the engine stands, what is on, where it failed."""

import pytest


@pytest.mark.parametrize(
    ("said", "gpus", "train"),
    [
        ("areal 1.5B 单机8卡，4卡推理4卡训练 A800", 8, 4),
        ("trl grpo; 1 GPU for vllm serve (A100 80), 3 for training, 14b", 4, 3),
        ("trl grpo 7b, 2 GPUs for vllm and 6 for training", 8, 6),
        ("verl 7b 推理4卡，训练4卡，A100 80G", 8, 4),
        ("trl grpo 7b，2 卡跑 vllm，6 卡训练", 8, 6),
    ],
)
def test_cards_that_generate_are_named_before_those_that_train(values, said, gpus, train):
    found = values(f"{said} CUDA OOM")
    assert (found["n_gpus"], found["trainer_gpus"], found["rollout_mode"]) == (gpus, train, "server")


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("verl grpo 32B 2机16卡H800 colocate，第1步正常", "colocated"),
        ("slime GLM4-9B 8xH100 colocate，", "colocated"),
        ("openrlhf ppo 8卡 8b vllm 2个engine tp1 不colocate", "server"),
        ("slime 非colocate 8xH100 9B", "server"),
        ("verl 7b 8xA100 not colocated", "server"),
        ("areal 7b 8xA100 训推分离", "server"),
    ],
)
def test_where_the_engine_stands_is_one_word(values, said, mode):
    assert values(f"{said} CUDA OOM")["rollout_mode"] == mode


@pytest.mark.parametrize(
    "said",
    [
        "critic colocate with actor",
        "the reward model is colocated",
        "should I colocate?",
        "tried server mode and colocate",
    ],
)
def test_a_role_a_question_and_a_try_tell_nothing_of_the_engine(facts, said):
    told = facts(f"openrlhf 7b 8xA100 80G, {said}, CUDA OOM").stated.get("rollout_mode")
    assert told is None or told.origin == "default"
