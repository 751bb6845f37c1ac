"""Which phases a run has, what each holds, and what a missing fact leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.estimate.phases import trainer_bytes
from diagnose.knowledge import current
from diagnose.knowledge.records import Behaviour, Resident
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis, Estimate, Facts, Paste, PhaseEstimate, PoolEstimate
from diagnose.units import GIB
from diagnose.words import lead
from diagnose.words.headline import headline
from tests.samples import phase, term


def _ids(phase: PhaseEstimate) -> set[str]:
    return {term.id for term in phase.terms}


def _phases(facts: Any) -> list[str]:
    return [phase.phase for phase in estimate(facts).gpu.phases]


def test_it_gives_no_pool_without_a_model_or_its_size(facts: Any) -> None:
    answer = estimate(facts(model=None))
    assert answer.gpu is None
    assert "model" in answer.missing


@pytest.mark.parametrize(("engine", "there"), [("hf", False), ("vllm", True)])
def test_a_trainer_that_generates_by_itself_starts_no_engine(facts: Any, record: Any, engine: str, there: bool) -> None:
    online = replace(record(), phases=("load", "init", "weight_sync", "rollout", "actor_update"))
    names = _phases(facts(online, algo="grpo", rollout_engine=engine))
    assert ("init" in names) is there
    assert ("weight_sync" in names) is there
    assert "rollout" in names


def test_it_gives_no_pool_without_the_number_of_gpus(facts: Any) -> None:
    answer = estimate(facts(n_gpus=None))
    assert answer.gpu is None
    assert answer.missing == ("n_gpus",)


def test_it_gives_no_pool_without_a_record(facts: Any) -> None:
    answer = estimate(replace(facts(), framework=None))
    assert answer.missing == ("framework",)


def test_a_run_without_a_record_follows_the_fallback(facts: Any, record: Any) -> None:
    assert estimate(replace(facts(), framework=None), record()) == estimate(facts())


def test_a_size_alone_is_enough(facts: Any) -> None:
    answer = estimate(facts(model=None, params_b=7))
    assert answer.gpu is not None


@pytest.mark.parametrize("id", ["micro_batch", "gradient_checkpointing", "gpu_memory_utilization", "gpu_mem_gib"])
def test_it_names_a_fact_that_is_missing_and_still_computes(facts: Any, id: str) -> None:
    run = facts(**{id: None})
    answer = estimate(replace(run, gpu=None) if id == "gpu_mem_gib" else run)
    assert answer.gpu is not None
    assert id in answer.missing


def test_an_unknown_micro_batch_makes_a_band_and_not_a_point(facts: Any) -> None:
    run = {"gpu_mem_gib": 1000, "expandable_segments": True}  # without blocks that are only cached
    known, unknown, four = (estimate(facts(micro_batch=rows, **run)).gpu.phase("actor_update") for rows in (1, None, 4))
    assert unknown.low == known.low
    assert unknown.high > four.high


def test_unknown_checkpointing_makes_a_band_up_to_none(facts: Any) -> None:
    on, off, unknown = (
        estimate(facts(gradient_checkpointing=how)).gpu.phase("actor_update") for how in (True, False, None)
    )
    assert unknown.bytes == on.bytes
    assert unknown.high >= off.bytes


def test_the_verdict_is_unknown_without_a_capacity(facts: Any) -> None:
    assert estimate(replace(facts(gpu_mem_gib=None), gpu=None)).gpu.verdict() == "unknown"


def test_a_close_verdict_hangs_on_the_phase_that_may_run_out_and_not_on_a_higher_one_that_fits() -> None:
    phases = (
        phase("rollout", term("kv_pool", "engine", 60.2, 0.04)),
        phase("logprob", term("logits", "work", 59.7, 0.7)),
    )
    pool = PoolEstimate("gpu", phases, capacity=79 * GIB, limit=79 * GIB)
    assert (pool.verdict(), pool.worst.phase, pool.deciding.phase) == ("close", "rollout", "logprob")
    asked = Diagnosis(Paste("", ()), Facts(), None, None, None, "close", Estimate(gpu=pool))
    assert headline(asked) == "Too close to call: GPU memory in the old log-prob"
    assert lead(asked).startswith("The old log-prob needs about 59.7")
    roomy = replace(pool, limit=200 * GIB)
    assert (roomy.verdict(), roomy.deciding.phase) == ("fits", "rollout")


@pytest.mark.parametrize(
    ("changes", "gib"), [({"gpu_total_gib": 79.25}, 79.25), ({}, 79.1), ({"gpu_mem_gib": 96}, 96 * 0.985)]
)
def test_a_printed_capacity_outranks_the_card_and_the_card_its_size_as_sold(
    facts: Any, changes: Any, gib: float
) -> None:
    assert estimate(facts(**changes)).gpu.capacity / GIB == pytest.approx(gib)


def test_without_a_reference_there_is_no_reference_pass(facts: Any) -> None:
    assert "ref_logprob" not in _phases(facts(has_ref=False))


def test_under_lora_the_base_serves_as_the_reference(facts: Any) -> None:
    gpu = estimate(facts(full_or_lora="lora", lora_rank=16)).gpu
    assert "ref_logprob" in [phase.phase for phase in gpu.phases]
    assert all("ref_weights" not in _ids(phase) for phase in gpu.phases)


def test_supervised_training_has_no_rollout(facts: Any) -> None:
    assert _phases(facts(algo="sft", max_length=4096)) == ["load", "actor_update", "optimizer_step", "checkpoint"]


def test_preference_training_doubles_the_rows(facts: Any) -> None:
    sizes = [
        next(t.bytes for t in estimate(run).gpu.phase("actor_update").terms if t.id == "logits")
        for run in (
            facts(algo=algo, max_length=2048, prompt_length=None, response_length=None, real_response_length=1000)
            for algo in ("sft", "dpo")
        )
    ]
    assert sizes[1] == 2 * sizes[0]


def test_a_reward_model_makes_no_logits(facts: Any) -> None:
    assert "logits" not in _ids(estimate(facts(algo="rm", max_length=2048)).gpu.phase("actor_update"))


def test_chunked_logits_take_nothing(facts: Any) -> None:
    gpu = estimate(facts(logits_chunked=True)).gpu
    assert all("logits" not in _ids(phase) for phase in gpu.phases)


def test_an_engine_on_its_own_gpus_takes_nothing_here(facts: Any) -> None:
    gpu = estimate(facts(rollout_mode="server")).gpu
    assert all(term.family != "engine" for phase in gpu.phases for term in phase.terms)


def test_a_sleeping_engine_does_not_stand_in_the_update(facts: Any) -> None:
    gpu = estimate(facts()).gpu
    assert "kv_pool" in _ids(gpu.phase("rollout"))
    assert "kv_pool" not in _ids(gpu.phase("actor_update"))


def test_a_share_of_the_total_counts_weights_step_and_pool(facts: Any) -> None:
    rollout = estimate(facts(gpu_memory_utilization=0.5)).gpu.phase("rollout")
    engine = sum(term.bytes for term in rollout.terms if term.id in ("engine_weights", "kv_pool", "engine_activations"))
    assert engine == pytest.approx(0.5 * 79.1 * GIB - 1.0 * GIB, rel=0.001)


@pytest.mark.parametrize(
    ("rule", "shrinks"), [("share_of_total", False), ("share_of_free", True), ("share_of_total_less_others", True)]
)
def test_only_some_rules_count_the_trainers_shard_against_the_pool(
    facts: Any, record: Any, rule: str, shrinks: bool
) -> None:
    small_shard, large_shard = (
        next(
            term.bytes
            for term in estimate(facts(record(kv_rule=rule), n_gpus=gpus)).gpu.phase("rollout").terms
            if term.id == "kv_pool"
        )
        for gpus in (8, 4)
    )
    assert (large_shard < small_shard) is shrinks


def test_the_update_names_the_moment_that_is_worst(facts: Any) -> None:
    many, few = (
        estimate(facts(micro_batch=rows, real_response_length=length, real_prompt_length=length)).gpu
        for rows, length in ((8, 3000), (1, 1))
    )
    assert many.phase("actor_update").moment == "start of the backward pass"
    assert few.phase("actor_update").moment == "end of the backward pass"


def test_a_fused_step_needs_no_temporaries(facts: Any) -> None:
    plain, fused = (estimate(facts(fused_optimizer=on)).gpu.phase("optimizer_step") for on in (False, True))
    assert "adam_temporaries" in _ids(plain)
    assert "adam_temporaries" not in _ids(fused)


def test_a_cpu_optimizer_stands_on_the_host(facts: Any) -> None:
    answer = estimate(facts(optimizer_on_cpu=True))
    assert "actor_optimizer" not in _ids(answer.gpu.phase("actor_update"))
    assert "actor_optimizer" in _ids(answer.host.phase("actor_update"))


def test_main_gradients_of_megatron_stay_with_a_cpu_optimizer(facts: Any) -> None:
    update = estimate(facts(optimizer_on_cpu=True, strategy="megatron", precision="megatron")).gpu.phase("actor_update")
    assert "actor_gradients" in _ids(update)


def test_an_eight_bit_optimizer_holds_two_bytes_a_parameter(facts: Any) -> None:
    full, small = (
        next(
            t.bytes
            for t in estimate(facts(optimizer=name)).gpu.phase("actor_update").terms
            if t.id == "actor_optimizer"
        )
        for name in ("adamw", "adamw_8bit")
    )
    assert small == pytest.approx(full / 4, rel=0.001)


def test_stated_precision_outranks_a_record_that_does_not_ask_for_it(facts: Any) -> None:
    update = estimate(facts(precision="bf16")).gpu.phase("actor_update")
    weights = next(term for term in update.terms if term.id == "actor_weights")
    assert "× 2 B" in weights.how


def test_a_record_that_asks_for_precision_keeps_its_own_bytes(facts: Any, record: Any) -> None:
    base = record()
    own = Behaviour(does={"weight_bytes": 3}, when={"precision": "bf16"})
    update = estimate(facts(replace(base, behaviours=(*base.behaviours, own)), precision="bf16")).gpu.phase(
        "actor_update"
    )
    assert "× 3 B" in next(term for term in update.terms if term.id == "actor_weights").how


def test_a_condition_on_an_unknown_fact_counts_as_not_met(facts: Any) -> None:
    gpu = estimate(facts(optimizer_offload=None)).gpu
    assert "actor_optimizer" not in _ids(gpu.phase("logprob"))


def _engine_in_update(facts: Any) -> int:
    return sum(t.bytes for t in estimate(facts).gpu.phase("actor_update").terms if t.family == "engine")


def _awake(record: Any, **does: Any) -> Any:
    """A record whose engine never sleeps."""
    base = record(**does)
    stays = tuple(Resident(what=what, phases=("actor_update",), pool="gpu") for what in ("engine_weights", "kv_pool"))
    return replace(base, residents=(*base.residents, *stays))


@pytest.mark.parametrize(("processes", "counts"), [(1, True), (2, False)])
def test_torch_counts_an_engine_that_stays_only_in_its_own_process(
    facts: Any, record: Any, processes: int, counts: bool
) -> None:
    run = facts(_awake(record, processes_per_gpu=processes), micro_batch=64)
    answer = estimate(run)
    engine = _engine_in_update(run)
    assert engine > 20 * GIB
    assert answer.torch_allocated == trainer_bytes(answer.gpu.phase("actor_update")) + (engine if counts else 0)


def test_torch_does_not_count_an_engine_that_sleeps(facts: Any) -> None:
    answer = estimate(facts(micro_batch=64))
    assert answer.torch_allocated == trainer_bytes(answer.gpu.phase("actor_update"))


@pytest.mark.parametrize(
    ("changes", "parts"), [({"algo": "sft", "max_length": 2048}, 2), ({"strategy": "megatron"}, 2), ({}, 1)]
)
def test_tensor_parallel_splits_logits_where_a_loss_is_taken_from_parts_of_the_vocabulary(
    facts: Any, changes: Any, parts: int
) -> None:
    one, two = (
        next(
            term.bytes
            for term in estimate(facts(**{"real_response_length": 900, **changes, "tp": tp}))
            .gpu.phase("actor_update")
            .terms
            if term.id == "logits"
        )
        for tp in (1, 2)
    )
    assert one == pytest.approx(parts * two, rel=0.001)


@pytest.mark.parametrize(("algo", "samples"), [("gigpo", True), ("naive", True), ("sft_x", False), ("dpo", False)])
def test_an_algorithm_that_nobody_here_knows_is_what_its_trainer_is_for(facts: Any, algo: str, samples: bool) -> None:
    verl = current().frameworks["verl"]
    phases = {phase.phase for phase in estimate(facts(verl, algo=algo)).gpu.phases}
    assert ("rollout" in phases) is samples


MASKED = """8xH100
policy:
  model_name: Qwen/Qwen2.5-7B-Instruct
  train_micro_batch_size: 4
  max_total_sequence_length: 4096
  dtensor_cfg:
    enabled: true
    activation_checkpointing: false
grpo:
  num_prompts_per_step: 32
  num_generations_per_prompt: 16
cluster:
  gpus_per_node: 8
  num_nodes: 1
"""


def test_a_trainer_that_gives_every_row_a_mask_of_ones_leaves_none_in_attention() -> None:
    found = diagnose(MASKED, {}, current(), ())
    assert found.facts.values["framework"] == "nemo-rl"
    assert found.estimate.gpu is not None
    assert "attention_mask" not in _ids(found.estimate.gpu.phase("actor_update"))
