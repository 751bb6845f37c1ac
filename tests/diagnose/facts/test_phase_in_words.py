"""The phase where nothing but a person's words tells it, as they come: a form filled in, a remark, half a sentence."""

from __future__ import annotations

import pytest

BESIDE = (
    "verl grpo Qwen2.5-7B, 8xA100 80G.\n{}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB."
)


@pytest.mark.parametrize(
    ("words", "phase"),
    [
        # a form that is filled in, and the phase alone behind the failure
        ("Failing phase: policy update", "actor_update"),
        ("**Stage where it fails**: actor backward", "actor_update"),
        ("报错阶段：actor 更新", "actor_update"),
        ("Failing phase: rollout", "rollout"),
        ("failing phase: ref log prob", "ref_logprob"),
        ("it fails, actor update", "actor_update"),
        ("OOM: backward", "actor_update"),
        ("it OOMs: rollout", "rollout"),
        # another phase that is named because it went well
        ("generation ok, but OOM in training", "actor_update"),
        ("can finish rollout but OOM while training", "actor_update"),
        ("It runs rollouts fine but OOMs when updating the model.", "actor_update"),
        ("推理正常，一到训练就 OOM", "actor_update"),
        ("前向没问题，反向 OOM", "actor_update"),
        # everyday words for a phase
        ("error in the backward pass", "actor_update"),
        ("dies in fwd-bwd", "actor_update"),
        ("Training step throws CUDA OOM, generation is fine.", "actor_update"),
        ("OOM while computing gradients", "actor_update"),
        ("更新 actor 参数时 OOM", "actor_update"),
        ("训练更新参数的时候显存不够", "actor_update"),
        ("每次到了训练那一步就爆", "actor_update"),
        ("when the engine is generating, out of memory", "rollout"),
        ("OOM when sampling", "rollout"),
        ("在生成 response 的时候 OOM", "rollout"),
        ("out of memory computing the log probabilities", "logprob"),
        ("the forward pass for old logprobs OOMs", "logprob"),
        ("计算 ref_log_prob 爆显存", "ref_logprob"),
        ("OOM in FSDPVLLMShardingManager.__enter__", "weight_sync"),
        ("从训练切到推理的时候 OOM", "weight_sync"),
        ("OOM when resuming from checkpoint", "load"),
        ("OOM while loading optimizer states from the checkpoint", "load"),
        ("OOM when the optimizer is created", "load"),
        ("OOM when wrapping the model with FSDP", "load"),
        ("deepspeed.initialize 时爆显存", "load"),
        ("断点续训的时候 OOM", "load"),
        ("初始化优化器时 OOM", "load"),
        ("OOM at KV cache allocation", "init"),
        ("OOM while profiling", "init"),
        ("OOM when the rollout engine is being built", "init"),
        ("kv cache 分配的时候 OOM", "init"),
        ("OOM each time it saves a checkpoint", "checkpoint"),
        ("OOM when Adam states are allocated", "optimizer_step"),
        ("优化器更新的时候爆显存", "optimizer_step"),
        ("critic 训练阶段爆显存", "critic"),
        ("reward model 打分的时候 OOM", "reward"),
    ],
)
def test_words_put_the_failure_in_a_phase(values, words, phase):
    assert values(words).get("phase") == phase
    assert values(BESIDE.format(words)).get("phase") == phase


@pytest.mark.parametrize(
    "words",
    [
        "generation ok, but then it OOMs:",
        "the rollout is slow and I get OOM:",
        "I set rollout n to 8 and OOM:",
        "I'm training the actor with verl and got OOM:",
        "用 vllm 做 rollout，OOM",
    ],
)
def test_words_that_name_a_phase_and_put_no_failure_there_leave_it_open(values, words):
    assert "phase" not in values(BESIDE.format(words))


def test_a_kill_for_host_memory_may_stand_below_what_it_was_at(values):
    killed = "Memory on the node (IP: 10.0.0.2, ID: 8f) where the task (actor ID: 0f, name=WorkerDict.__init__, pid=8, memory used=118.2GB) was running was 1893.2GB / 2000.0GB (0.947), which exceeds the memory usage threshold of 0.95."  # noqa: E501
    assert values(f"while loading the checkpoint shards:\n{killed}")["phase"] == "load"
