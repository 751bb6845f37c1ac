"""How many cards and how many machines: words, keys, launchers and tables, and which of them outrank which."""

import pytest


@pytest.mark.parametrize(
    ("text", "nodes", "cards"),
    [
        ("verl, 4 nodes 8xH100, OOM", 4, 32),
        ("verl on 4 nodes, 8xH100 OOM", 4, 32),
        ("verl 8xH100, 4 nodes OOM", 4, 32),
        ("verl 4 nodes 8xH100 in total OOM", 4, 8),
        ("8 A100 over 2 nodes, OOM", 2, 8),
        ("2 nodes, 16xH100, OOM", 2, 16),
    ],
)
def test_cards_beside_a_number_of_machines_are_those_of_each(values, text, nodes, cards):
    found = values(text)
    assert (found["n_nodes"], found["n_gpus"]) == (nodes, cards)


def test_the_number_of_cards_alone_does_not_say_how_many_machines(values):
    assert "n_nodes" not in values("GRPO on 8*A100")


@pytest.mark.parametrize(
    "text",
    [
        "one node with 8 H100",
        "单机 8 卡",
        "一台机器 4 张 A100",
        "a single H100 80GB",
        "one Ubuntu 22.04 machine, 4×A100",
        "Node: 8*A800, CPU memory 250GB",
        "a box with four 4090s",
        "机器是 8 卡 A800",
        "T4 x2 on Kaggle",
    ],
)
def test_one_machine_is_one_node(values, text):
    assert values(text)["n_nodes"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "I would expect one copy per node",
        "I tried two machines, 8 x A100",
        "8 x A100, or do I need two nodes?",
        "每台机器是 8 卡 A800",
        "on one of the nodes",
    ],
)
def test_other_words_about_machines_do_not_say_how_many_there_are(values, text):
    assert "n_nodes" not in values(text)


@pytest.mark.parametrize(
    "words", ["GPU: NVIDIA H800 80GB, does it fit?", "OOM. The card has 80GB.", "Will my laptop do?"]
)
def test_keys_that_count_the_cards_of_a_node_outrank_a_card_in_the_singular(values, words):
    found = values(f"python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=2 trainer.nnodes=1\n\n{words}")
    assert found["n_gpus"] == 2


def test_a_list_of_cards_that_leaves_out_the_first_is_not_all_of_them(values):
    found = values(
        "h20*8 95gb, one node\n\nCUDA_VISIBLE_DEVICES=6,7 swift rollout --model Qwen/Qwen3-4B --vllm_data_parallel_size 2"
    )
    assert found["n_gpus"] == 8


def test_a_configuration_gives_nodes_and_cards_of_each(values):
    found = values("uv run train.py cluster.num_nodes=2 cluster.gpus_per_node=8 policy.model_name=Qwen/Qwen3-8B")
    assert (found["n_nodes"], found["n_gpus"]) == (2, 16)


def test_a_number_of_cards_that_a_variable_holds_is_unknown(values):
    text = (
        "GRPO is fine with `trainer.n_gpus_per_node=2`, more gives OOM.\n\n"
        "python -m verl.trainer.main_ppo \\\n  data.train_batch_size=512 \\\n  trainer.n_gpus_per_node=$NGPU"
    )
    assert "n_gpus" not in values(text)


def test_cards_of_each_node_are_multiplied_once(values):
    found = values("4 nodes x 8 GPUs (80G each)")
    assert (found["n_nodes"], found["n_gpus"], found["gpu_mem_gib"]) == (4, 32, 80)
    assert values("4 nodes / 32 x A800 80G")["n_gpus"] == 32


def test_a_command_outranks_the_words(values):
    found = values(
        "8 x A100 in the box\n\nCUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4 train.py --model a/b"
    )
    assert (found["n_gpus"], found["n_nodes"]) == (4, 1)


