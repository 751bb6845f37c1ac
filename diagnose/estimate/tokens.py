"""How many tokens one GPU takes in one pass: rows times real length, or the token budget, divided by sequence parallelism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from diagnose.batch import rows_held, whole
from diagnose.estimate.once import once
from diagnose.estimate.plan import FILLED, PAIRED, Plan
from diagnose.estimate.rows import LONGEST, longest_of_set, longest_row, real_row, row_limit
from diagnose.estimate.shown import shows_images
from diagnose.estimate.term import Band, counts, exactly
from diagnose.estimate.terms_held import held_bytes

_UNKNOWN_ROWS = Band(1, 1, 8)


class Pass(NamedTuple):
    """One forward pass on one GPU. ``row`` is the length of a row before it is split; ``response`` is the share of
    its tokens that have logits; ``answers`` that of responses.

    ``uneven``: whether rows of one pass are longer than those of another; None where that is not known.
    """

    tokens: Band
    rows: float
    row: Band
    response: float
    how: str
    moved_by: tuple[str, ...]
    missing: tuple[str, ...] = ()
    packed: bool = False
    uneven: bool | None = False
    answers: float = 1.0


@dataclass(frozen=True, slots=True)
class _Kind:
    """The facts that size a pass, the first that is known before the others; ``prompts`` is how many the pass is cut from."""

    rows: tuple[str, ...]
    budgets: tuple[str, ...]
    prompts: str


_KINDS = {
    "update": _Kind(("micro_batch",), ("micro_tokens",), "mini_batch_size"),
    "logprob": _Kind(("logprob_micro_batch", "micro_batch"), ("logprob_tokens", "micro_tokens"), "train_batch_size"),
    "ref": _Kind(
        ("ref_logprob_micro_batch", "logprob_micro_batch", "micro_batch"),
        ("ref_logprob_tokens", "logprob_tokens", "micro_tokens"),
        "train_batch_size",
    ),
    "values": _Kind(
        ("values_micro_batch", "critic_micro_batch", "micro_batch"),
        ("values_tokens", "critic_tokens", "micro_tokens"),
        "train_batch_size",
    ),
    "critic": _Kind(("critic_micro_batch", "micro_batch"), ("critic_tokens", "micro_tokens"), "mini_batch_size"),
    "eval": _Kind(("eval_micro_batch", "micro_batch"), ("eval_micro_batch", "micro_tokens"), "val_batch_size"),
}


@once
def take(plan: Plan, kind: str) -> Pass:
    """The pass of ``update``, ``logprob``, ``ref``, ``values``, ``critic`` or ``eval``."""
    if kind == "values" and plan.does.get("scored_rows") == "logprob_micro_batch":
        kind = "logprob"
    own = _KINDS[kind]
    rows_id = next((id for id in own.rows if id in plan.values), own.rows[-1])
    budget_id = next((id for id in own.budgets if id in plan.values), own.budgets[-1])
    if _packs(plan, kind):
        return _packed(plan, rows_id, budget_id, own.prompts)
    return _by_rows(plan, rows_id)


def _packs(plan: Plan, kind: str) -> bool:
    """Whether a pass is filled up by tokens; passes of log-probs may have a switch of their own."""
    if plan.does.get("dynamic_length") == "packed" or plan.values.get("packed_rows") is True:
        return True
    own = plan.values.get("logprob_dynamic_batch") if kind in ("logprob", "ref") else None
    return (plan.values.get("dynamic_batch") if own is None else own) is True


@once
def _by_rows(plan: Plan, rows_id: str) -> Pass:
    prompt_limit, response_limit = row_limit(plan)
    missing: tuple[str, ...] = () if rows_id in plan.values else (rows_id,)
    if response_limit is None:
        missing += ("response_length",) if plan.online else ("max_length",)
    stated = _whole_prompts(plan, whole(plan.values, rows_id))
    rows = (exactly(stated) if stated else _UNKNOWN_ROWS).times(_sequences_of_one(plan) / _parts(plan))
    if stated and plan.online and plan.does.get("rows_at_once") == "by_free_memory":
        rows = _by_free_memory(plan, stated, (prompt_limit or 0) + (response_limit or 0))
    padded = filled(plan) and _to_limits(plan)
    prompt, response = real_row(plan, rows_drawn(plan, rows.mid), plan.whole(rows_id) * _texts_of_row(plan))
    if padded and prompt_limit is not None and response_limit is not None:
        # images at least are known of prompts without a limit
        prompt, response = exactly(prompt_limit) if prompt_limit else prompt, exactly(response_limit)
    row = Band(prompt.low + response.low, prompt.mid + response.mid, prompt.high + response.high)
    sp, several = plan.whole("sp"), f"{counts(rows)} row{'' if rows.high == 1 else 's'}"
    return Pass(
        tokens=Band(rows.low * row.low / sp, rows.mid * row.mid / sp, rows.high * row.high / sp),
        rows=rows.mid,
        row=row,
        response=_response_share(plan, prompt.mid, response.mid, max(1.0, rows.mid)),
        answers=_answers(prompt.mid, response.mid),
        how=f"{several} × {counts(row)} tokens{' padded' if padded else ''}{f' ÷ {sp}' if sp > 1 else ''}",
        moved_by=_moved_by(rows_id, padded),
        missing=missing,
        uneven=not padded and _uneven(plan, row, response),
    )


def filled(plan: Plan) -> bool:
    """Whether the shorter rows of a pass are padded."""
    removes = plan.values.get("remove_padding")
    return removes is False if plan.online else removes is not True


def rows_drawn(plan: Plan, rows: float) -> float:
    """Of how many rows a pass is as long as the mean: one that is padded is as long in each as its longest, as a single row is."""
    return 1.0 if filled(plan) else rows


def _to_limits(plan: Plan) -> bool:
    """Whether padded rows are as long as the limit: generated ones unless it is said otherwise, a data set's where a limit is known."""
    told = plan.does.get("padded_to")
    if plan.online:
        return told != "longest_row"
    return told == "limits" and bool(whole(plan.values, "max_length") or whole(plan.values, "response_length"))


