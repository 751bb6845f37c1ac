"""Which card, of what size: names, sizes and what only looks like either."""

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "Tried to allocate 80.00 GiB on GPU 3 of the list",
        "Sleep mode freed 40.00 GiB memory, 8 x more than before",
        "The H100 box and the A100 box behave alike",
        "step 4090 上升到 3.2，训练到 3090 步",
        "evaluated on 3090 samples",
        "uuid 8A100F, id 4b8A100-2",
    ],
)
def test_it_does_not_take_other_numbers_for_cards(values, text):
    assert "n_gpus" not in values(text)
    assert "gpu_model" not in values(text)


@pytest.mark.parametrize("text", ["4090 上跑 GRPO，爆显存", "3090训练 Qwen2.5-1.5B OOM", "在4090上微调"])
def test_a_bare_number_is_the_card_that_a_run_is_on(values, text):
    assert values(text)["gpu_model"] in ("RTX 4090", "RTX 3090")


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
        ("on 8H100 80G", "H100", 80, 8),
        ("双4090服务器，OOM", "RTX 4090", 24, 2),
        ("4 台 H800 服务器，每台 8 卡", "H800", 80, 32),
        ("H800 8卡*4机，OOM", "H800", 80, 32),
        ("8卡H800*4机", "H800", 80, 32),
        ("H100 8卡x2节点", "H100", 80, 16),
        ("一台 8*40GB A100 的机器", "A100", 40, 8),
        ("2 x NVIDIA H20-3e", "H20-3e", 141, 2),
        ("2x 4080 super 16g", "RTX 4080", 16, 2),
        ("one NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 Laptop", 16, 1),
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
        ("2 machines x 8 H800", "H800", 80, 16),
        ("two boxes x 8 H100", "H100", 80, 16),
        ("2x 8-GPU H100 servers", "H100", 80, 16),
        ("A800*8*2台", "A800", 80, 16),
        ("A100 * 8 (80G)", "A100", 80, 8),
        ("A100（40G）8 卡", "A100", 40, 8),
        ("3 台 8 卡 A100", "A100", None, 24),
        ("两台机器 每台 8 张 A100 80G", "A100", 80, 16),
        ("4机32卡 H100", "H100", 80, 32),
        ("4 nodes with 8 H100s each", "H100", 80, 32),
        ("RayCluster with 8 workers of 8xH100 each", "H100", 80, 64),
        ("4 pods with 8 H100 80GB each", "H100", 80, 32),
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
    "text", ["8卡 A100 80G 内存爆了", "8xA100 80G host RAM runs out", "8x4090 24G 内存不够", "H20 96G RAM OOM"]
)
def test_a_size_behind_the_name_of_a_card_is_that_cards(values, text):
    assert "host_ram_gb" not in values(f"verl GRPO 7B {text}")


def test_one_card_and_its_size_stand_together(values):
    found = values("单卡 24G 跑 7B")
    assert (found["n_gpus"], found["gpu_mem_gib"]) == (1, 24)


def test_a_card_by_its_size_is_one_card(values):
    found = values("I have a 24GB card")
    assert (found["n_gpus"], found["gpu_mem_gib"]) == (1, 24)


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


@pytest.mark.parametrize(
    ("said", "card", "count"),
    [
        ("A100 80G x1. CUDA OOM", "A100", 1),
        ("A100 80G x2. CUDA OOM", "A100", 2),
        ("WSL2, 64GB RAM, 4090, deepspeed zero3 offload, 7B, OOM", "RTX 4090", None),
        ("rows of 1024, 3090, 4096 tokens, OOM", None, None),
        ("losses at steps: first, 3090, 4090", None, None),
    ],
)
def test_a_count_may_end_a_sentence_and_a_bare_name_stand_in_a_list(values, said, card, count):
    found = values(said)
    assert found.get("gpu_model") == card
    assert count is None or found["n_gpus"] == count


def test_an_engine_on_one_machine_and_trainers_on_another_are_two_machines(values):
    text = (
        "ms-swift GRPO，两台机器，每台 8 卡 H20 96G，爆显存\n"
        "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen3-32B --use_vllm true --vllm_mode server"
    )
    found = values(text)
    assert (found["n_nodes"], found["trainer_gpus"]) == (2, 8)


def test_the_first_of_two_machines_is_not_the_only_one(values):
    found = values("TRL GRPO，训练在第一台（8×A100 40G），vllm 在第二台，爆显存。\n两台机器配置一样。")
    assert (found["n_nodes"], found["n_gpus"]) == (2, 16)


@pytest.mark.parametrize("said", ["rtx 5090, 64gb ddr5, OOM", "RTX 4090, 64G DDR4, OOM"])
def test_modules_of_ram_behind_a_card_are_not_the_card_s(values, said):
    found = values(said)
    assert (found["gpu_mem_gib"], found["host_ram_gb"]) == (32 if "5090" in said else 24, 64)


@pytest.mark.parametrize(
    "said", ["llama-factory ppo 8×昇腾910B3(64G) 爆显存", "用 8x华为昇腾 910B3 OOM", "8 张 Ascend 910B3 OOM"]
)
def test_a_maker_may_stand_between_the_count_and_the_card(values, said):
    found = values(said)
    assert (found["gpu_model"], found["n_gpus"]) == ("Ascend 910B3", 8)


@pytest.mark.parametrize(
    ("text", "card"), [("天数智芯 BI-V100 8卡，训练 OOM", "BI-V100"), ("8x MI355X, OOM", "MI355X")]
)
def test_a_card_is_not_its_namesake_or_its_sister(values, text, card):
    assert values(text)["gpu_model"] == card
