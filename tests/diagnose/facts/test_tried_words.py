"""What was tried, in the words that people use for the levers of the catalogue."""

import pytest


@pytest.mark.parametrize(
    ("text", "levers"),
    [
        ("I already lowered gpu_memory_utilization to 0.4, no difference.", {"rollout.gpu_memory_utilization.down"}),
        ("gradient checkpointing 开了还是爆", {"checkpointing.activation.on"}),
        ("Even with micro batch size 1 it still OOMs.", {"batch.micro.down"}),
        ("升级 vllm 没用", {"upgrade.vllm"}),
        ("调小batch也不行", {"batch.micro.down", "batch.train.down"}),
        ("Reducing the batch does not help.", {"batch.micro.down", "batch.train.down"}),
        ("offload 都打开了，依然 OOM", {"offload.param.on", "offload.optimizer.on"}),
        ("I enabled gradient checkpointing.", set()),
        ("gpu_memory_utilization 从 0.8 改到 0.5 了还是 OOM", {"rollout.gpu_memory_utilization.down"}),
        ("tried ppo_micro_batch_size_per_gpu=1. nothing helps.", {"batch.micro.down"}),
        ("It still OOMs in the update. verl main, 4x H100 80GB, micro batch 2", set()),
        (
            "全参 sft，8*H100，deepspeed z3，max_response_length 16384，rollout n=8，梯度检查点开了，flash attn，还是 OOM",
            {"checkpointing.activation.on", "attention.flash"},
        ),
        (
            "8*H100，deepspeed z3，max_response_length 降到 2048，rollout n=8，梯度检查点开了，还是 OOM",
            {"checkpointing.activation.on", "length.response.down"},
        ),
        (
            "I lowered gpu_memory_utilization, no help. log_prob_micro_batch_size=16",
            {"rollout.gpu_memory_utilization.down"},
        ),
    ],
)
def test_it_reads_what_was_tried_in_many_words(facts, text, levers):
    assert {tried.lever for tried in facts(f"verl GRPO, CUDA OOM.\n{text}").tried if not tried.helped} == levers


@pytest.mark.parametrize(
    "words",
    [
        "把 actor 的 param_offload 关掉之后好了",
        "disabling param offload solved it",
        "param_offload off, still OOM",
    ],
)
def test_what_was_put_off_is_not_the_change_that_puts_it_on(facts, words):
    run = "verl GRPO Qwen2.5-32B, Ray killed the worker. actor_rollout_ref.actor.fsdp_config.param_offload=True\n"
    assert "offload.param.on" not in {one.lever for one in facts(run + words).tried}
