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


@pytest.mark.parametrize("head", ["What fixed it for me finally:", "EDIT: what helped in the end:", "最后的解决办法："])
def test_the_values_of_a_cure_are_not_those_of_the_failure(values, head):
    found = values(
        "TRL GRPO Qwen2-VL-7B CUDA out of memory\nargs: --max_prompt_length 8192 --num_generations 8 --max_pixels 2359296\n"
        f"{head} num_generations 4 and max_pixels 480000."
    )
    assert (found["rollout_n"], found["max_pixels"]) == (8, 2359296)


@pytest.mark.parametrize("asked", ["大家有没有办法? LoRA 可以吗", "用 LoRA 行吗", "LoRA 够吗？"])
def test_adapters_that_somebody_asks_about_are_none_of_the_run(values, asked):
    assert values(f"verl GRPO Qwen2.5-7B 8 x A100 CUDA out of memory\n{asked}").get("full_or_lora") != "lora"
