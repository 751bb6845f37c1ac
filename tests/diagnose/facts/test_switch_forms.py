"""FlashAttention, a rank in a list, an optimizer by name and algorithms in Chinese: what words tell beside the keys."""

import pytest

RUN = "TRL SFT of Qwen2.5-7B on 8xA100 80GB, OOM. "


@pytest.mark.parametrize(
    "words",
    [
        "We train with flash attention 2.",
        "It uses flash-attn, micro batch 2.",
        "LoRA, rank 64, FA2, packing, OOM",
        "开了flash attention，还是爆显存",
        "用了 flash attention，还是爆显存",
    ],
)
def test_it_reads_that_flash_attention_is_on(values, words):
    assert values(RUN + words)["flash_attention"] is True


@pytest.mark.parametrize(
    "words",
    [
        "It runs without flash attention.",
        "flash attention is off",
        "没用flash attention，爆显存",
        "I can't use flash attention on this card.",
    ],
)
def test_without_it_another_kernel_may_be_there(facts, words):
    told = facts(RUN + words).stated.get("flash_attention")
    assert told is None or told.origin == "default"


@pytest.mark.parametrize(
    "words",
    [
        "Should I use flash attention?",
        "Would flash attention help?",
        "flash-attn==2.6.3, torch==2.6.0",
        "flash attention 要不要开？",
    ],
)
def test_a_question_and_a_package_turn_nothing_on(facts, words):
    told = facts(RUN + words).stated.get("flash_attention")
    assert told is None or told.origin == "default"


@pytest.mark.parametrize("words", ["LoRA SFT，rank 64，每卡 batch 2", "LoRA, r=64, alpha 128", "QLoRA + rank=64"])
def test_a_rank_in_a_list_is_that_of_the_adapters(values, words):
    assert values(f"Qwen2.5-7B, axolotl, 8xA100 80GB, {words}")["lora_rank"] == 64


@pytest.mark.parametrize(
    "words", ["LoRA SFT, OOM on rank 4, the others wait", "LoRA SFT, rank 0, rank 1 die", "full SFT, rank 8, OOM"]
)
def test_a_process_of_some_rank_is_none(values, words):
    assert "lora_rank" not in values(f"Qwen2.5-7B, axolotl, 8xA100 80GB, {words}")


def test_an_optimizer_is_read_by_its_name(values):
    assert values(RUN + "full parameters, Adafactor optimizer")["optimizer"] == "adafactor"
    assert "optimizer" not in values(RUN + "full parameters, no Adafactor")


@pytest.mark.parametrize(
    ("words", "algo"),
    [
        ("OpenRLHF，Qwen2.5-7B LoRA 训练奖励模型，爆显存", "rm"),
        ("LLaMA-Factory 奖励模型训练，Qwen2.5-7B，爆显存", "rm"),
        ("LLaMA-Factory 增量预训练 Qwen2.5-7B，爆显存", "pretrain"),
        ("LitGPT，Qwen2.5-7B 继续预训练，爆显存", "pretrain"),
        ("先训练奖励模型，再用 PPO 训 Qwen2.5-7B，OpenRLHF，爆显存", "ppo"),
        ("用预训练模型 Qwen2.5-7B 做 SFT，LLaMA-Factory，爆显存", "sft"),
    ],
)
def test_it_reads_what_is_trained_in_chinese(values, words, algo):
    assert values(words)["algo"] == algo


def test_the_engine_may_have_its_parallel_size_behind_its_share(values):
    words = "OpenRLHF GRPO of Qwen2.5-7B on 8xH100, vLLM with gpu_memory_utilization 0.6 and tensor parallel 2"
    assert values(words)["rollout_tp"] == 2
    assert values("slime GRPO of Qwen2.5-7B on 8xH100, Megatron with tensor parallel 4")["tp"] == 4
