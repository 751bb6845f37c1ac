"""What people write at night in two languages: numerals, servers, offloads, names of trainers, who was killed."""

import pytest

from diagnose.facts.sentences.numerals import in_digits
from diagnose.ingest import read
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("response 一万六，", "response 16k，"),
        ("两千零四十八 tokens", "2048   tokens"),
        ("batch 一百二十八", "batch 128  "),
        ("一万六千三百八十四", "16384    "),
        ("八千", "8k"),
        ("第三步", "第三步"),
        ("一百", "一百"),  # no room for 100
    ],
)
def test_numerals_are_written_in_digits_where_they_fit(said, written):
    (line,) = read(said).lines
    told = in_digits(line)
    assert told.words == written
    assert len(told.words) == len(line.words)


RUNS = [
    (
        "verl 跑 Qwen2.5-32B GRPO，H20 141G 单机八卡，response 一万六，能跑吗",
        {"response_length": 16384, "planned": True},
    ),
    ("一张 4090 用 TRL 能跑 Qwen3-4B 的 GRPO 吗", {"planned": True, "n_gpus": 1}),
    (
        "Megatron-SWIFT 全参 sft Qwen3-30B-A3B，单机八卡 H800，tp2 ep8，爆显存",
        {"strategy": "megatron", "tp": 2, "ep": 8},
    ),
    ("slime megatron, Qwen3-32B, H800 80G, tp 8 pp 4 cp 2, OOM", {"tp": 8, "pp": 4, "sp": 2}),
    ("verl megatron Qwen3-32B, 16 H800 80G, TP=4, CP=4, OOM in update", {"tp": 4, "sp": 4}),
    ("slime megatron, Qwen3-32B tp8 pp2, cp 4 files to the node, OOM", {"tp": 8, "pp": 2, "sp": 1}),
    (
        "LLaMA-Factory 全参 sft Qwen2.5-32B，8*A100 80G，ds z3 offload，内存被杀了",
        {"zero_stage": 3, "optimizer_on_cpu": True},
    ),
    ("OpenRLHF PPO 8B 8*A100 80G zero3 加 adam_offload 爆显存", {"optimizer_on_cpu": True, "zero_stage": 3}),
    (
        "ms-swift grpo Qwen2.5-32B lora，A800 80G，4 张卡训练，另外 4 张卡跑 vllm server，训练的卡爆显存",
        {"rollout_mode": "server", "trainer_gpus": 4},
    ),
    ("TRL GRPO 7B, 4 GPUs train, the other 4 GPUs run vllm, A100 80GB, OOM", {"rollout_mode": "server"}),
]


@pytest.mark.parametrize(("text", "facts"), RUNS)
def test_a_run_in_words(text, facts, knowledge):
    values = diagnose(text, {}, knowledge, ()).facts.values
    assert {id: values.get(id) for id in facts} == facts


FAILURES = [
    ("EasyR1 Qwen2.5-VL-7B 4 张 A100 80G，验证的时候死了，内存被 ray 杀了", "host_ram", "eval"),
    ("verl 8 张 A100 80G Qwen2.5-7B GRPO，更新 actor 仍然爆显存", "gpu_oom", "actor_update"),
    ("verl 8 张 A100 80G Qwen2.5-7B GRPO，更新 actor 还是 OOM", "gpu_oom", "actor_update"),
    (
        "verl 加载模型的时候，70B，八卡，内存 1T\n[12345.678] Out of memory: Killed process 1234 (python3) "
        "total-vm:900000000kB, anon-rss:800000000kB",
        "host_ram",
        "load",
    ),
]


@pytest.mark.parametrize(("text", "kind", "phase"), FAILURES)
def test_a_failure_in_words(text, kind, phase, knowledge):
    found = diagnose(text, {}, knowledge, ())
    assert (found.kind, found.phase) == (kind, phase)


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("lora? no, full.", "full"),
        ("LoRA? yes", "lora"),
        ("是 LoRA 吗？不是。", "full"),
        ("LoRA? no, still OOM", "lora"),
    ],
)
def test_who_asks_and_answers_tells_how_it_trains(values, said, mode):
    assert values(f"LLaMA-Factory dpo, {said} Mistral-7B, 2 x L40S, CUDA out of memory")["full_or_lora"] == mode
