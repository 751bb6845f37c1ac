"""A failure of memory that is over, beside the trouble of now; and one that is not over."""

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "We had CUDA OOM last week, that one is fixed (micro batch 4 -> 2). Now a new problem: it hangs after step 31.",
        "Previously we hit `CUDA out of memory`, solved by enable_gradient_checkpointing=True. The remaining issue: the score is flat.",
        "After lowering max_length the OOM is gone but now I get:\nValueError: Unable to create tensor",
        "The out of memory problem on the GPU is resolved.\n\nNow I see a different error, the loss is nan.",
        "OOM 已经解决了，谢谢！现在的问题是 reward 不涨",
        "之前爆显存的问题升级之后没有了。现在保存 checkpoint 的时候报：I/O error",
        "显存不足解决了，但是又遇到新问题：NCCL timeout",
        "小白求助，不是爆显存，是卡住不动。\n之前 batch size 16 的时候爆过一次 OOM，改成 4 就没有了。",
        "ValueError: Attempting to unscale FP16 gradients.\nI sometimes see 'CUDA out of memory' with cutoff_len 4096, so I use 1024 now. "
        "The error above is what I need help with.",
        "I had an OOM yesterday with batch 8 and lowered it to 2, since then it's this.\nKeyError: 'answer'",
    ],
)
def test_what_is_over_is_not_the_failure_of_now(values, text):
    assert "oom_kind" not in values(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CUDA OOM in update_actor. Setting the share to 0.3 solved it!", "gpu_oom"),
        ("We had CUDA OOM with 7B, solved by a smaller batch, now it works.", "gpu_oom"),
        ("爆显存，把 batch 改小就好了，现在正常了", "gpu_oom"),
        ("The GPU OOM is not fixed, and now I get an NCCL error as well", "gpu_oom"),
        ("The CUDA OOM in rollout is gone but now I get it in update_actor", "gpu_oom"),
        ("The CUDA OOM of rollout is fixed. Another problem: CUDA OOM in update_actor", "gpu_oom"),
        ("CUDA out of memory with batch 8, so I use 4 now, still the same", "gpu_oom"),
        ("求助，怎么避免爆显存？", "gpu_oom"),
        ("爆显存的问题解决了，但是现在内存不足，被系统 OOM killer 杀了", "host_ram"),
    ],
)
def test_what_is_not_over_or_only_helped_is_told(values, text, kind):
    assert values(text)["oom_kind"] == kind
