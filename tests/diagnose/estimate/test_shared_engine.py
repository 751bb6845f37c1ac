"""An engine that was loaded first and whose tensors are the trainer's base: counted once, gone to sleep without it."""

from __future__ import annotations

import pytest

from diagnose.estimate.tokens import rows_that_fit
from diagnose.types import PoolEstimate
from diagnose.units import GIB
from tests.runs import Run, run_of

SCRIPT = """{standby}
from unsloth import FastLanguageModel
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "unsloth/Qwen3-4B-Base",
    max_seq_length = 2048,
    {bits}
    fast_inference = True,
    max_lora_rank = 32,
    gpu_memory_utilization = 0.6,
)
model = FastLanguageModel.get_peft_model(model, r = 32)
args = GRPOConfig(per_device_train_batch_size = {rows}, gradient_accumulation_steps = 1, num_generations = 4, max_completion_length = 1024)
# one RTX 4090
"""


def told(standby: str = "", bits: str = "load_in_4bit = False,", rows: int = 4) -> Run:
    return run_of(SCRIPT.format(standby=standby, bits=bits, rows=rows))


def gpu_of(diagnosis: Run) -> PoolEstimate:
    assert diagnosis.estimate is not None
    assert diagnosis.estimate.gpu is not None
    return diagnosis.estimate.gpu


def size(diagnosis: Run, phase: str, term: str) -> float:
    found = next(one for one in gpu_of(diagnosis).phases if one.phase == phase)
    return sum(one.bytes for one in found.terms if one.id == term) / GIB


def test_weights_are_counted_once() -> None:
    run = told()
    assert size(run, "rollout", "actor_weights") == pytest.approx(7.7, abs=0.1)
    assert size(run, "rollout", "engine_weights") < 0.2  # room for an adapter of rank 32


def test_the_share_holds_weights_and_cache_together() -> None:
    whole, quarter = told(), told(bits="")
    more = size(quarter, "rollout", "kv_pool") - size(whole, "rollout", "kv_pool")
    assert more == pytest.approx(
        size(whole, "load", "actor_weights") - size(quarter, "load", "actor_weights"), abs=0.02
    )


def test_four_bits_are_what_nothing_else_is_said_of() -> None:
    assert told(bits="").facts.values["quantization"] == "nf4"
    assert told().facts.values["quantization"] == "none"


def test_a_sleeping_engine_keeps_the_weights_on_the_card_and_no_copy_on_the_host() -> None:
    run = told('os.environ["UNSLOTH_VLLM_STANDBY"] = "1"')
    assert size(run, "actor_update", "kv_pool") == 0
    assert size(run, "actor_update", "actor_weights") == size(run, "rollout", "actor_weights")
    assert run.estimate is not None
    assert run.estimate.host is not None
    assert not any("engine" in term.id for phase in run.estimate.host.phases for term in phase.terms)


def test_standby_sets_the_share_itself() -> None:
    run = told('os.environ["UNSLOTH_VLLM_STANDBY"] = "1"')
    assert run.facts.values["gpu_memory_utilization"] == 0.78
    assert "gpu_memory_utilization" in run.facts.dead_keys


@pytest.mark.parametrize(("vllm", "share"), [("vllm==0.10.2", 0.825), ("vllm==0.11.2", 0.78), ("", 0.78)])
def test_the_share_in_standby_hangs_on_the_engine(vllm: str, share: float) -> None:
    run = told(f'# {vllm}\nimport os\nos.environ["UNSLOTH_VLLM_STANDBY"] = "1"')
    assert run.facts.values["gpu_memory_utilization"] == share


def test_a_share_that_the_log_prints_is_the_one_in_standby() -> None:
    log = "Unsloth: Standby mode is enabled. Changing `gpu_memory_utilization` to 0.83125."
    run = told(f'# vllm==0.10.2\n{log}\nos.environ["UNSLOTH_VLLM_STANDBY"] = "1"')
    assert run.facts.values["gpu_memory_utilization"] == 0.83125


def test_a_step_without_a_whole_prompt_takes_all_its_samples() -> None:
    """unslothai/unsloth@015bdef unsloth/models/rl.py: check_num_generations."""
    assert gpu_of(told(rows=1)).peak == gpu_of(told(rows=4)).peak
    assert gpu_of(told(rows=3)).peak == gpu_of(told(rows=4)).peak


@pytest.mark.parametrize(("free", "rows"), [(4, 8), (1, 4), (0.2, 1)])
def test_rows_go_through_together_as_the_free_memory_allows(free: float, rows: int) -> None:
    assert rows_that_fit(8, 1024, hidden=2560, vocab=151936, free=free * GIB) == rows


def test_what_never_fits_is_cut_into_parts_of_four() -> None:
    assert rows_that_fit(8, 100_000, hidden=8192, vocab=151936, free=0) == 4
