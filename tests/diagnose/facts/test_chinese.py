"""Chinese stands against names, keys and figures without a blank; a sentence may lead to a command."""

import pytest

SENTENCES = [
    ("用verl跑GRPO训练Qwen2.5-7B模型，在rollout阶段OOM", {"framework": "verl", "phase": "rollout", "model": "Qwen2.5-7B", "algo": "grpo"}),
    ("单机8卡H20跑verl，Qwen3-32B，actor计算log_prob阶段显存不够", {"phase": "logprob", "gpu_model": "H20", "n_gpus": 8}),
    ("用的trl的GRPOTrainer，batch_size设为4，训练到第3步OOM", {"framework": "trl", "algo": "grpo", "step": 3}),
    ("8张A800跑swift的grpo，开了zero3", {"framework": "ms-swift", "zero_stage": 3, "n_gpus": 8}),
    ("ms-swift的grpo，vllm_gpu_memory_utilization设成0.6", {"gpu_memory_utilization": 0.6}),
    ("用openrlhf训ppo，micro_train_batch_size已经调到1了", {"framework": "openrlhf", "algo": "ppo", "micro_batch": 1}),
    ("verl GRPO，调小了gpu_memory_utilization到0.5还是不行", {"gpu_memory_utilization": 0.5}),
    ("verl GRPO，把gpu_memory_utilization从0.8降到0.5，还是OOM", {"gpu_memory_utilization": 0.5}),
    ("verl GRPO, I lowered gpu_memory_utilization to 0.5 and it still OOMs", {"gpu_memory_utilization": 0.5}),
    ("verl GRPO, I set ppo_micro_batch_size_per_gpu to 1 already", {"micro_batch": 1}),
    ("请问 swift rlhf --rlhf_type grpo --train_type full --vllm_mode colocate 行吗", {"full_or_lora": "full", "rollout_mode": "colocated"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), SENTENCES)
def test_a_sentence_without_blanks_is_read(values, text, told):
    found = values(f"{text}\nCUDA out of memory")
    assert {id: found.get(id) for id in told} == told


@pytest.mark.parametrize(
    "text",
    [
        "verl: Try setting gpu_memory_utilization to 0.6",
        "verl: 建议把gpu_memory_utilization降到0.4",
        "verl: 可以试试把gpu_memory_utilization降到0.4",
        "verl: we reduced gpu_memory_utilization from 0.8 to 0.6 and now it works",
        "verl: gpu_memory_utilization降到0.4就好了",
    ],
)
def test_a_value_that_is_advised_or_has_helped_is_not_the_run_that_failed(values, text):
    """The framework's default stands instead."""
    assert values(f"{text}\nCUDA out of memory").get("gpu_memory_utilization") not in (0.4, 0.6)


def test_words_between_flags_are_no_values(facts):
    stated = facts("trl grpo: I run it with --bf16 and --use_vllm and --deepspeed ds.json").stated
    assert "and" not in {fact.written for fact in stated.values()}


def test_a_token_behind_chinese_words_is_taken_out():
    from diagnose.ingest import read

    token = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz12345678"
    assert token not in "".join(line.text for line in read(f"我的token是{token}请帮忙").lines)
