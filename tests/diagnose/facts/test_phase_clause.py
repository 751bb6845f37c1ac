"""The phase of the clause that tells of the failure, by the words in it, whatever their order."""

from __future__ import annotations

import re

import pytest

from diagnose.facts.failing.phase_clause import SPECIAL_FIRST, told_phase
from diagnose.types import Line
from diagnose.vocabulary import PHASES

BESIDE = (
    "verl grpo Qwen2.5-7B, 8xA100 80G.\n{}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB."
)


@pytest.mark.parametrize(
    ("words", "phase"),
    [
        ("CUDA OOM thrown from the actor's update step", "actor_update"),
        ("We hit OOM right when the PPO update begins.", "actor_update"),
        ("As soon as it starts training (after the first generation) it OOMs", "actor_update"),
        ("OOM on the first training batch, after generation", "actor_update"),
        ("vLLM works great, but the moment PPO training kicks in I run out of memory", "actor_update"),
        ("we see OOM each time dp_actor.update_policy is called", "actor_update"),
        ("梯度回传的时候不行，反传时爆显存", "actor_update"),
        ("生成完了之后训练 actor 的时候 OOM", "actor_update"),
        ("训练那一步显存不够", "actor_update"),
        ("OOM happens on vllm side when rolling out", "rollout"),
        ("SGLang scheduler hits CUDA OOM mid-generation", "rollout"),
        ("engine OOM at decode", "rollout"),
        ("vllm 生成到一半 OOM", "rollout"),
        ("rollout 之后算 log_prob OOM", "logprob"),
        ("the logprob pass OOMs", "logprob"),
        ("OOM while the ref model computes log probs", "ref_logprob"),
        ("ref worker OOM while computing log prob", "ref_logprob"),
        ("跑 ref model 的时候 OOM", "ref_logprob"),
        ("OOM after the update, when pushing the new weights to the rollout workers", "weight_sync"),
        ("Error when gathering the full state dict for vLLM: CUDA OOM", "weight_sync"),
        ("Loading the updated weights back into vLLM gives OOM", "weight_sync"),
        ("训练参数同步给推理引擎的时候 OOM", "weight_sync"),
        ("训练完切回 vllm 时爆显存", "weight_sync"),
        ("It's killed while loading shards, OOM", "load"),
        ("OOM while moving the model to GPU", "load"),
        ("把模型放到 GPU 的时候爆显存", "load"),
        ("模型还没加载完就 OOM", "load"),
        ("OOM when launching the vLLM server", "init"),
        ("sglang server cannot start: CUDA OOM", "init"),
        ("OOM when determining the number of available KV blocks", "init"),
        ("起 vllm server 的时候 OOM", "init"),
        ("OOM during model save", "checkpoint"),
        ("OOM while gathering weights for the checkpoint", "checkpoint"),
        ("OOM on saving the optimizer state", "checkpoint"),
        ("validation at step 0 OOMs", "eval"),
        ("跑测试集的时候 OOM", "eval"),
        ("eval 阶段生成的时候 OOM", "eval"),
        ("torch OOM while AdamW creates exp_avg_sq", "optimizer_step"),
        ("OOM 在 adam 更新那里", "optimizer_step"),
        ("value model training OOM", "critic"),
        ("更新价值网络的时候爆显存", "critic"),
        ("critic value computation OOMs", "values"),
        ("RM scoring OOMs", "reward"),
        ("reward 模型推理的时候爆显存", "reward"),
    ],
)
def test_the_words_of_a_clause_tell_its_phase(values, words, phase):
    assert values(BESIDE.format(words)).get("phase") == phase


@pytest.mark.parametrize(
    "words",
    [
        "verl OOM with rollout tp 2, update micro batch 4",
        "OOM in GRPO training",
        "OOM on 8 GPUs with a 32B policy model",
        "when I run GRPO on Qwen2.5-7B with vLLM rollout I get OOM",
        "it OOMs when I enable the reward model",
        "Please help, backward compatible config gives OOM",
        "not in the backward pass, not in rollout: OOM somewhere else",
        "OOM while training the actor on long rollouts",
        "CUDA out of memory during model loading or forward pass",
        "OOM after switching from vllm 0.7 to 0.8",
        "when I increase the response length it OOMs",
        "rollout 用 vllm，训练用 FSDP，OOM",
        "开了 optimizer offload 还是 OOM",
        "报错的位置在 optimizer step 之前，显存 OOM",
        "save 的显存不够, CUDA OOM",
        "运行官方脚本的时候 OOM",
        "加载数据集的时候 OOM",
    ],
)
def test_a_clause_that_speaks_of_no_moment_or_of_several_leaves_it_open(values, words):
    assert "phase" not in values(BESIDE.format(words))


def test_clauses_of_two_phases_settle_nothing(knowledge):
    lines = [
        Line(i, one, one)
        for i, one in enumerate(("OOM when launching the vLLM server.", "OOM while moving the model to GPU."))
    ]
    assert told_phase(lines[:1], knowledge.signatures).value == "init"
    assert told_phase(lines, knowledge.signatures) is None


def test_the_fact_says_where_it_was_read(facts):
    text = "GRPO of 7B on one card. OOM when launching the vLLM server, as before"
    span = facts(text).stated["phase"].span
    assert text[span.start : span.end] == "launching the vLLM server"


def test_each_phase_has_words_of_its_own(knowledge):
    cued = {one.phase for one in knowledge.signatures.values() if one.cues}
    assert cued == {*PHASES} == {*SPECIAL_FIRST}
    assert all(cue.flags & re.A for one in knowledge.signatures.values() for cue in one.cues)
