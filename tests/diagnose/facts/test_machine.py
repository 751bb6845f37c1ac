import pytest


@pytest.mark.parametrize(
    "text",
    [
        "Tried to allocate 80.00 GiB on GPU 3 of the list",
        "Sleep mode freed 40.00 GiB memory, 8 x more than before",
        "The H100 box and the A100 box behave alike",
        "step 4090 上升到 3.2，训练到 3090 步",
    ],
)
def test_it_does_not_take_other_numbers_for_cards(values, text):
    assert "n_gpus" not in values(text)
    assert "gpu_model" not in values(text)


@pytest.mark.parametrize("text", ["4090 上跑 GRPO，爆显存", "3090训练 Qwen2.5-1.5B OOM", "在4090上微调"])
def test_a_bare_number_is_the_card_that_a_run_is_on(values, text):
    assert values(text)["gpu_model"] in ("RTX 4090", "RTX 3090")


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


@pytest.mark.parametrize(
    "text",
    [
        "python3 -m verl.trainer.main_ppo data.max_response_length=8192 8*A100 OOM",
        "python3 -m verl.trainer.main_ppo data.max_response_length=8192, 8*A100 80G, OOM",
        "python3 -m verl.trainer.main_ppo data.max_response_length=8192 在8张A100上OOM",
        "bash examples/run.sh on 8xA100 goes OOM",
    ],
)
def test_cards_are_read_behind_a_command_in_its_own_line(values, text):
    found = values(text)
    assert (found["gpu_model"], found["n_gpus"]) == ("A100", 8)


@pytest.mark.parametrize("text", ["Qwen3-8B t4 run", "t4 p2 d8", "dp2, t4", "pp 2 t4", "EP8 t4 PP2", "grpo-run-t4-p2"])
def test_a_parallel_size_is_no_card(values, text):
    assert "gpu_model" not in values(text)


@pytest.mark.parametrize(
    "text", ["on a t4", "2x t4", "t4, qwen 0.5b", "the free colab t4", "t4 gpu", "gpu: t4", "用t4跑"]
)
def test_a_card_may_be_written_small(values, text):
    assert values(text)["gpu_model"] == "T4"


@pytest.mark.parametrize(
    ("text", "model", "size", "count"),
    [
        ("we have 8 x H100 80GB", "H100", 80, 8),
        ("on 8*A100 40G", "A100", 40, 8),
        ("will it fit on 2x A100 80?", "A100", 80, 2),
        ("the run was on 8xH100, but I only have 8xA6000", "RTX A6000", 48, 8),
        ("two A100-40GB", "A100", 40, 2),
        ("4 * 80g A100", "A100", 80, 4),
        ("8*40GB A100 的机器", "A100", 40, 8),
        ("八卡H20", "H20", 96, 8),
        ("2x3090", "RTX 3090", 24, 2),
        ("H200*8 一台", "H200", 141, 8),
        ("8 × A100 (80 GB)", "A100", 80, 8),
        ("CUDA device(s): 8 x NVIDIA H100 80GB HBM3", "H100", 80, 8),
        ("4*90G 的卡", None, 90, 4),
        ("我有 4 张 80G 的卡", None, 80, 4),
        ("2 x 8 A100", "A100", None, 16),
        ("2x8xH100", "H100", 80, 16),
        ("A800 * 8 * 2 nodes", "A800", 80, 16),
        ("A800*8*2台", "A800", 80, 16),
        ("A100 * 8 (80G)", "A100", 80, 8),
        ("A100（40G）8 卡", "A100", 40, 8),
        ("3 台 8 卡 A100", "A100", None, 24),
        ("两台机器 每台 8 张 A100 80G", "A100", 80, 16),
        ("4机32卡 H100", "H100", 80, 32),
        ("4 nodes with 8 H100s each", "H100", 80, 32),
        ("3090 双卡", "RTX 3090", 24, 2),
        ("my 3090 is full", "RTX 3090", 24, None),
        ("GRPO on a colab T4", "T4", 16, 1),
        ("单机 8*64GB", None, 64, 8),
        ("训练用 8 张 A100，推理用 2 张", "A100", None, 10),
        ("with 4 of the 8 A100", "A100", None, None),
        ("two H100s and two A100s", None, None, None),
        ("all of it is put on a single GPU", None, None, None),
        ("4x A10G (g5.12xlarge)", "A10G", 24, 4),
        ("租的 4090 24G*4", "RTX 4090", 24, 4),
        ("用的4090，24G显存", "RTX 4090", 24, None),
        ("3090 24G 单卡", "RTX 3090", 24, 1),
        ("5090 32G 双卡", "RTX 5090", 32, 2),
        ("RTX 4070 12GB", "RTX 4070", 12, None),
        ("single 4070 12GB", "RTX 4070", 12, 1),
        ("2 x MI250", "MI250", 64, 2),
        ("MI250X, 8 GCDs per node, 4 nodes", "MI250X", 64, 32),
        ("H800 80G 单机八卡，2机", "H800", 80, 16),
    ],
)
def test_it_reads_cards_in_words(values, text, model, size, count):
    found = values(text)
    assert (found.get("gpu_model"), found.get("gpu_mem_gib"), found.get("n_gpus")) == (model, size, count)


