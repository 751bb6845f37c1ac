"""Sentences that hold words of failure and tell none: purposes, tips, warnings, denials."""

import pytest

from diagnose.facts.failing.advised import without_advice


@pytest.mark.parametrize(
    "text",
    [
        "We will use 90% of the memory on device 0 for storing the model, and 10% for the buffer to avoid OOM.",
        "CUDA graphs can take 1~3 GiB per GPU. If you are running out of memory, consider decreasing the share.",
        "gpu_memory_utilization = 0.5, # Reduce if out of memory",
        "num_generations = 8, # Decrease if out of memory",
        "num_generations = 4, # 显存不足时可减少",
        "gpu_memory_utilization = 0.7, # 如果内存不足请减少此值",
        "# keep it small to prevent running out of GPU memory",
        "batch 调到 1 是为了避免爆显存，现在正常训练",
        "若出现 OOM 现象，可尝试使用 zero3",
        "A larger share may lead to out-of-memory errors.",
        "No CUDA OOM, it only hangs at step 3",
        "The model has a long context length (131072). This may causeOOM during the initial memory profiling phase.",
        "If out-of-memory error occurs during cudagraph capture, consider decreasing `gpu_memory_utilization`.",
        "This can happen when a (1) raylet crashes unexpectedly (OOM, etc.)",
        "If the process was killed by the kernel OOM killer (verifiable by checking for OOM in dmesg of it), consider isolation.",
        "显存没爆，就是很慢",
        "没有爆显存，但是报 NCCL timeout",
        "GPU memory is not full, yet it hangs",
        "level: 1  # 0 is faster, but you are more likely to run out of GPU memory",
        "Qwen2.5-1.5B, two L40S. Would it fit or OOM?",
        "this is the example with 1.5B swapped for 7B. Will it OOM?",
        "Will I OOM with this on 4x L40S?",
        "16 x A100 80G total. OOM risk?",
        "这个配置会不会爆显存",
        "It is NOT an OOM, memory is at 40% on all eight gpus. It hangs.",
        "DPO in TRL: not out of memory, it just gets slower each step.",
        "We don't get any CUDA OOM here, the loss is nan",
        "It isn't due to running out of GPU memory, the port is taken",
        "The hang has nothing to do with OOM",
        "webui 打不开，端口被占用。和OOM没有关系。",
        "不是 OOM，就是卡住不动",
        "日志停在这，显存还很空，不是 OOM 吧？",
        "不是因为爆显存，是 NCCL 超时",
        "进程没有被 OOM kill，显存也没满，就是 ray 一直 pending",
        "显存也没爆，内存也没满，就是很慢",
        "2. if it is an OOM problem, set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)",
        "It is likely due to unexpected failures (e.g., OOM) or a slow node.",
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1). If exit code is -9 (SIGKILL), a common cause is the OS "
        "OOM killer. Run `dmesg -T | grep -i oom` to check.",
        "Some common causes include: (1) the process was killed by the OOM killer due to high memory usage, (2) ray stop.",
        "If the process was killed by the kernel OOM killer (verifiable by checking for OOM in dmesg of the OOMing node), give it more.",
        "- The agent is killed by the OS (e.g., out of memory).",
        "loading from disk would cause OOM. Please ensure the weight cache daemon is running.",
    ],
)
def test_it_tells_no_failure(values, text):
    assert "oom_kind" not in values(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("How can I avoid OOM with 7B on four cards?", "other"),
        ("如何避免 OOM？一跑就报", "other"),
        ("怎样才能不爆显存，单卡 4090", "gpu_oom"),
        ("I cannot avoid the GPU OOM.", "gpu_oom"),
        ("为了避免 OOM 把 batch 调到 1，但还是爆显存", "gpu_oom"),
        ("If you get OOM, reduce the batch. I did that and still get CUDA OOM", "gpu_oom"),
        ("有没有 OOM 的解决办法，一直爆显存", "gpu_oom"),
        ("如果 8 卡还是 OOM，可以减小什么？", "other"),
        ("Why will it always OOM at step 2?", "other"),
        ("换成 14B 就会爆显存，怎么办", "gpu_oom"),
        ("显存不足，请问怎么解决", "gpu_oom"),
        ("If it is an OOM, why only on rank 3?", "other"),
        ("A common cause is the batch, but I got OOM with 1 as well", "other"),
        (
            "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). Run `dmesg -T | grep -i oom` to check.",
            "host_ram",
        ),
        ("不是 OOM 就是爆显存", "gpu_oom"),
        ("I am not sure whether it is an OOM of the GPU, it says CUDA out of memory", "gpu_oom"),
        ("This should not run out of GPU memory on eight cards, but it does", "gpu_oom"),
        ("Isn't that an OOM?", "other"),
    ],
)
def test_a_failure_beside_such_words_is_told_all_the_same(values, text, kind):
    assert values(text)["oom_kind"] == kind


def test_the_rest_of_the_words_keeps_its_place():
    text = "lower n to avoid OOM, then it OOMs"
    kept = without_advice(text)
    assert len(kept) == len(text)
    assert kept.endswith(", then it OOMs")
    assert "avoid OOM" not in kept
