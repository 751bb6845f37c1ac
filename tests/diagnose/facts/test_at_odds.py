"""Answers that do not go together are told, with what is counted."""

import pytest

RUN = {"framework": "trl", "algo": "sft", "model": "Qwen2.5-7B", "n_gpus": 8}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"full_or_lora": "full", "quantization": "nf4"}, "not in nf4"),
        ({"full_or_lora": "qlora", "quantization": "none"}, "it is counted with nf4"),
        ({"full_or_lora": "full", "lora_rank": 32}, "no adapters are counted"),
        ({"params_b": 14}, "has 7.62 billion parameters, and not 14"),
        ({"ep": 8}, "has no experts: Expert parallel 8 spreads nothing"),
        ({"n_nodes": 3}, "8 GPUs do not divide by 3 nodes"),
    ],
)
def test_it_says_what_does_not_go_together(facts, more, words):
    assert any(words in note for note in facts("", **RUN, **more).notes)


@pytest.mark.parametrize(
    "more",
    [
        {"full_or_lora": "lora", "lora_rank": 32},
        {"full_or_lora": "qlora", "quantization": "nf4"},
        {"full_or_lora": "full", "quantization": "none"},
        {"full_or_lora": "full", "lora_rank": 0},
        {"params_b": 7},
        {"params_b": 8.3},
        {"ep": 1},
        {"n_nodes": 2},
    ],
)
def test_it_says_nothing_of_answers_that_do(facts, more):
    assert facts("", **RUN, **more).notes == ()


def test_it_says_that_a_message_prints_another_card(facts):
    message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 79.15 GiB.\n"
    assert "prints a card of 79.15 GiB" in facts(message, gpu_model="A100", gpu_mem_gib=40).notes[-1]
    assert facts(message, gpu_model="A100", gpu_mem_gib=80).notes == ()


COMMAND = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=4 trainer.nnodes=1"


@pytest.mark.parametrize("framework", ["ms-swift", "trl", "our own"])
def test_it_says_that_the_command_starts_another_trainer(facts, framework):
    notes = facts(COMMAND, framework=framework).notes
    assert any(note.startswith(f"The command starts verl, and {framework} is answered") for note in notes)


@pytest.mark.parametrize("framework", ["verl", "veRL", "TinyZero", None])
def test_it_says_nothing_where_the_command_is_that_of_the_answer(facts, framework):
    told = {"framework": framework} if framework else {}
    assert not any(note.startswith("The command starts") for note in facts(COMMAND, **told).notes)


@pytest.mark.parametrize(
    ("answers", "machine"),
    [
        ({"n_gpus": 8}, (8, 1, 8)),
        ({"n_gpus": 8, "n_nodes": 2}, (8, 2, 4)),
        ({"n_nodes": 2}, (8, 2, 4)),
        ({"gpus_per_node": 8}, (8, 1, 8)),
        ({"n_gpus": 16, "gpus_per_node": 8}, (16, None, 8)),
    ],
)
def test_cards_nodes_and_cards_of_a_node_agree_with_what_is_answered(values, answers, machine):
    found = values(COMMAND, **answers)
    assert tuple(found.get(id) for id in ("n_gpus", "n_nodes", "gpus_per_node")) == machine