@pytest.mark.parametrize(
    ("text", "size", "origin"),
    [("8xH100", 80, "assumed"), ("8 x H100 NVL", 94, "derived"), ("H100 96GB x 8", 96, "read")],
)
def test_a_size_that_a_name_nearly_always_means_is_assumed(facts, text, size, origin):
    told = facts(text).stated["gpu_mem_gib"]
    assert (told.value, told.origin) == (size, origin)


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
        "每台机器是 8 卡 A800",
        "on one of the nodes",
    ],
)
def test_other_words_about_machines_do_not_say_how_many_there_are(values, text):
    assert "n_nodes" not in values(text)


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("On H100 it is fine, on A100 it OOMs.", "A100"),
        ("放到 H100 上没有问题，换到 A100 上就爆显存", "A100"),
        ("OOM on one RTX 4090. I also tried a 3090, fails the same way.", "RTX 4090"),
        ("It was tested with 4 GPUs. Will it fit on H100 80GB?", "H100"),
        ("A100 上没有问题，放到 H20 上够用吗？", "H20"),
    ],
)
def test_of_two_cards_the_one_that_fails_counts(values, text, card):
    assert values(text)["gpu_model"] == card


def test_the_card_in_the_singular_is_one_card(values):
    found = values("CUDA OOM with GRPO. The card has 20GB.")
    assert (found["n_gpus"], found["n_nodes"]) == (1, 1)


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


def test_ram_of_a_whole_cluster_is_not_that_of_one_machine(values):
    assert "host_ram_gb" not in values("64 GPUs with 6 TB of host memory")
    assert values("64 GPUs, 2 TB of RAM per node")["host_ram_gb"] == 2048


def test_a_terabyte_that_is_spelt_out_is_what_it_is_spelt_as(values):
    assert values("4 台机器，每台内存 1T（1000G）")["host_ram_gb"] == 1000


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


def test_it_counts_the_rows_of_a_table_of_cards(values):
    text = "\n".join(
        f"|   {i}  NVIDIA A100-SXM4-80GB          On  | 00000000:1{i}:00.0 Off |                    0 |\n"
        "| N/A   30C    P0    60W / 400W |  70000MiB / 81920MiB |    100%      Default |"
        for i in range(4)
    )
    found = values(text)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"], found["n_nodes"]) == ("A100", 80, 4, 1)


def test_a_printed_capacity_gives_the_size_as_sold(values):
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free."
    )
    assert values(text)["gpu_mem_gib"] == 80


@pytest.mark.parametrize(
    "text", ["it uses 400 GB of RAM", "内存涨到 500GB 就挂", "rank 0 needs about 320 GB of RAM more"]
)
def test_a_use_of_host_ram_is_no_capacity(values, text):
    assert "host_ram_gb" not in values(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("物理内存 760GB", 760),
        ("760GB 内存", 760),
        ("a node with 2TB RAM", 2048),
        ("CPU Memory\t: 1007.60 GB", 1007.6),
        ("64GB of system RAM", 64),
    ],
)
def test_it_reads_host_ram(values, text, size):
    assert values(text)["host_ram_gb"] == size


def test_gpu_memory_is_no_host_ram(values):
    assert "host_ram_gb" not in values("显存 80GB 一直爆")


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


def test_the_memory_of_a_card_is_no_ram_of_the_host(values):
    assert "host_ram_gb" not in values("Unsloth: Your GPU has CUDA compute capability 7.5 with VRAM = 14.74 GB.")


@pytest.mark.parametrize(
    "text",
    [
        "Our pods have 1.5TB of RAM requested but the limit is 750Gi.",
        "容器限制了 750G，机器内存 1.5T",
        "docker memory limited to 750GB",
    ],
)
def test_a_limit_of_a_container_in_words_outranks_what_is_requested_or_there(values, text):
    assert values(text)["host_ram_gb"] == 750


@pytest.mark.parametrize(
    "text", ["8卡 A100 80G 内存爆了", "8xA100 80G host RAM runs out", "8x4090 24G 内存不够", "H20 96G RAM OOM"]
)
def test_a_size_behind_the_name_of_a_card_is_that_cards(values, text):
    assert "host_ram_gb" not in values(f"verl GRPO 7B {text}")


def test_the_ram_of_a_node_may_stand_behind_a_card(values):
    assert values("verl 7B 8xA100, 512G 内存 killed")["host_ram_gb"] == 512
    assert values("verl 7B 8xA100 80G 512G 内存 killed")["host_ram_gb"] == 512


