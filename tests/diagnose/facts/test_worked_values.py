"""Of values of which one worked and one failed the one that failed is read, and the other is told."""

from __future__ import annotations

import pytest

TRL = "TRL SFT Qwen2.5-7B: "


@pytest.mark.parametrize(
    ("text", "id", "value", "works"),
    [
        (TRL + "batch size 8 works but 16 OOMs", "micro_batch", 16, "8"),
        (TRL + "batch size 8 works fine, with 16 I get CUDA out of memory", "micro_batch", 16, "8"),
        (TRL + "bs=8 ok, bs=16 CUDA OOM", "micro_batch", 16, "8"),
        (TRL + "per_device_train_batch_size=1 works fine, with 2 I get CUDA out of memory", "micro_batch", 2, "1"),
        (TRL + "per_device_train_batch_size=16 OOMs, per_device_train_batch_size=8 works", "micro_batch", 16, "8"),
        ("LLaMA-Factory sft 单卡 4090，batch size 8 能跑，16 就爆显存", "micro_batch", 16, "8"),
        ("verl: OOMs at gpu_memory_utilization 0.9, works at 0.5", "gpu_memory_utilization", 0.9, "0.5"),
        ("verl: gpu_memory_utilization=0.3 works, 0.6 gives CUDA out of memory", "gpu_memory_utilization", 0.6, "0.3"),
        (
            "verl: OOM with gpu_memory_utilization=0.9, works with gpu_memory_utilization=0.5",
            "gpu_memory_utilization",
            0.9,
            "0.5",
        ),
        (
            "verl\ngpu_memory_utilization=0.9 → CUDA OOM\ngpu_memory_utilization=0.6 → fine",
            "gpu_memory_utilization",
            0.9,
            "",
        ),
        ("verl GRPO: rollout.n=8 works, n=16 OOM in compute_log_prob", "rollout_n", 16, "8"),
        ("OpenRLHF PPO, max_len 2048 is fine but 4096 goes OOM", "max_length", 4096, "2048"),
    ],
)
def test_the_value_that_failed_is_read_and_the_other_is_known_to_work(facts, text, id, value, works):
    found = facts(text)
    assert found.values[id] == value
    assert not works or any(f"works with {works}:" in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    [
        TRL + "does not work with 8, OOM",
        TRL + "CUDA OOM, would it work with 8?",
        TRL + "works with 8 GPUs, OOM with 4",
        TRL + "works with 0.5",
    ],
)
def test_nothing_is_known_to_work_where_nobody_says_so_beside_a_failure(facts, text):
    assert not any("tells that it works" in note for note in facts(text).notes)


def test_a_batch_of_many_rows_is_a_cards_where_the_trainer_has_no_other(values):
    assert values(TRL + "batch size 16, CUDA out of memory")["micro_batch"] == 16
    assert values(TRL + "effective batch size 16, CUDA out of memory").get("micro_batch") != 16
    assert values("ms-swift SFT, batch size of 128 in total; CUDA out of memory").get("micro_batch") != 128
    assert "micro_batch" not in values("batch size 16, CUDA out of memory in verl GRPO")
