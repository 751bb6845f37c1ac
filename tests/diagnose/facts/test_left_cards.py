"""Cards and machines that a run has left of more, and those of its roles."""

import pytest


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("OOM on 3 of 8 GPUs, verl grpo H100", 8),
        ("2 of my 8 GPUs show 79GB used and then CUDA OOM, trl grpo", 8),
        ("only 4 GB free on each of the 8 A100, verl CUDA OOM", 8),
        ("用 8 张卡训练，其中 4 张卡显存爆了，verl A100", 8),
        ("8 张 H800，其中 2 张跑 reward model，其余 6 张跑 verl 训练", 8),
        ("micro batch 8, 2 failed, so 6: verl 4xA100 CUDA OOM", 4),
        ("8 cards, 2 epochs, so 6 checkpoints; CUDA OOM verl", 8),
        ("各位大佬，4 卡 A100 跑 verl 爆显存怎么办", 4),
        ("epoch 2 of 4, 8xH100, verl CUDA OOM", 8),
    ],
)
def test_a_smaller_number_beside_the_cards_is_not_what_is_left(values, text, cards):
    assert values(text)["n_gpus"] == cards


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("8 cards, 2 broken, so 6", 6),
        ("we have 8 A100-80G but two are dead so training on 6", 6),
        ("一台 8 卡 H20 有一张掉卡了，剩 7 张卡在跑，显存不够", 7),
        ("8 卡 A100，另外两张被别人占了，实际用 6 张，OOM", 6),
        ("机器上有 8 张卡，我只用其中 4 张跑 grpo", 4),
        ("8 GPUs in the box, using 6 of them, CUDA OOM", 6),
        ("half a node (4 of 8 H100), CUDA OOM", 4),
    ],
)
def test_the_cards_that_are_left_are_those_of_the_run(values, text, cards):
    assert values(text)["n_gpus"] == cards


@pytest.mark.parametrize(
    ("text", "nodes", "cards"),
    [
        ("4 nodes x 8 H100, one node is down so 3 nodes", 3, 24),
        ("一共 4 台机器，坏了 1 台，用 3 台 8 卡 H800", 3, 24),
        ("node 2 of 4; 8xH100 each", 4, 32),
        ("CUDA OOM on node 3 of 4 (8xA100 each)", 4, 32),
        ("第 2 个节点（共 4 个节点，每个 8 张 H100）报 CUDA out of memory", 4, 32),
        ("两台机器各4卡 H800", 2, 8),
        ("每个节点各有 8 张卡，共 2 个节点", 2, 16),
        ("only one node OOMs out of 4. 8xH100 each", 4, 32),
        ("CUDA OOM on just one of the 4 nodes, 8xA100 each", 4, 32),
        ("node 3 (of 8) runs out of memory, 8xH20 each", 8, 64),
        ("one machine of our two-node setup OOMs, 8xH20 each", 2, 16),
        ("We have 4 nodes but only use one of them: 8xA100, CUDA OOM", 1, 8),
        ("we train on 2 of the 4 nodes, 8xA100 each, CUDA out of memory", 2, 16),
        ("4 台 8 卡 H800，只用了其中 2 台，爆显存", 2, 16),
    ],
)
def test_machines_are_counted_as_they_are_told(values, text, nodes, cards):
    found = values(text)
    assert (found["n_nodes"], found["n_gpus"]) == (nodes, cards)


@pytest.mark.parametrize(
    "text",
    [
        "one node ran out of disk",
        "one node ran out of 80 GB of disk",
        "one node died first, then the others hung",
        "有一台机器挂了",
    ],
)
def test_a_machine_to_which_something_happened_is_one_of_several(values, text):
    assert "n_nodes" not in values(text)


@pytest.mark.parametrize("text", ["单机 OOM，8 卡", "training on one node crashes", "a single node ran out of memory"])
def test_the_machine_on_which_a_run_fails_is_the_only_one(values, text):
    assert values(text)["n_nodes"] == 1


@pytest.mark.parametrize("text", ["tp rank 3 of 4, CUDA OOM", "lora rank 8 of 16", "LoRA rank 8/16 both OOM"])
def test_another_rank_counts_no_cards(values, text):
    assert "n_gpus" not in values(text)


@pytest.mark.parametrize("text", ["rank 3 of 8 died with CUDA OOM", "Rank 0/8 CUDA out of memory"])
def test_a_rank_of_all_ranks_counts_the_cards(values, text):
    assert values(text)["n_gpus"] == 8


def test_a_list_of_devices_shorter_than_what_a_node_has_is_not_that_of_the_run(values):
    found = values(
        "ENV CUDA_VISIBLE_DEVICES=0\n\ntrainer.n_gpus_per_node=8\ntrainer.nnodes=2\nCUDA out of memory, verl"
    )
    assert found["n_gpus"] == 16


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("critic 和 actor 分开放 各4卡", {"n_gpus": 8, "trainer_gpus": 4, "critic_gpus": 4}),
        ("actor、critic、ref 各 2 张卡，vllm 4 张", {"n_gpus": 10, "trainer_gpus": 2, "critic_gpus": 2, "ref_gpus": 2}),
        ("actor and critic on 4 GPUs each, OOM", {"n_gpus": 8, "critic_gpus": 4}),
        ("actor 4 卡，critic 2 卡，ref 2 卡", {"n_gpus": 8, "trainer_gpus": 4, "critic_gpus": 2, "ref_gpus": 2}),
        ("训练和推理各 4 张卡", {"n_gpus": 8, "trainer_gpus": 4}),
    ],
)
def test_cards_of_roles_add_up(values, text, told):
    assert told.items() <= values(text).items()


def test_roles_that_share_their_cards_do_not_add_up(values):
    found = values("actor 8 卡，critic 8 卡，混部在同一批 8 张 A100 上")
    assert "critic_gpus" not in found
    assert found["n_gpus"] == 8


@pytest.mark.parametrize("part", ["one of the checkpoints", "2 of the reward functions", "one of them"])
def test_a_part_of_something_else_counts_no_cards(values, part):
    assert values(f"verl CUDA OOM, I use {part}, on 8xA100")["n_gpus"] == 8
