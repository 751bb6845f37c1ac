"""What others hold on the cards, told in words."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = "verl GRPO Qwen2.5-7B 8xA100 80G, update_actor CUDA OOM, micro batch 4\n"


@pytest.mark.parametrize(
    "text",
    [
        "another process uses 100GB of RAM",
        "别人的任务占了 100G 内存",
        "the vLLM process takes 12GB on each GPU",
        "another process, vLLM, takes 40GB",
        "other ranks use 20GB",
        "the other GPUs use 60GB",
        "其他卡用了 40G",
        "other people report 40GB for a 7B",
        "I killed the other process that took 12GB",
        "如果别的进程占了 12G 会怎样",
        "before training the model takes 15GB",
        "before update_actor the GPU shows 60GB used",
        "OOM 之前显存用了 70G",
        "nvidia-smi shows 60GB used before it crashes",
        "another process takes 900 GB on each GPU",
    ],
)
def test_what_is_the_runs_own_the_hosts_over_or_thought_of_is_none(values, text):
    assert "others_gib" not in values(RUN + text)


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        ("每张卡上别的进程占了 12G", 12),
        ("another process takes 12 GB on each GPU", 12),
        ("12 GB of each card is already used by another process", 12),
        ("someone else's job is holding 20 GB of GPU memory", 20),
        ("Somebody else's sglang server also sits on gpu 0 (nvidia-smi: python3 20480MiB)", 20),
        ("someone's vllm takes 20GB of the card", 20),
        ("同事的 vllm 服务也跑在卡 0 上，nvidia-smi 显示 20480MiB", 20),
        ("GPU 0 被别人占了 30G", 30),
        ("别人的程序已经占用了大约 24576 MiB", 24),
        ("GPU 0 被别人占了 10G，GPU 3 被别人占了 30G", 30),
        ("nvidia-smi already shows 10GB used before I start", 10),
        ("10GB is in use on every GPU before we launch", 10),
        ("before launch the GPUs already have 8GB occupied", 8),
        ("启动前显存已经占了 10G", 10),
        ("还没跑 nvidia-smi 就显示已用 10G", 10),
    ],
)
def test_what_others_hold_is_read(values, text, gib):
    found = values(RUN + text)
    assert found["others_gib"] == gib
    assert "planned" not in found


def test_the_run_has_what_they_leave_and_is_told_to_free_it(knowledge):
    whole, shared = (diagnose(RUN + text, {}, knowledge, ()) for text in ("", "每张卡上别的进程占了 12G"))
    assert whole.estimate.gpu.limit - shared.estimate.gpu.limit == 12 * 1024**3
    assert shared.estimate.gpu.capacity == whole.estimate.gpu.capacity
    assert shared.prescriptions[0].lever.slug == "hardware.kill_stale"
    assert any("Others hold 12 GiB" in note for note in shared.facts.notes)


def test_what_somebody_else_runs_is_looked_for_before_the_engine_gets_less():
    text = (
        "ValueError: Free memory on device cuda:0 (13.62/79.15 GiB) on startup is less than desired GPU memory utilization "
        "(0.6, 47.49 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
        "verl GRPO Qwen2.5-7B, 8*A100. Somebody else's sglang server also sits on gpu 0 (nvidia-smi: python3 41210MiB)"
    )
    found = diagnose(text, {}, current(), ())
    assert [one.lever.slug for one in found.prescriptions[:2]] == [
        "hardware.kill_stale",
        "rollout.gpu_memory_utilization.down",
    ]