def test_cards_of_a_server_beside_the_trainer_belong_to_the_run(values):
    text = "CUDA_VISIBLE_DEVICES=0 python serve.py --port 1\n\nNPROC_PER_NODE=3 CUDA_VISIBLE_DEVICES=1,2,3 torchrun train.py --a b"
    found = values(text)
    assert (found["n_gpus"], found["trainer_gpus"]) == (4, 3)


def test_roles_with_cards_of_their_own_are_added_up(values):
    text = (
        "ray job submit -- python3 train.py --actor_num_nodes 1 --actor_num_gpus_per_node 2 --ref_num_nodes 1 --ref_num_gpus_per_node 2 "
        "\\\n--colocate_actor_ref \\\n--critic_num_nodes 1 --critic_num_gpus_per_node 2 --vllm_num_engines 2 --vllm_tensor_parallel_size 2"
    )
    found = values(text)
    assert (found["n_gpus"], found["trainer_gpus"]) == (8, 2)


@pytest.mark.parametrize(
    ("command", "cards"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --model a/b --max_length 512", 2),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=2 swift sft --model a/b --max_length 512", 2),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 swift sft --model a/b --max_length 512", None),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=3 swift sft --model a/b --max_length 512", None),
        ("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 2 train.py --max_length 512", None),
        ("CUDA_VISIBLE_DEVICES=0 swift sft --model a/b --max_length 512", None),
    ],
)
def test_a_process_sees_its_part_of_the_visible_cards(command, cards, facts):
    assert facts(command).values.get("cards_per_process") == cards


def test_what_ray_starts_with_is_one_node_where_the_trainer_is_told_several(values):
    script = (
        "ray start --head --num-gpus 8\nray job submit -- python3 train.py --hf-checkpoint /root/Qwen3-32B --colocate "
        "--actor-num-nodes {nodes} --actor-num-gpus-per-node 8 --sglang-mem-fraction-static 0.7"
    )
    assert values(script.format(nodes=4))["n_gpus"] == 32
    assert values(script.format(nodes=1))["n_gpus"] == 8


@pytest.mark.parametrize(
    "other",
    [
        "export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\n\n",
        "torchrun --nproc_per_node 2 --nnodes 1 scripts/convert_weights.py --hf_path a/b\n\n",
    ],
)
def test_keys_that_tell_nodes_and_cards_outrank_a_list_of_devices_and_another_command(other, values):
    command = (
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=a/b trainer.n_gpus_per_node=8 trainer.nnodes=4"
    )
    found = values(other + command)
    assert (found["n_gpus"], found["n_nodes"]) == (32, 4)


def test_the_cards_of_all_machines_outrank_those_of_one(values):
    assert values("8卡 H20 141G，4 机 32 卡")["n_gpus"] == 32


@pytest.mark.parametrize(
    "text",
    ["训练 4 卡，推理 4 卡，A100 80G", "4 GPUs for training and 4 for vLLM, A100 80GB", "4卡训练，4卡跑 vllm，A100"],
)
def test_cards_that_train_and_cards_that_generate_are_told_apart(values, text):
    found = values(text)
    assert (found["n_gpus"], found["trainer_gpus"]) == (8, 4)


@pytest.mark.parametrize(
    "text", ["the scheduler gave us the same node again", "OOM on 8 cards, one of the nodes was faulty"]
)
def test_a_node_in_passing_is_no_count_of_nodes(values, text):
    assert "n_nodes" not in values(text)


@pytest.mark.parametrize(
    ("text", "per_node", "origin"),
    [
        ("GRPO on 16 H800 80GB", 8, "assumed"),
        ("GRPO on 32 x A100 80GB", 8, "assumed"),
        ("GRPO on 12 A100 80GB", None, ""),
        ("GRPO on 8 A100 80GB", None, ""),
        ("GRPO on 4 nodes, 16 A100 80GB in all", 4, ""),
    ],
)
def test_cards_of_several_nodes_are_taken_as_eight_each_where_nothing_tells(facts, text, per_node, origin):
    read = facts(text)
    assert read.values.get("gpus_per_node") == per_node
    assert ("gpus_per_node" in read.stated and read.stated["gpus_per_node"].origin) == (origin or False)