def test_a_limit_of_shared_memory_is_none_of_host_ram(values):
    assert "host_ram_gb" not in values("容器的 shm 共享内存限制 64G")


def test_a_limit_of_a_pod_in_chinese_is_the_ram_of_its_node(values):
    assert values("8xH100，pod 内存 limit 800Gi")["host_ram_gb"] == 800


def test_one_card_and_its_size_stand_together(values):
    found = values("单卡 24G 跑 7B")
    assert (found["n_gpus"], found["gpu_mem_gib"]) == (1, 24)


def test_the_cards_of_all_machines_outrank_those_of_one(values):
    assert values("8卡 H20 141G，4 机 32 卡")["n_gpus"] == 32


@pytest.mark.parametrize(
    "text",
    ["训练 4 卡，推理 4 卡，A100 80G", "4 GPUs for training and 4 for vLLM, A100 80GB", "4卡训练，4卡跑 vllm，A100"],
)
def test_cards_that_train_and_cards_that_generate_are_told_apart(values, text):
    found = values(text)
    assert (found["n_gpus"], found["trainer_gpus"]) == (8, 4)


def test_a_card_by_its_size_is_one_card(values):
    found = values("I have a 24GB card")
    assert (found["n_gpus"], found["gpu_mem_gib"]) == (1, 24)


def test_the_size_of_a_card_before_the_word_for_ram_is_not_the_ram(values):
    found = values("单机 8*A100 80G 内存 1T")
    assert (found["gpu_mem_gib"], found["host_ram_gb"]) == (80, 1024)


@pytest.mark.parametrize(
    "text", ["the scheduler gave us the same node again", "OOM on 8 cards, one of the nodes was faulty"]
)
def test_a_node_in_passing_is_no_count_of_nodes(values, text):
    assert "n_nodes" not in values(text)


@pytest.mark.parametrize(
    "text",
    [
        "The model is too large to fit in a single GPU, so it is sharded",
        "模型太大，单卡放不下",
        "it runs on A6000D and 5090 GPUs",
    ],
)
def test_cards_that_are_too_small_or_a_name_are_no_count(values, text):
    assert "n_gpus" not in values(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("requires at least 68gb/2=34gb per gpu, OOM on 2xA5000", 24),
        ("FSDP2 takes ~26 GiB/GPU, OOM on 4 x A100 40GB", 40),
        ("8 张 A100，每卡 80G 显存", 80),
    ],
)
def test_what_a_run_needs_is_no_card_s_size(values, text, size):
    assert values(text)["gpu_mem_gib"] == size


def test_a_use_of_memory_is_no_card_s_size(values):
    assert "gpu_mem_gib" not in values("单个环境约占用 10 GiB 显存，爆显存")


def test_the_memory_on_an_npu_is_no_host_ram(values):
    found = values("单 NPU 的片上内存为 64GB，跑 7B OOM")
    assert "host_ram_gb" not in found
    assert found["oom_kind"] == "gpu_oom"


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


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("free -h says Mem: 125Gi total", 125),
        ("free -g: 503 total, 420 used", 503),
        ("free -h: total 125Gi used 120Gi", 125),
        ("free -g shows 420 used", None),
    ],
)
def test_what_somebody_tells_of_the_ram_that_free_prints_is_read(values, text, size):
    assert values(f"verl, killed by signal 9. {text}").get("host_ram_gb") == size


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("70B QLoRA on 2x24GB: OOM", (2, 24)),
        ("verl on 4*80G OOM", (4, 80)),
        ("memory: 8 x 64GB DDR5, verl OOM", None),
        ("RAM is 8x24GB DDR5, verl OOM", None),
        ("batch 2x24 OOM", None),
    ],
)
def test_a_count_beside_a_size_that_only_cards_have(values, text, cards):
    found = values(text)
    assert (found.get("n_gpus"), found.get("gpu_mem_gib")) == (cards or (None, None))


def test_what_ray_counts_against_outranks_the_rounded_size_that_people_tell(values):
    node = (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory. Memory on the node (IP: 10.0.0.3, ID: a1) "
        "where the task (task ID: f, name=main_task, pid=1, memory used=6.11GB) was running was 480.20GB / 503.49GB (0.95)"
    )
    assert values(f"8 卡，内存 512G\n{node}")["host_ram_gb"] == 503.49
    assert values(f"8 卡，容器内存限制 200G\n{node}")["host_ram_gb"] == 200


@pytest.mark.parametrize(
    ("text", "card", "size", "cards"),
    [
        ("2xA10080G verl OOM", "A100", 80, 2),
        ("8卡H10080G 爆显存", "H100", 80, 8),
        ("2卡409024g 爆显存", "RTX 4090", 24, 2),
        ("8x V10032GB, OOM", "V100", 32, 8),
    ],
)
def test_a_size_may_be_written_right_behind_the_name(values, text, card, size, cards):
    found = values(text)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"]) == (card, size, cards)
