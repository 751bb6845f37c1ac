"""Settings, sizes and cards in as few words as a chat has."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "verl grpo qwen2.5-7b 8xH100: train bs 512 mini 128 micro 4 n 8, 512 in 2048 out, OOM in update_actor",
            {
                "train_batch_size": 512,
                "mini_batch_size": 128,
                "micro_batch": 4,
                "rollout_n": 8,
                "prompt_length": 512,
                "response_length": 2048,
            },
        ),
        ("verl grpo qwen2.5-7b 8xH100: 2k in, 16k out, CUDA OOM", {"prompt_length": 2048, "response_length": 16384}),
        (
            "verl qwen2.5-14b, dynamic bsz on, 16k tokens per gpu, 8xH100, OOM update_actor",
            {"dynamic_batch": True, "micro_tokens": 16384},
        ),
        ("stage 3 with deepspeed, 16 A100s, Llama-2-13b, CUDA OOM", {"zero_stage": 3, "n_gpus": 16}),
        ("deepspeed config is stage 2, 8 A100s, Llama-2-13b, CUDA OOM", {"zero_stage": 2}),
        ("Qwen2.5-7B full SFT, A100 81920MiB, world size 16, CUDA OOM", {"gpu_mem_gib": 80, "n_gpus": 16}),
        ("用 LoRA 微调一个70亿参数的模型，单卡 4090，显存不足", {"params_b": 7}),
        ("Training a 500M model with full SFT on one t4 colab, CUDA OOM", {"params_b": 0.5}),
        ("LoRA SFT of a 7 billion parameter model on a 3090, CUDA OOM", {"params_b": 7}),
        ("DPO on zephyr-7b, 4x A100 40G, full, CUDA OOM", {"params_b": 7, "n_gpus": 4}),
        ("python -m playground.orz_7b_ppo\nCUDA out of memory in policy training", {"params_b": 7, "n_gpus": 32}),
        ("DEBUG_MODE=True python -m playground.orz_0p5b_ppo_1gpu\nCUDA out of memory", {"params_b": 0.5, "n_gpus": 1}),
        ("DEBUG_MODE=True python -m playground.orz_7b_ppo\nCUDA out of memory", {"n_gpus": 8}),
    ],
)
def test_it_reads_settings_of_few_words(text: str, told: dict[str, object]) -> None:
    values = diagnose(text, {}, current(), ()).facts.values
    assert {id: values.get(id) for id in told} == told


@pytest.mark.parametrize(
    ("text", "untold"),
    [
        ("verl grpo qwen2.5-7b 8xH100: 100 in 300 out of memory", ("prompt_length", "response_length")),
        ("LoRA of Qwen with 40M parameters on a 3090, CUDA OOM", ("params_b",)),
        ("verl 训练了 70亿 token，显存不足", ("params_b",)),
        ("CUDA OOM, vllm world size 2", ("n_gpus",)),
    ],
)
def test_it_reads_none_where_the_words_say_something_else(text: str, untold: tuple[str, ...]) -> None:
    stated = diagnose(text, {}, current(), ()).facts.stated
    assert [id for id in untold if id in stated and stated[id].certain] == []


def test_a_key_with_a_number_in_words_and_a_pair_of_lengths_are_read(values):
    text = (
        "OpenRLHF, qwen2.5 3b instruct on 4 A5000, micro_rollout_batch_size sixteen, prompts 512 / generate 1024, OOM"
    )
    read = values(text)
    assert (read["logprob_micro_batch"], read["prompt_length"], read["response_length"]) == (16, 512, 1024)


def test_the_number_behind_a_method_is_the_release(values):
    text = "it is ReferenceModelRayActor.forward in 0.6.2, 4 gpus A5000, 3b qwen2.5 instruct\ntorch.OutOfMemoryError: CUDA out of memory."
    read = values(text)
    assert (read["framework_version"], read["phase"]) == ("0.6.2", "ref_logprob")


def test_a_key_as_it_is_written_has_its_later_value(values):
    read = values(
        "ROLL pipeline, I only changed pretrain to Qwen/Qwen2.5-7B-Instruct and gpu_memory_utilization from 0.8 to 0.85. OOM in wake up"
    )
    assert read["gpu_memory_utilization"] == 0.85