@pytest.mark.parametrize(
    ("settings", "trains"),
    [
        (
            "p.colocated.enabled=false p.colocated.resources.gpus_per_node=2 cluster.num_nodes=1 cluster.gpus_per_node=8",
            6,
        ),
        ("p.colocated.enabled=false p.colocated.resources.num_nodes=1 cluster.num_nodes=4 cluster.gpus_per_node=8", 24),
        (
            "p.colocated.enabled=true p.colocated.resources.gpus_per_node=2 cluster.num_nodes=1 cluster.gpus_per_node=8",
            8,
        ),
        ("p.colocated.enabled=false cluster.num_nodes=1 cluster.gpus_per_node=8", 8),
        (
            "p.colocated.enabled=false p.colocated.resources.num_nodes=4 cluster.num_nodes=4 cluster.gpus_per_node=8",
            32,
        ),
    ],
)
def test_engines_that_are_not_colocated_take_their_part_of_the_cluster(values, settings, trains):
    assert values(f"python run.py {settings}").get("trainer_gpus") == trains


def test_nodes_of_one_card_are_places_on_machines(values):
    command = "".join(
        f"--{role}_num_nodes 16 --{role}_num_gpus_per_node 1 " for role in ("ref", "actor", "critic", "reward")
    )
    told = values(f"python3 -m openrlhf.cli.train_ppo_ray {command} --colocate_all_models --pretrain Qwen/Qwen2.5-7B")
    assert told["n_gpus"] == 16
    assert told.get("n_nodes") != 16


def test_a_machine_that_joins_others_is_not_the_whole_run(values):
    told = values(
        "ray start --head --num-gpus 8\nray start --address $HEAD:6379 --num-gpus 8\npython3 train.py --colocate x --n 1"
    )
    assert told.get("n_gpus") is None
    assert told["gpus_per_node"] == 8


def test_an_actor_and_its_engines_are_counted_together(values):
    run = (
        "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 2 --vllm_num_engines 3 "
        "--vllm_tensor_parallel_size 2 --init_kl_coef 0 --advantage_estimator group_norm --pretrain Qwen/Qwen2.5-7B"
    )
    found = values(f"{run}\nOOM on 8 RTX 4090")
    assert (found["n_gpus"], found["trainer_gpus"]) == (8, 2)
    shared = values(f"{run} --colocate_all_models\nOOM")
    assert "trainer_gpus" not in shared or shared["n_gpus"] == 2


@pytest.mark.parametrize(
    ("text", "nodes", "cards"),
    [
        ("PPO on two 8xH100-80G boxes, OOM", 2, 16),
        ("Two pods with 8 H200s each, OOM", 2, 16),
    ],
)
def test_machines_that_are_counted_in_words_have_so_many_cards_each(values, text, nodes, cards):
    found = values(text)
    assert (found["n_nodes"], found["n_gpus"]) == (nodes, cards)


def test_cards_of_a_first_attempt_are_not_those_of_the_run(values):
    found = values("最初用 4 张 A100 40G，OOM；后来换了 8 张 A100 80G，跑到一半又 OOM")
    assert (found["n_gpus"], found["gpu_mem_gib"]) == (8, 80)


@pytest.mark.parametrize(
    ("text", "card", "ram"),
    [
        ("workstation (2x RTX 5090, 128 GB), OOM", 32, 128),
        ("PC: RTX 4090, 64GB. CUDA out of memory", 24, 64),
    ],
)
def test_a_size_that_no_such_card_has_is_the_machine_s(values, text, card, ram):
    found = values(text)
    assert (found["gpu_mem_gib"], found["host_ram_gb"]) == (card, ram)


def test_what_all_cards_have_together_is_no_ram(values):
    assert "host_ram_gb" not in values("4x RTX 3090, 96GB, OOM")