def _sequences_of_one(plan: Plan) -> int:
    """Sequences for each that a micro batch counts: two of a pair, a row's texts, all samples of a prompt where prompts are counted."""
    if plan.online and plan.does.get("micro_batch_of") == "prompts":
        return plan.whole("rollout_n")
    return 2 if plan.algo in PAIRED else _texts_of_row(plan)


def _whole_prompts(plan: Plan, rows: int | None) -> int | None:
    """The rows of a pass, or all samples of a prompt where the rows of a step are no multiple of those and the trainer then takes them.

    (unslothai/unsloth@015bdef unsloth/models/rl.py: check_num_generations)
    """
    group, steps = plan.whole("rollout_n"), plan.whole("gradient_accumulation")
    raised = plan.online and plan.does.get("micro_batch_of") == "whole_prompts"
    return group if rows and raised and rows * steps * plan.gpus % group else rows


def _by_free_memory(plan: Plan, rows: int, length: int) -> Band:
    """Rows of one pass where the trainer cuts an update by the memory that is free; high: all, as before it did so.

    The middle leaves an engine that is awake out of account, so that what it would give back is not at once taken up by more rows.
    """
    if plan.capacity is None:
        return Band(1, rows, rows)
    stays = held_bytes(plan, "actor_update")
    awake = "kv_pool" in plan.holds("actor_update", "gpu")
    engine = (plan.number("gpu_memory_utilization") or 0.0) * plan.capacity if awake else 0.0
    few, many = (
        rows_that_fit(rows, length, hidden=plan.model.hidden, vocab=plan.model.vocab, free=plan.capacity - taken)
        for taken in (max(stays, engine), stays)
    )
    return Band(few, many, rows)


