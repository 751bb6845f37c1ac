"""Rows, real lengths, budgets and images."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate.plan import make_plan
from diagnose.estimate.rows import UNKNOWN_PROMPT, image_tokens
from diagnose.estimate.terms_logits import logits_forward
from diagnose.estimate.tokens import Pass, take


def _update(facts: Any) -> Pass:
    plan, _ = make_plan(facts, None)
    assert plan is not None
    return take(plan, "update")


def test_stated_lengths_leave_no_band(facts: Any) -> None:
    one = _update(facts(real_prompt_length=200, real_response_length=800))
    assert one.tokens.exact
    assert one.tokens.mid == 8 * 1000


def test_a_micro_batch_of_prompts_takes_all_their_samples_at_once(facts: Any, record: Any) -> None:
    sequences, prompts = (_update(facts(record(micro_batch_of=of))) for of in ("sequences", "prompts"))
    assert prompts.rows == 8 * sequences.rows
    assert _update(facts(record(micro_batch_of="prompts"), algo="sft", rollout_n=None)).rows == sequences.rows


def test_padding_goes_to_the_limits_or_to_the_longest_row_of_the_pass(facts: Any, record: Any) -> None:
    known = {"remove_padding": False, "real_prompt_length": 100, "real_response_length": 300}
    limits, longest = (_update(facts(record(padded_to=to), **known)) for to in ("limits", "longest_row"))
    assert limits.row.mid == 4096
    assert longest.row.mid == 400
    unknown = [_update(facts(record(padded_to="longest_row"), remove_padding=padded)) for padded in (True, False)]
    assert unknown[0].row.mid < unknown[1].row.mid == 4096


def test_rows_of_a_data_set_that_are_padded_to_their_limit_are_as_long_as_that_whatever_they_hold(
    facts: Any, record: Any
) -> None:
    said, nothing = record(padded_to="limits"), {"prompt_length": None, "response_length": None}
    trains = {"algo": "sft", "micro_batch": 2, "real_response_length": 300, **nothing}
    limit, longest, packs = (
        _update(facts(known, **trains, max_length=2048, remove_padding=removed))
        for known, removed in ((said, None), (record(), None), (said, True))
    )
    assert limit.tokens.exact
    assert (limit.row.mid, limit.uneven) == (2048, False)
    assert longest.row.mid == packs.row.mid == 300
    assert not _update(facts(said, algo="sft", micro_batch=2, **nothing)).tokens.exact  # padded to nobody knows what


def test_every_text_of_a_row_is_a_sequence_and_all_of_them_together_need_no_more_than_a_row_at_the_limit(
    facts: Any, record: Any
) -> None:
    embeds = {"algo": "embedding", "micro_batch": 4, "max_length": 8192, "prompt_length": None, "response_length": None}
    one, two = (_update(facts(record(texts_of_row=of), **embeds)) for of in (1, 2))
    assert (one.rows, two.rows) == (4, 8)
    ranks = _update(facts(record(texts_of_row=8), **{**embeds, "algo": "reranker", "micro_batch": 1}))
    assert ranks.rows == 8
    assert ranks.row.mid < ranks.row.high == 8192


def test_negatives_are_sequences_beside_the_texts_that_each_row_has(facts: Any, record: Any) -> None:
    embeds = {"algo": "embedding", "micro_batch": 4, "max_length": 8192, "prompt_length": None, "response_length": None}
    assert _update(facts(record(texts_of_row=2), **embeds, negatives_of_row=3)).rows == 20
    assert _update(facts(record(), **{**embeds, "algo": "sft"}, negatives_of_row=3)).rows == 4


def test_an_unknown_answer_runs_from_half_its_mean_and_an_unknown_prompt_from_that_of_most_sets(facts: Any) -> None:
    one, share = _update(facts()), 0.4 + 0.6 / 8**0.5
    prompt, response = facts().values["prompt_length"], facts().values["response_length"]
    assert one.row.mid == pytest.approx(share * (prompt + response))
    assert one.row.low == pytest.approx(min(share * prompt / 2, UNKNOWN_PROMPT.mid) + share * response / 2)
    assert one.row.high == prompt + response == 4096


def test_many_rows_of_a_known_set_are_not_all_as_long_as_its_longest(facts: Any) -> None:
    known = {"real_prompt_length": 100, "longest_prompt_length": 500, "real_response_length": 800}
    few, many = (_update(facts(**known, micro_batch=rows)).row for rows in (1, 64))
    assert few.high == 1300
    assert (many.mid, many.high) == (950, 1000)


def test_the_usual_answer_of_public_runs_outranks_a_share_of_the_limit(facts: Any) -> None:
    one, many = (_update(facts(usual_response_length=300, real_prompt_length=100, micro_batch=n)) for n in (1, 64))
    assert 400 < many.row.mid < one.row.mid < 100 + 3 * 300
    assert many.row.low == 100 + 150
    assert many.row.high < 100 + 1.5 * 300


def test_an_answer_is_never_longer_than_its_limit(facts: Any) -> None:
    one = _update(facts(usual_response_length=300, real_prompt_length=100, response_length=200, micro_batch=8))
    assert (one.row.mid, one.row.high) == (300, 300)


def test_a_length_that_is_stated_outranks_the_usual_one(facts: Any) -> None:
    one = _update(facts(usual_response_length=300, real_prompt_length=100, real_response_length=700))
    assert one.row.mid == 800


def test_a_single_row_may_reach_its_limit(facts: Any) -> None:
    assert _update(facts(micro_batch=1)).row.mid == 4096


def test_padded_rows_measure_their_limit(facts: Any) -> None:
    one = _update(facts(remove_padding=False, real_response_length=10))
    assert one.tokens.exact
    assert one.tokens.mid == 8 * 4096


def test_padded_rows_without_a_limit_of_the_prompt_hold_its_images(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, prompt_length=None, remove_padding=False, max_pixels=602_112))
    assert one.row.mid == 4096 - 1024 + 602_112 / 784 + UNKNOWN_PROMPT.mid


def test_sequence_parallel_ranks_share_the_tokens(facts: Any) -> None:
    whole, split = (_update(facts(sp=sp, real_prompt_length=200, real_response_length=800)) for sp in (1, 2))
    assert split.tokens.mid == whole.tokens.mid / 2


def test_a_token_budget_is_what_one_pass_takes(facts: Any) -> None:
    assert _update(facts(dynamic_batch=True, micro_tokens=8192)).tokens.mid == 8192


def test_rows_that_are_filled_are_split_as_well_and_a_stated_budget_is_one_gpus_own(facts: Any) -> None:
    packed = {"algo": "sft", "dynamic_batch": True, "micro_batch": 1, "max_length": 65536, "response_length": None}
    assert _update(facts(**packed, prompt_length=None, sp=8)).tokens.mid == 65536 / 8
    assert _update(facts(dynamic_batch=True, micro_tokens=16384, sp=8)).tokens.mid == 16384


def test_a_gpu_that_holds_less_than_the_budget_takes_it_all_at_once(facts: Any) -> None:
    run = facts(
        dynamic_batch=True, micro_tokens=1_000_000, mini_batch_size=8, real_prompt_length=100, real_response_length=400
    )
    assert _update(run).tokens.mid == 8 * 500


def test_pretraining_rows_are_full(facts: Any) -> None:
    run = facts(algo="pretrain", max_length=4096, prompt_length=None, response_length=None)
    assert _update(run).tokens.mid == 8 * 4096


def test_unknown_sizes_are_named(facts: Any) -> None:
    one = _update(facts(micro_batch=None, prompt_length=None, response_length=None))
    assert one.missing == ("micro_batch", "response_length")


def test_images_never_outgrow_the_prompt_that_holds_them(facts: Any, vision_model: Any) -> None:
    plan, _ = make_plan(facts(model=vision_model, max_pixels=4_194_304), None)
    assert plan is not None
    assert image_tokens(plan, 1).high <= 1024


def test_a_text_model_sees_no_images(facts: Any) -> None:
    plan, _ = make_plan(facts(max_pixels=4_194_304), None)
    assert plan is not None
    assert image_tokens(plan, 1).high == 0


ROWS = {
    "algo": "sft", "max_length": 8192, "prompt_length": None, "response_length": None, "real_response_length": 100,
    "longest_response_length": 300, "image_pixels": 307_200,
}  # fmt: skip


def test_images_stand_beside_the_counted_text_of_a_row(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, micro_batch=1, **ROWS))
    photograph = 640 * 480 / 784
    assert one.row.low == pytest.approx(100 + photograph / 4)
    assert one.row.mid == one.row.high == pytest.approx(300 + 4 * photograph)


def test_the_largest_of_a_few_images_is_no_more_than_twice_as_large(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, micro_batch=1, longest_met_length=200, **ROWS))
    assert one.row.mid == pytest.approx(200 + 2 * 640 * 480 / 784)
    assert one.row.high == pytest.approx(300 + 4 * 640 * 480 / 784)


def test_a_set_may_tell_its_largest_image(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, micro_batch=1, largest_image_pixels=409_600, **ROWS))
    assert one.row.mid == pytest.approx(300 + 640 * 640 / 784)


def test_many_rows_hold_images_of_usual_size(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, micro_batch=64, **ROWS))
    usual = 100 + 640 * 480 / 784
    longest = 300 + 4 * 640 * 480 / 784
    assert one.row.mid == pytest.approx(usual + (longest - usual) / 8)


def test_a_limit_of_pixels_bounds_every_image(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, micro_batch=1, max_pixels=78_400, **ROWS))
    assert one.row.high == pytest.approx(300 + 100)


def test_the_limit_of_a_row_bounds_text_and_images(facts: Any, vision_model: Any) -> None:
    assert _update(facts(model=vision_model, micro_batch=1, **{**ROWS, "max_length": 512})).row.high == 512


def test_without_a_limit_the_longest_text_and_the_largest_image_bound_a_row(facts: Any, vision_model: Any) -> None:
    one = _update(facts(model=vision_model, micro_batch=1, max_pixels=784_000, **{**ROWS, "max_length": None}))
    assert one.row.high == pytest.approx(300 + 1000)


def test_a_model_without_a_known_tower_counts_patches_of_28(facts: Any) -> None:
    assert _update(facts(micro_batch=1, **ROWS)).row.high == pytest.approx(300 + 4 * 640 * 480 / 784)


def test_a_model_that_reads_no_images_skips_them(facts: Any) -> None:
    assert _update(facts(micro_batch=1, multimodal=False, **ROWS)).row.high == 300


def test_the_copies_of_one_row_are_those_of_the_longest_however_many_rows_there_are(facts: Any, record: Any) -> None:
    by_row = record(loss_by_row="yes")
    for pack in ({}, {"dynamic_batch": True, "micro_tokens": 16_384}):
        rows = []
        for n in (1, 64):
            plan, _ = make_plan(facts(by_row, micro_batch=n, rollout_n=n, **pack), None)
            assert plan is not None
            rows += [term.bytes for term in logits_forward(plan, take(plan, "update")) if term.id == "logits_row"]
        assert rows[0] == rows[1] == 4 * 4096 * plan.model.vocab
