"""The size that was asked for tells the rows of the pass that failed, where only logits can be so large."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import assumed_lengths, estimate, with_failed_row
from diagnose.estimate.failed_row import failed_row
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.knowledge.hardware import Moe
from diagnose.pipeline import diagnose
from diagnose.report import to_markdown
from diagnose.types import Fact, Facts, FailedRow
from diagnose.units import GIB, from_gib

VOCAB = 152064  # of the run's model
FAILED = {"oom_kind": "gpu_oom", "phase": "actor_update", "gpu_total_gib": 79.15, "micro_batch": 16}


def _asked(facts: Any, gib: float, **changes: Any) -> Facts:
    """The run of the fixtures after a request of so many GiB was refused."""
    run: Facts = facts(**{**FAILED, **changes})
    return run.with_fact(Fact("tried_alloc_gib", gib, "read", written=f"{gib:.2f} GiB"))


def _row(run: Facts) -> FailedRow:
    found = failed_row(run)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": None},
        {"phase": "weight_sync"},
        {"oom_kind": "gpu_oom_raw"},
        {"micro_batch": None, "logprob_micro_batch": None},
        {"real_response_length": 900, "real_prompt_length": 100},
        {"remove_padding": False},
        {"dynamic_batch": True, "micro_tokens": 16384},
        {"logits_chunked": True},
        {"flash_attention": False},
    ],
)
def test_nothing_is_told_where_another_tensor_may_be_as_large_or_the_length_is_known(facts: Any, changes: Any) -> None:
    assert failed_row(_asked(facts, 15.0, gpu_free_gib=2.0, **changes)) is None


def test_a_request_that_activations_of_full_rows_could_make_tells_nothing(facts: Any) -> None:
    widest = 2 * 16 * (1024 + 3072) * 2 * 18944 / GIB  # gate and up of the MLP over 16 full rows
    assert failed_row(_asked(facts, widest - 0.1)) is None
    assert failed_row(_asked(facts, widest + 0.1)) is not None


def test_images_that_nothing_bounds_could_be_as_large(facts: Any, vision_model: Any) -> None:
    sees = {"model": vision_model, "multimodal": True}
    assert failed_row(_asked(facts, 15.0, **sees)) is None
    assert failed_row(_asked(facts, 15.0, **sees, max_pixels=1_048_576)) is not None
    assert failed_row(_asked(facts, 15.0, **sees, max_pixels=16_777_216)) is None


def test_a_request_no_larger_than_the_outermost_unit_tells_nothing(facts: Any) -> None:
    unit = 4 * 2 * VOCAB * 3584 / GIB
    assert failed_row(_asked(facts, unit - 0.1, micro_batch=1)) is None


def test_a_request_beyond_the_logits_of_full_rows_tells_nothing(facts: Any) -> None:
    full = 16 * (1024 + 3072) * VOCAB
    assert failed_row(_asked(facts, 4.2 * full / GIB)) is None


def test_a_loss_that_goes_row_by_row_may_have_asked_for_one_row(facts: Any, record: Any) -> None:
    one_row = 4 * VOCAB * (1024 + 3072) / GIB
    framework = record(loss_by_row="yes")
    assert failed_row(_asked(facts, 1.02 * one_row, framework_=framework, full_or_lora="lora", strategy="ddp")) is None
    assert failed_row(_asked(facts, 15.0, framework_=framework)) is not None


def test_the_rows_are_the_request_over_the_vocabulary_in_two_types(facts: Any) -> None:
    row = _row(_asked(facts, 15.0))
    assert row.shortest == pytest.approx(15 * GIB / (16 * VOCAB * 4), rel=1e-6)
    assert row.longest == pytest.approx(15 * GIB / (16 * VOCAB * 2), rel=1e-6)


def test_a_type_that_would_need_rows_beyond_their_limit_is_left_out(facts: Any) -> None:
    row = _row(_asked(facts, 25.0))
    assert row.shortest == row.longest == pytest.approx(25 * GIB / (16 * VOCAB * 4), rel=1e-6)


def test_of_two_lengths_the_shorter_is_taken_where_it_needs_what_was_in_use(facts: Any) -> None:
    little, much = (_row(_asked(facts, 15.0, gpu_free_gib=free)) for free in (60.0, 1.0))
    assert little.likely == little.shortest
    assert much.likely == much.longest


def test_the_longer_is_taken_where_no_message_tells_what_was_in_use(facts: Any) -> None:
    row = _row(_asked(facts, 15.0))
    assert row.shortest < row.likely == row.longest


def test_the_longer_is_taken_where_another_process_is_on_the_card(facts: Any) -> None:
    row = _row(_asked(facts, 15.0, gpu_free_gib=60.0, process_gib=10.0))
    assert row.likely == row.longest


def test_a_line_of_code_that_casts_to_fp32_leaves_no_choice(facts: Any) -> None:
    traceback = 'File "/site-packages/transformers/loss/loss_utils.py", line 47, in ForCausalLMLoss\n    logits = logits{cast}\n'
    run = _asked(facts, 15.0, gpu_free_gib=1.0)
    cast, kept = (failed_row(run, None, read(traceback.format(cast=cast))) for cast in (".float()", "[:, :-1]"))
    assert cast is not None
    assert kept is not None
    assert cast.longest == cast.shortest == kept.shortest
    assert kept.longest == 2 * kept.shortest


def test_sequence_parallelism_makes_each_row_longer_than_what_a_card_holds_of_it(facts: Any) -> None:
    alone, split = (_row(_asked(facts, 8.0, sp=sp)) for sp in (None, 2))
    assert split.shortest == pytest.approx(2 * alone.shortest)


def test_the_estimate_takes_the_rows_and_says_where_from(facts: Any) -> None:
    run = with_failed_row(_asked(facts, 15.0, gpu_free_gib=1.0))
    response = next(fact for fact in assumed_lengths(run) if fact.id == "real_response_length")
    prompt = next(fact for fact in assumed_lengths(run) if fact.id == "real_prompt_length")
    assert response.origin == "assumed"
    assert "asked for" in response.why
    assert prompt.value + response.value == pytest.approx(_row(run).longest, abs=2)  # type: ignore[operator]


def test_rows_that_are_shorter_than_a_usual_prompt_have_shorter_prompts(facts: Any) -> None:
    run = with_failed_row(_asked(facts, 9.0, gpu_free_gib=60.0, prompt_length=3072, response_length=128))
    lengths = {fact.id: fact.value for fact in assumed_lengths(run)}
    total = lengths["real_prompt_length"] + lengths["real_response_length"]  # type: ignore[operator]
    assert total == pytest.approx(_row(run).shortest, abs=2)


def test_the_logits_of_the_failed_pass_are_as_large_as_what_was_asked_for(facts: Any) -> None:
    gpu = estimate(with_failed_row(_asked(facts, 15.0, gpu_free_gib=1.0))).gpu
    assert gpu is not None
    phase = gpu.phase("actor_update")
    logits = next(term for term in phase.terms if term.id == "logits")  # type: ignore[union-attr]
    assert logits.bytes == pytest.approx(from_gib(15.0) / 2 * 8, rel=0.01)  # eight bytes of all copies together


def test_fewer_rows_may_lie_further_above_their_mean_and_never_above_the_limit(facts: Any) -> None:
    run = with_failed_row(_asked(facts, 15.0, gpu_free_gib=1.0))
    few = run.with_fact(Fact("micro_batch", 4, "read"))

    def logits(facts: Facts) -> Any:
        gpu = estimate(facts).gpu
        assert gpu is not None
        return next(term for term in gpu.phase("actor_update").terms if term.id == "logits")  # type: ignore[union-attr]

    assert logits(few).bytes == pytest.approx(logits(run).bytes / 4, rel=0.01)
    assert logits(run).high / 4 < logits(few).high <= 4 * (1024 + 3072) * VOCAB * 8


def test_a_length_that_is_answered_outranks_the_request(facts: Any) -> None:
    run = with_failed_row(_asked(facts, 15.0, gpu_free_gib=1.0))
    told = run.with_facts(Fact(id, 100, "answered") for id in ("real_prompt_length", "real_response_length"))
    plain = _asked(facts, 15.0, gpu_free_gib=1.0, real_prompt_length=100, real_response_length=100)
    assert estimate(told).gpu == estimate(plain).gpu


def test_a_size_that_is_answered_tells_as_much_as_one_that_is_printed(facts: Any) -> None:
    printed = _asked(facts, 15.0, gpu_free_gib=1.0)
    answered = printed.with_fact(Fact("tried_alloc_gib", 15.0, "answered", written="15"))
    assert failed_row(answered) == failed_row(printed)


def test_rows_that_are_sent_to_several_experts_could_be_as_large(facts: Any) -> None:
    experts = Moe(experts=64, active=16, width=1024)
    sparse = replace(facts().model, moe=experts, intermediate=4096)
    widest = 2 * 16 * (1024 + 3072) * 16 * 3584 / GIB
    assert failed_row(_asked(facts, widest - 0.1, model=sparse, router_loss=False)) is None
    assert failed_row(_asked(facts, widest + 8, model=sparse, router_loss=False)) is not None
    assert failed_row(_asked(facts, widest + 8, model=sparse, router_loss=True)) is None


@pytest.mark.parametrize("size", ["11.6GiB", "11.59GiB", "11.59 GiB", "11870.00MiB"])
def test_a_size_is_read_with_and_without_a_blank_before_its_unit(size: str) -> None:
    paste = f"verl grpo qwen3-4b on 8xH200, ppo_max_token_len_per_gpu=40960, use_dynamic_bsz, update_actor OOM, Tried to allocate {size}"
    assert "the size of the logits of an update token budget" in to_markdown(diagnose(paste, {}, current(), ()))
