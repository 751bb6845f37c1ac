"""What must hold of every run, whatever its numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose.estimate import estimate
from diagnose.types import PhaseEstimate

RUNS = st.fixed_dictionaries(
    {
        "algo": st.sampled_from(["grpo", "ppo", "sft", "dpo", "rm", "pretrain"]),
        "n_gpus": st.sampled_from([1, 2, 4, 8]),
        "micro_batch": st.sampled_from([None, 1, 3, 16]),
        "prompt_length": st.sampled_from([None, 256, 4096]),
        "response_length": st.sampled_from([None, 512, 8192]),
        "max_length": st.sampled_from([None, 2048]),
        "real_response_length": st.sampled_from([None, 100, 100_000]),
        "remove_padding": st.sampled_from([None, True, False]),
        "full_or_lora": st.sampled_from([None, "full", "lora", "qlora"]),
        "precision": st.sampled_from([None, "bf16", "mixed", "megatron"]),
        "optimizer": st.sampled_from([None, "adamw_8bit", "adafactor", "sgd"]),
        "strategy": st.sampled_from([None, "fsdp", "deepspeed", "ddp", "megatron"]),
        "zero_stage": st.sampled_from([None, 0, 1, 2, 3]),
        "tp": st.sampled_from([None, 1, 2]),
        "sp": st.sampled_from([None, 2]),
        "gradient_checkpointing": st.sampled_from([None, True, False, "selective"]),
        "flash_attention": st.sampled_from([None, True, False]),
        "dynamic_batch": st.sampled_from([None, True]),
        "micro_tokens": st.sampled_from([None, 16384]),
        "gpu_memory_utilization": st.sampled_from([None, 0.3, 0.9]),
        "sleep_level": st.sampled_from([0, 1, 2]),
        "rollout_mode": st.sampled_from(["colocated", "server"]),
        "optimizer_on_cpu": st.sampled_from([None, True]),
        "param_on_cpu": st.sampled_from([None, True]),
        "gpu_mem_gib": st.sampled_from([None, 24, 80]),
    }
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(RUNS)
def test_no_term_is_negative_and_every_band_holds_its_middle(facts: Any, run: dict[str, Any]) -> None:
    answer = estimate(facts(**run))
    for pool in (answer.gpu, answer.host):
        for phase in pool.phases if pool else ():
            assert all(0 <= term.low <= term.bytes <= term.high for term in phase.terms)
            assert 0 <= phase.low <= phase.bytes <= phase.high


@quick
@given(RUNS)
def test_the_peak_is_one_of_the_phases_and_no_phase_is_above_it(facts: Any, run: dict[str, Any]) -> None:
    gpu = estimate(facts(**run)).gpu
    assert gpu is not None
    assert gpu.peak in gpu.phases
    assert all(sum(term.bytes for term in phase.terms) <= gpu.peak.bytes for phase in gpu.phases)


@quick
@given(RUNS)
def test_reserved_is_never_below_allocated_nor_the_device_below_reserved(facts: Any, run: dict[str, Any]) -> None:
    answer = estimate(facts(**run))
    assert answer.gpu is not None
    assert answer.torch_allocated is not None
    assert answer.torch_reserved is not None
    assert answer.device_used is not None
    assert answer.torch_allocated <= answer.torch_reserved <= answer.device_used
    assert answer.gpu.peak.bytes <= answer.device_used


@quick
@given(RUNS, st.sampled_from(["fsdp", "deepspeed", "ddp"]))
def test_a_higher_zero_stage_never_holds_more(facts: Any, run: dict[str, Any], strategy: str) -> None:
    held = [_held(facts(**{**run, "strategy": strategy, "zero_stage": stage})) for stage in (0, 1, 2, 3)]
    assert held == sorted(held, reverse=True)


@quick
@given(RUNS)
def test_more_gpus_in_a_shard_group_never_hold_more_each(facts: Any, run: dict[str, Any]) -> None:
    held = [_held(facts(**{**run, "zero_stage": 3, "n_gpus": gpus, "tp": 1})) for gpus in (2, 4, 8)]
    assert held == sorted(held, reverse=True)


@quick
@given(RUNS, st.sampled_from(["micro_batch", "response_length", "real_response_length"]))
def test_more_rows_and_longer_rows_never_need_less(facts: Any, run: dict[str, Any], id: str) -> None:
    numbers = {
        "micro_batch": (1, 2, 64),
        "response_length": (256, 2048, 16384),
        "real_response_length": (10, 900, 2000),
    }[id]
    # rows of one length lie in fewer pieces, and a batch that fits one pass meets no gradients of the passes before
    settled = {**run, "optimizer_on_cpu": None, "gpu_mem_gib": None, "train_batch_size": 4096, "mini_batch_size": 4096}
    updates = [estimate(facts(**{**settled, id: number})).gpu.phase("actor_update") for number in numbers]
    peaks = [_in_use(update) for update in updates]
    assert peaks == sorted(peaks)


@quick
@given(RUNS)
def test_more_gpus_in_a_shard_group_never_need_more_each(facts: Any, run: dict[str, Any]) -> None:
    # of fewer rows a GPU the mean may come nearer to the longest, unless it is known
    settled = {"zero_stage": 3, "tp": 1, "gpu_mem_gib": None, "real_prompt_length": 100, "real_response_length": 100}
    gpus = [estimate(facts(**{**run, **settled, "micro_batch": 1, "n_gpus": gpus})).gpu for gpus in (2, 4, 8)]
    peaks = [max(_in_use(phase) for phase in gpu.phases) for gpu in gpus]
    assert peaks == sorted(peaks, reverse=True)


@quick
@given(RUNS, st.sampled_from(["train_batch_size", "response_length"]))
def test_more_and_longer_rows_never_need_less_of_the_node(facts: Any, run: dict[str, Any], id: str) -> None:
    hosts = [estimate(facts(**{**run, id: number})).host for number in (64, 512, 4096)]
    needs = [host.peak.bytes for host in hosts]
    assert needs == sorted(needs)


@quick
@given(RUNS, st.sampled_from(["optimizer_on_cpu", "param_on_cpu", "optimizer_offload", "ref_offload"]))
def test_what_an_offload_takes_from_the_cards_stands_on_the_host(facts: Any, run: dict[str, Any], switch: str) -> None:
    whole = {"precision_aware_optimizer": True, "masters": "fp32"}  # else masters stay on the card as well
    stays, leaves = (estimate(facts(**{**run, **whole, switch: on})) for on in (False, True))
    for before, after, parked, empty in zip(
        stays.gpu.phases, leaves.gpu.phases, leaves.host.phases, stays.host.phases, strict=True
    ):
        freed = _held_in(before) - _held_in(after)
        assert freed >= 0
        assert _held_in(parked) - _held_in(empty) == pytest.approx(run["n_gpus"] * freed, rel=0.001, abs=run["n_gpus"])


@quick
@given(RUNS)
def test_counters_of_used_memory_see_no_more_than_the_node_needs(facts: Any, run: dict[str, Any]) -> None:
    answer = estimate(facts(**run))
    assert answer.host is not None
    assert answer.host_used is not None
    assert 0 < answer.host_used <= answer.host.peak.bytes


@pytest.mark.parametrize("phase", ["rollout", "logprob"])
def test_offload_moves_bytes_from_the_gpu_to_the_host(facts: Any, phase: str) -> None:
    stays, leaves = (estimate(facts(optimizer_offload=off)) for off in (False, True))
    assert stays.gpu and leaves.gpu and stays.host and leaves.host  # noqa: PT018
    freed = _in_use(stays.gpu.phase(phase)) - _in_use(leaves.gpu.phase(phase))
    parked = leaves.host.phase(phase).bytes - stays.host.phase(phase).bytes
    assert freed > 0
    assert parked == pytest.approx(8 * freed, rel=0.01)


def test_offload_between_updates_does_not_lower_the_update(facts: Any) -> None:
    stays, leaves = (estimate(facts(optimizer_offload=off)).gpu for off in (False, True))
    assert stays.phase("actor_update").bytes == leaves.phase("actor_update").bytes


def _held(facts: Any) -> int:
    return _held_in(estimate(facts).gpu.phase("actor_update"))


def _held_in(phase: PhaseEstimate) -> int:
    """Without the bucket that DeepSpeed makes at stage 3 alone, and drops with what is offloaded."""
    return sum(term.bytes for term in phase.terms if term.family == "held" and not term.id.endswith("_bucket"))


def _in_use(phase: PhaseEstimate) -> int:
    """The bytes of a phase without what the allocator reserves beyond them and the buffers of groups, of which more cards have more."""
    return sum(term.bytes for term in phase.terms if term.id not in ("allocator_slack", "nccl"))
