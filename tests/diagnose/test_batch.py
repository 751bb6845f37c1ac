"""The arithmetic of micro batches; each rule is named with the source that it was read from."""

import pytest

from diagnose.batch import UNITS, resolve, rows_held, to_written
from diagnose.types import Fact
from diagnose.vocabulary import BATCH_UNITS


def stated(**facts):
    """Facts as a framework's keys state them: a value, or (value, unit)."""
    pairs = {id: value if isinstance(value, tuple) else (value, "") for id, value in facts.items()}
    return {id: Fact(id, value, "read", unit=unit) for id, (value, unit) in pairs.items()}


def test_every_unit_of_the_vocabulary_goes_both_ways():
    assert set(UNITS) == set(BATCH_UNITS)


def test_a_global_micro_batch_without_the_number_of_gpus_stays_unknown():
    assert "micro_batch" not in resolve(stated(micro_batch=(16, "global_sequences")))


def test_a_token_budget_in_rows_without_a_length_stays_unknown():
    assert "micro_tokens" not in resolve(stated(micro_tokens=(4, "max_length_rows")))


def test_a_global_micro_batch_is_divided_by_the_data_parallel_size():
    # verl@b178a3c fsdp_workers.py:248-262: //= world / ulysses
    values = resolve(stated(micro_batch=(64, "global_sequences"), n_gpus=8, sp=2))
    assert values["micro_batch"] == 16


def test_a_january_2025_fork_multiplies_by_the_samples_per_prompt():
    # Logic-RL@9d2c457 fsdp_workers.py:98-101: 16 // 4 GPUs * 16 samples = 64 rows
    values = resolve(stated(micro_batch=(16, "global_sequences_times_n"), n_gpus=4, rollout_n=16, train_batch_size=64))
    assert values["micro_batch"] == 64


def test_no_pass_takes_more_rows_than_a_gpu_holds():
    # 8 prompts of 32 samples on 4 GPUs are 64 rows each, whatever the micro batch allows
    values = resolve(stated(micro_batch=(16, "global_sequences_times_n"), n_gpus=4, rollout_n=32, train_batch_size=8))
    assert values["micro_batch"] == 64
    assert rows_held(values, "train_batch_size") == 64


def test_fewer_prompts_shrink_the_pass_when_it_holds_all_rows():
    values = resolve(stated(micro_batch=(16, "global_sequences_times_n"), n_gpus=4, rollout_n=32, train_batch_size=4))
    assert values["micro_batch"] == 32


def test_a_token_budget_in_rows_is_rows_of_the_longest_length():
    # EasyR1@b44b311 dp_actor.py:240-245
    values = resolve(stated(micro_tokens=(4, "max_length_rows"), prompt_length=2048, response_length=2048))
    assert values["micro_tokens"] == 16384


def test_a_token_budget_in_rows_is_cut_into_sequence_parallel_parts():
    # EasyR1@b44b311 dp_actor.py:109-112 slices the packed rows after the budget is filled
    values = resolve(stated(micro_tokens=(4, "max_length_rows"), prompt_length=2048, response_length=2048, sp=2))
    assert values["micro_tokens"] == 8192
    assert to_written(8192, "max_length_rows", values) == 4


def test_the_gpus_of_the_run_are_nodes_times_gpus_per_node():
    assert resolve(stated(n_nodes=2, gpus_per_node=8))["n_gpus"] == 16


def test_prompts_of_a_step_follow_from_micro_batch_and_accumulation():
    # 8 completions × 4 steps × 4 GPUs are 16 prompts of 8 samples
    values = resolve(stated(micro_batch=8, gradient_accumulation=4, rollout_n=8, n_gpus=4))
    assert values["train_batch_size"] == 16


@pytest.mark.parametrize(
    "unit", ["global_sequences", "global_sequences_times_n", "max_length_rows", "sequences_per_gpu"]
)
def test_a_unit_goes_there_and_back(unit):
    known = {"n_gpus": 4, "rollout_n": 8, "prompt_length": 1000, "response_length": 1000}
    values = resolve(stated(micro_batch=(64, unit), **known))
    assert to_written(values["micro_batch"], unit, values) == 64


@pytest.mark.parametrize(("each", "pixels"), [(1024, 1024 * 1024), (784, 1024 * 784), (None, 1024 * 1024)])
def test_an_image_counted_in_tokens_goes_both_ways(each, pixels):
    # ms-swift 4.5.2 swift/model/models/qwen.py: compat_qwen_vl_utils divides by the square of patch and merge
    values = resolve(stated(max_pixels=(1024, "image_tokens"), **({"pixels_per_token": each} if each else {})))
    assert values["max_pixels"] == pixels
    assert to_written(pixels / 2, "image_tokens", values) == 512


def test_a_size_in_bytes_goes_both_ways():
    values = resolve(stated(sync_bucket_mib=(3 * 1024**3, "bytes_of_mib")))
    assert values["sync_bucket_mib"] == 3072
    assert to_written(512, "bytes_of_mib", values) == 512 * 1024**2