def rows_that_fit(rows: int, length: int, *, hidden: int, vocab: int, free: float) -> int:
    """Rows of ``length`` tokens in each of the parts into which an update over ``rows`` is cut with ``free`` bytes.

    unslothai/unsloth-zoo@ce232d6 unsloth_zoo/rl_replacements.py: autotune_batch_and_chunks, whose 16 of a half word counts bits as bytes.
    """
    chunks = max(4, length // 4096)
    fits = (n for n in range(rows, 0, -1) if n * length * 16 * (hidden + n / rows * vocab / chunks) <= 0.8 * free)
    return math.ceil(rows / max(1, rows // next(fits, 4)))


def _texts_of_row(plan: Plan) -> int:
    """Texts that one row of the data holds beside each other, each a sequence of its own, its negatives among them."""
    texts = plan.number("texts_of_row")
    return int(texts) + (whole(plan.values, "negatives_of_row") or 0) if texts else 1


def _uneven(plan: Plan, row: Band, response: Band) -> bool | None:
    """Generated rows end where they end; rows of a data set differ, unless most are cut at the limit and not dropped above it."""
    if plan.online and filled(plan) and response.mid == response.high and not shows_images(plan):
        return False if row.exact else None  # one answer at its limit makes a pass as long as any: so may they all be
    if plan.online or plan.algo in FILLED:
        return plan.online and not row.exact
    longest = max((whole(plan.values, id) or 0 for id in LONGEST.values() if id not in plan.assumed), default=0)
    if not longest:
        return False if row.exact else None
    return not row.exact or (longest > row.high and plan.does.get("long_rows") == "dropped")


def _parts(plan: Plan) -> int:
    """Pipeline micro batches that a GPU's rows are cut into.

    Megatron's micro batch is what one stage takes at a time; elsewhere the rows of a GPU are cut into at least one part a stage
    (torch 2.6 distributed/pipelining/schedules.py: fewer micro batches than stages are refused).
    """
    stages = 1 if plan.values.get("strategy") == "megatron" else plan.whole("pp")
    return min(stages, plan.whole("micro_batch"))


@once
def _packed(plan: Plan, rows_id: str, budget_id: str, prompts_id: str) -> Pass:
    """Micro batches filled up to a budget; a GPU that holds fewer tokens than the budget takes them all at once.

    A budget that is stated is one GPU's own. Rows that are filled up to their limit are split like any others.
    """
    prompt_limit, response_limit = row_limit(plan)
    longest = (prompt_limit or 0) + (response_limit or 0)
    filled = max(longest, plan.whole("max_length")) if plan.online and plan.values.get("packed_rows") else longest
    budget = whole(plan.values, budget_id) or math.ceil(filled * plan.whole(rows_id) / plan.whole("sp"))
    if not budget:
        return _by_rows(plan, rows_id)
    held = rows_held(plan.values, prompts_id)
    prompt, response = real_row(plan, held or max(1.0, budget / max(1, longest)))
    row = Band(prompt.low + response.low, prompt.mid + response.mid, prompt.high + response.high)
    tokens = _pairs_beside(plan, budget, longest) if plan.algo in PAIRED and not plan.online else exactly(budget)
    if held and plan.online and plan.does.get("dynamic_length") != "packed":
        whole_batch = row.times(held / plan.whole("sp"))
        # of rows whose length is guessed nobody knows whether they fill one part more
        evenly = row.exact and plan.does.get("dynamic_parts") == "even"
        tokens = whole_batch.in_parts(budget) if evenly else whole_batch.at_most(budget)
    tokens = _with_row_alone(plan, tokens)
    return Pass(
        tokens=tokens,
        rows=max(1.0, tokens.mid / max(1.0, row.mid)),
        row=row,
        response=_response_share(plan, prompt.mid, response.mid, 1.0),
        answers=_answers(prompt.mid, response.mid),
        how=f"{counts(tokens)} tokens packed",
        moved_by=_moved_by(budget_id if budget_id in plan.values else rows_id, False),
        packed=True,
        uneven=plan.online,
    )


def _with_row_alone(plan: Plan, tokens: Band) -> Band:
    """The same, or the longest row where that makes a pass of its own however small the budget is."""
    if plan.does.get("row_beyond_budget") != "alone" or not plan.online or not longest_row(plan):
        return tokens
    prompt, response = real_row(plan, 1.0)
    row = Band(prompt.low + response.low, prompt.mid + response.mid, prompt.high + response.high)
    return Band(*(max(pair) for pair in zip(tokens, row.times(1 / plan.whole("sp")), strict=True)))


def _pairs_beside(plan: Plan, budget: int, limit: int) -> Band:
    """The budget, or the longest pair: two rows that are packed as one, and alone where they do not fit beside others.

    modelscope/ms-swift swift/dataset/packing.py at 3602360: the lengths of chosen and rejected are added up, and a bin of
    ``binpacking.to_constant_volume`` takes an item that is larger than its volume.
    """
    longest = whole(plan.values, LONGEST["real_response_length"])
    row, most = min(limit, longest or longest_of_set(limit)), min(limit, longest or limit)
    pair = 2 / plan.whole("sp")
    return Band(budget, max(budget, pair * row), max(budget, pair * most))


def _response_share(plan: Plan, prompt: float, response: float, rows: float) -> float:
    """The share of a pass's tokens that have logits.

    Of a data set's rows beside each other what follows the shortest of their prompts, which is taken to lie so far below the mean as
    the longest lies above it, or of each row what follows its own; where nobody tells how long prompts are, all.
    """
    told, row = plan.does.get("logits_rows"), prompt + response
    if told == "response" and plan.online:
        return _answers(prompt, response)
    by_row = told == "each_answer"
    if not (by_row or told == "answers") or plan.online or plan.algo in FILLED or "real_prompt_length" in plan.assumed:
        return 1.0
    asked = (whole(plan.values, "real_prompt_length") or 0) / math.sqrt(rows if filled(plan) and not by_row else 1.0)
    return 1 - asked / row if asked < row else 1.0


def _answers(prompt: float, response: float) -> float:
    return response / (prompt + response) if prompt + response else 1.0


def _moved_by(size_id: str, padded: bool) -> tuple[str, ...]:
    lengths = ("prompt_length", "response_length", "max_length", "max_turns", "max_pixels", "image_tiles", "sp")
    real = ("remove_padding",) if padded else ("real_prompt_length", "real_response_length")
    return (size_id, *real, *lengths)
