"""DeepSpeed's own sizes: read from its file, or what it takes without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from diagnose.types import Term
from tests.runs import run_of

RUN = "{packages}\ntorchrun --nproc_per_node 8 {script} --deepspeed ds.json --model_name_or_path Qwen/Qwen2.5-7B\nds.json:\n{file}"


def terms(
    phase: str, zero: dict[str, Any], packages: str = "", script: str = "train.py", rows: int = 1
) -> dict[str, Term]:
    file = json.dumps({"bf16": {"enabled": True}, "zero_optimization": zero}, indent=1)
    answers = {"algo": "sft", "full_or_lora": "full", "micro_batch": rows, "real_response_length": 512, "n_gpus": 8}
    text = RUN.format(packages=packages, script=script, file=file)
    found = run_of(text, {**answers, "max_length": 512, "gradient_checkpointing": True})
    assert found.estimate.gpu, found.estimate.missing
    here = found.estimate.gpu.phase(phase)
    assert here
    return {term.id: term for term in here.terms}


@pytest.mark.parametrize(
    ("size", "bytes"), [({}, 1e9), ({"reduce_bucket_size": 3e8}, 6e8), ({"reduce_bucket_size": "auto"}, 2 * 3584**2)]
)
@pytest.mark.parametrize("script", ["train.py", "trl/scripts/sft.py"])
def test_the_bucket_of_stage_3_is_as_large_as_its_file_says(size: dict[str, Any], bytes: float, script: str) -> None:
    assert terms("optimizer_step", {"stage": 3, **size}, script=script)["actor_bucket"].bytes == bytes


@pytest.mark.parametrize(("live", "bytes"), [({}, 2e9), ({"stage3_max_live_parameters": 7e8}, 1.4e9)])
def test_as_many_parameters_stand_gathered_as_may(live: dict[str, Any], bytes: float) -> None:
    assert terms("actor_update", {"stage": 3, **live})["gathers"].bytes == bytes


@pytest.mark.parametrize("live", [0, 1_000_000])
def test_a_limit_below_the_largest_matrix_lets_it_stand_whole(live: int) -> None:
    few = terms("actor_update", {"stage": 3, "stage3_max_live_parameters": live})
    assert few["gathers"].bytes == 2 * 152064 * 3584


@pytest.mark.parametrize(("version", "low"), [("deepspeed==0.17.1", 1e9), ("deepspeed==0.17.2", None), ("", 0)])
def test_buckets_come_with_the_first_gradient_since_0_17_2(version: str, low: float | None) -> None:
    """As soon as logits are what is largest, they then stand beside no bucket."""
    found = terms("actor_update", {"stage": 2, "reduce_bucket_size": 500_000_000}, version, rows=32)
    assert (found["buckets"].low if "buckets" in found else None) == low


def test_a_second_shard_is_held_where_the_file_has_a_group_of_more_than_one() -> None:
    held = terms("actor_update", {"stage": 3, "zero_hpz_partition_size": 4})
    assert held["second_shard"].bytes == pytest.approx(2 * 7_615_616_512 / 4)
    assert "second_shard" not in terms("actor_update", {"stage": 3, "zero_hpz_partition_size": 1})


BY_WIDTH = 2 * 3584**2


@pytest.mark.parametrize(
    ("trainer", "stage", "shipped"),
    [
        ("llamafactory-cli train --stage sft", 2, 1e9),
        ("llamafactory-cli train --stage sft", 3, BY_WIDTH),
        ("swift sft", 2, 4e8),
        ("swift sft", 3, BY_WIDTH),
    ],
)
def test_what_a_trainers_own_files_set_does_not_hold_where_another_is_shown(
    trainer: str, stage: int, shipped: float
) -> None:
    """Without a word in the file that is shown a bucket is as large as DeepSpeed's own."""
    answers = {"algo": "sft", "full_or_lora": "full", "micro_batch": 1, "real_response_length": 512, "n_gpus": 8}
    run = f"{trainer} --model_name_or_path Qwen/Qwen2.5-7B --cutoff_len 512 --deepspeed"
    shown = json.dumps({"zero_optimization": {"stage": stage}}, indent=1)
    for text, bytes in ((f"{run} ds_z{stage}_config.json", shipped), (f"{run} ds.json\nds.json:\n{shown}", 1e9)):
        gpu = run_of(text, answers).estimate.gpu
        here = gpu.phase("actor_update") if gpu else None
        assert here
        assert [term.bytes for term in here.terms if term.id in ("buckets", "actor_bucket")] == [bytes]
