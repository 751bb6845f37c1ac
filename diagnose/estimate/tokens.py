"""How many tokens one GPU takes in one pass: rows times real length, or the token budget, divided by sequence parallelism.

Real lengths are what decides and what a configuration does not hold. Where they are unknown a row is taken to measure 0.4 of its
limit on average, and the fewer rows a pass has the nearer its mean may come to the limit: limit x (m + (1 - m) / sqrt(rows)).
The band runs from half of that to the limit. A padded batch is as long in every row as its longest, so that it counts like one row.

Where a data set is trained on as it is, the limit says little: of 101 text data sets for training half have a longest row under 2,000
tokens, and half a mean under 250 (table in ms-swift docs/source_en/Instruction/Supported-models-and-datasets.md at 3602360).
A limit above that says that longer rows are expected, not that there are any: the middle between both, on a logarithmic scale, is
taken. The band runs from the lower quartiles of the table to the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from diagnose.batch import rows_held, whole
from diagnose.estimate.plan import FILLED, PAIRED, Plan
from diagnose.estimate.term import Band, counts, exactly

MEAN_SHARE = 0.4
# mean and longest row of a text data set in tokens: lower quartile, median and upper decile of that table
_SET_MEAN, _SET_LONGEST = Band(118, 242, 1081), Band(801, 1971, 19288)
_LONGEST = {"real_prompt_length": "longest_prompt_length", "real_response_length": "longest_response_length"}
# Of one set the largest images have twice the pixels of usual ones; those of another set may have a quarter or four times as many.
_LARGEST, _OTHER_SETS = 2, 4
_PIXELS_PER_TOKEN = 784  # of a model whose tower is not known: patches of 14 joined by 2 x 2, as in Qwen2-VL
# Deviation of one answer as a share of the mean: 0.34 and 0.43 in two public logs on one data set; the mean of a step lay between 0.9
# and 1.2 of a run's mean, and that of another model at half (content/datasets/gsm8k.md). The worst of a thousand passes lies 3 off.
_SAMPLED_SPREAD, _SAMPLED_LOW, _SAMPLED_HIGH, _WORST = 0.43, 0.5, 1.25, 3.0
_UNKNOWN_ROWS = Band(1, 1, 8)
_UNKNOWN_LIMIT = Band(512, 2048, 8192)
_MERGED_PATCHES = (
    4  # a vision tower of this kind joins 2 x 2 patches into one token (Qwen2-VL, arXiv:2409.12191, section 2.1)
)


class Pass(NamedTuple):
    """One forward pass on one GPU. ``row`` is the length of a row before it is split; ``response`` its share of response tokens.

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


@dataclass(frozen=True, slots=True)
class _Kind:
    rows: str
    budget: str
    prompts: str


_KINDS = {
    "update": _Kind("micro_batch", "micro_tokens", "mini_batch_size"),
    "logprob": _Kind("logprob_micro_batch", "logprob_tokens", "train_batch_size"),
    "critic": _Kind("critic_micro_batch", "critic_tokens", "mini_batch_size"),
}


def take(plan: Plan, kind: str) -> Pass:
    """The pass of ``update``, ``logprob`` or ``critic``; the last two follow the update where nothing sets them."""
    own, update = _KINDS[kind], _KINDS["update"]
    rows_id = own.rows if own.rows in plan.values else update.rows
    budget_id = own.budget if own.budget in plan.values else update.budget
    if plan.does.get("dynamic_length") == "packed" or plan.values.get("dynamic_batch") is True:
        return _packed(plan, rows_id, budget_id, own.prompts)
    return _by_rows(plan, rows_id)


def row_limit(plan: Plan) -> tuple[int | None, int | None]:
    """Limits of prompt and response in tokens; a limit of the whole row stands with the response.

    Where nothing limits them the longest of the data does.
    """
    prompt, response = whole(plan.values, "prompt_length"), whole(plan.values, "response_length")
    longest, start = whole(plan.values, "max_length"), whole(plan.values, "start_length")
    if plan.does.get("dynamic_length") == "start_and_prompt" and start and prompt:
        return start, prompt
    if prompt and response:
        return prompt, response
    if longest and response and plan.online:
        return max(0, longest - response) or longest, response
    if plan.online and not longest and response:
        return whole(plan.values, "longest_prompt_length") or 0, response
    longest = longest or response
    if not longest and (counted := whole(plan.values, "longest_response_length")):
        longest = counted + math.ceil(_beside(plan).high)
    return (0, longest) if longest else (None, None)


def real_row(plan: Plan, rows: float, together: float = 0) -> tuple[Band, Band]:
    """Real lengths of prompt and response in tokens, as a mean over ``rows`` rows of one pass. Images count as tokens.

    ``together`` counts the rows of a pass where the longest of them stands for all.
    """
    prompt_limit, response_limit = row_limit(plan)
    if prompt_limit is None or response_limit is None:
        return exactly(0), _UNKNOWN_LIMIT
    if not prompt_limit and plan.online:  # images at least are known of prompts without a limit
        return _shown(plan), _real(plan, "real_response_length", response_limit, rows, together or rows)
    prompt = _real(plan, "real_prompt_length", prompt_limit, rows, together or rows)
    return prompt, _real(plan, "real_response_length", response_limit, rows, together or rows)


def image_pixels(plan: Plan) -> float:
    """Most pixels of the images of one prompt, 0 where the run's prompts hold none as far as is known."""
    pixels, images = whole(plan.values, "max_pixels"), plan.values.get("images_per_prompt")
    if not plan.model.vision or not pixels:
        return 0.0
    return pixels * (float(images) if isinstance(images, (int, float)) else 1.0)


def _beside(plan: Plan) -> Band:
    """Tokens of the images that stand beside the counted text of a row: of small ones, of usual ones, of the largest."""
    usual, most = whole(plan.values, "image_pixels"), whole(plan.values, "max_pixels")
    if not usual or plan.values.get("multimodal") is False:
        return exactly(0)
    largest = min(most or _OTHER_SETS * usual, _OTHER_SETS * usual)
    each = plan.model.vision.pixels_per_token if plan.model.vision else _PIXELS_PER_TOKEN
    images = max(1, whole(plan.values, "images_per_prompt") or 1)
    return Band(usual / _OTHER_SETS, usual, largest).at_most(largest).times(images / each)


def _shown(plan: Plan) -> Band:
    """Tokens of the largest images that a prompt may hold; half of them at least, since images come in all sizes."""
    most = image_pixels(plan) / plan.model.vision.pixels_per_token if plan.model.vision else 0.0
    return Band(0.5 * most, most, most)


def image_tokens(plan: Plan, rows: float) -> Band:
    """Tokens that the images of one prompt become, as a mean over ``rows``; the prompt that holds them bounds them."""
    beside = _beside(plan)
    if beside.mid:
        return _worst_of_many(exactly(0), beside, rows)
    most = image_pixels(plan) / plan.model.vision.pixels_per_token if plan.model.vision else 0.0
    if not most:
        return exactly(0)
    prompt, response = real_row(plan, rows)
    room = prompt if prompt.high else response
    return Band(min(room.low, most * 0.5 * MEAN_SHARE), min(room.mid, most * _mean_share(rows)), min(room.high, most))


def image_patches(plan: Plan, rows: float) -> Band:
    """Patches that the vision tower reads for one prompt."""
    return image_tokens(plan, rows).times(_MERGED_PATCHES)


def _real(plan: Plan, id: str, limit: int, rows: float, together: float) -> Band:
    known, longest = whole(plan.values, id), whole(plan.values, _LONGEST[id])
    if known and id not in plan.assumed:
        images = _beside(plan) if _holds_images(plan, id) else exactly(0)
        text = Band(known, known, max(known, longest or 0))
        return _worst_of_many(text, images, rows).at_most(limit)
    limit = min(limit, longest or limit)
    usual = whole(plan.values, "usual_response_length") if id == "real_response_length" and plan.online else None
    if usual:
        return _sampled(usual, limit, rows)
    if plan.algo in FILLED:
        return exactly(limit)
    if not plan.online:
        return _of_data_set(limit, rows, together)
    mean = limit * _mean_share(rows)
    return Band(0.5 * mean, mean, float(limit))


def _worst_of_many(text: Band, images: Band, rows: float) -> Band:
    """The mean of ``rows`` rows of many passes: the fewer rows a pass has, the nearer to the longest text with the largest image."""
    mean, longest = text.mid + images.mid, text.high + min(_LARGEST * images.mid, images.high)
    mid = mean + (longest - mean) / math.sqrt(max(1.0, rows))
    return Band(text.low + images.low, mid, text.high + images.high)


def _holds_images(plan: Plan, id: str) -> bool:
    """Whether the images of a row stand on this side of it: with the prompt, where the two sides are apart."""
    return id == "real_prompt_length" or not (plan.online or row_limit(plan)[0])


def _sampled(usual: int, limit: int, rows: float) -> Band:
    """The mean of ``rows`` answers at the worst of many passes, where public runs tell how long a model usually answers.

    Another model or another week of training answers up to half as long again, or half as long; all rows of a pass at once only so far.
    """
    above = _WORST * _SAMPLED_SPREAD / math.sqrt(max(1.0, rows))
    shares = Band(_SAMPLED_LOW, 1 + above, _SAMPLED_HIGH + above)
    return shares.times(usual).at_most(limit)


def _of_data_set(limit: int, rows: float, together: float) -> Band:
    """The mean of ``rows`` rows of a data set of which nothing is known, at the worst of many passes.

    One row a pass is what long rows leave room for: its longest is taken at the limit. Where several fit their longest lies below, but
    all of them together need no less than that one.
    """
    low_mean, low_longest = min(limit, _SET_MEAN.low), min(limit, _SET_LONGEST.low)
    mean = _between(_SET_MEAN.mid, MEAN_SHARE * limit)
    longest = limit if together <= 1 else max(_between(_SET_LONGEST.mid, limit), limit / math.sqrt(together))
    root = math.sqrt(max(1.0, rows))
    mid = max(mean + (longest - mean) / root, limit / max(1.0, together))
    return Band(low_mean + (low_longest - low_mean) / root, mid, limit)


def _between(known: float, allowed: float) -> float:
    """What is allowed where that is less than ``known``, else the geometric mean of both."""
    return min(allowed, math.sqrt(known * allowed))


def _mean_share(rows: float) -> float:
    """The expected mean of ``rows`` rows as a share of the limit."""
    return MEAN_SHARE + (1 - MEAN_SHARE) / math.sqrt(max(1.0, rows))


def _by_rows(plan: Plan, rows_id: str) -> Pass:
    prompt_limit, response_limit = row_limit(plan)
    missing: tuple[str, ...] = () if rows_id in plan.values else (rows_id,)
    if response_limit is None:
        missing += ("response_length",) if plan.online else ("max_length",)
    stated = whole(plan.values, rows_id)
    rows = (exactly(stated) if stated else _UNKNOWN_ROWS).times(_sequences_of_one(plan) / _parts(plan))
    # A batch that is padded is as long as its longest row in every row, as a single row is.
    longest = not plan.online and plan.values.get("remove_padding") is not True
    prompt, response = real_row(plan, 1.0 if longest else rows.mid, plan.whole(rows_id))
    padded = plan.online and plan.values.get("remove_padding") is False
    if padded and prompt_limit is not None and response_limit is not None:
        prompt, response = exactly(prompt_limit), exactly(response_limit)
    row = Band(prompt.low + response.low, prompt.mid + response.mid, prompt.high + response.high)
    sp, several = plan.whole("sp"), f"{counts(rows)} row{'' if rows.high == 1 else 's'}"
    return Pass(
        tokens=Band(rows.low * row.low / sp, rows.mid * row.mid / sp, rows.high * row.high / sp),
        rows=rows.mid,
        row=row,
        response=_response_share(plan, prompt.mid, response.mid),
        how=f"{several} × {counts(row)} tokens{' padded' if padded else ''}{f' ÷ {sp}' if sp > 1 else ''}",
        moved_by=_moved_by(rows_id, padded),
        missing=missing,
        uneven=not padded and _uneven(plan, row),
    )


def _sequences_of_one(plan: Plan) -> int:
    """Sequences for each that a micro batch counts: two of a pair, all samples of a prompt where prompts are counted."""
    if plan.online and plan.does.get("micro_batch_of") == "prompts":
        return plan.whole("rollout_n")
    return 2 if plan.algo in PAIRED else 1


def _uneven(plan: Plan, row: Band) -> bool | None:
    """Generated rows end where they end; rows of a data set differ, unless most are cut at the limit and not dropped above it."""
    if plan.online or plan.algo in FILLED:
        return plan.online and not row.exact
    longest = max((whole(plan.values, id) or 0 for id in _LONGEST.values() if id not in plan.assumed), default=0)
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


def _packed(plan: Plan, rows_id: str, budget_id: str, prompts_id: str) -> Pass:
    """Micro batches filled up to a budget; a GPU that holds fewer tokens than the budget takes them all at once."""
    prompt_limit, response_limit = row_limit(plan)
    longest = (prompt_limit or 0) + (response_limit or 0)
    budget = whole(plan.values, budget_id)
    if not budget and longest:
        budget = longest * plan.whole(rows_id)
    if not budget:
        return _by_rows(plan, rows_id)
    held = rows_held(plan.values, prompts_id)
    prompt, response = real_row(plan, held or max(1.0, budget / max(1, longest)))
    row = Band(prompt.low + response.low, prompt.mid + response.mid, prompt.high + response.high)
    tokens = _pairs_beside(plan, budget, longest) if plan.algo in PAIRED and not plan.online else exactly(budget)
    if held and plan.online and plan.does.get("dynamic_length") != "packed":
        tokens = row.times(held / plan.whole("sp")).at_most(budget)
    return Pass(
        tokens=tokens,
        rows=max(1.0, tokens.mid / max(1.0, row.mid)),
        row=row,
        response=_response_share(plan, prompt.mid, response.mid),
        how=f"{counts(tokens)} tokens packed",
        moved_by=_moved_by(budget_id if budget_id in plan.values else rows_id, False),
        packed=True,
        uneven=plan.online,
    )


def _pairs_beside(plan: Plan, budget: int, limit: int) -> Band:
    """The budget, or the longest pair: two rows that are packed as one, and alone where they do not fit beside others.

    modelscope/ms-swift swift/dataset/packing.py at 3602360: the lengths of chosen and rejected are added up, and a bin of
    ``binpacking.to_constant_volume`` takes an item that is larger than its volume.
    """
    longest = whole(plan.values, _LONGEST["real_response_length"])
    row = min(limit, longest or (_between(_SET_LONGEST.mid, limit)))
    return Band(budget, max(budget, 2 * row), max(budget, 2 * min(limit, longest or limit)))


def _response_share(plan: Plan, prompt: float, response: float) -> float:
    if not plan.online or plan.does.get("logits_rows") != "response" or not prompt + response:
        return 1.0
    return response / (prompt + response)


def _moved_by(size_id: str, padded: bool) -> tuple[str, ...]:
    lengths = ("prompt_length", "response_length", "max_length", "max_pixels", "sp")
    real = ("remove_padding",) if padded else ("real_prompt_length", "real_response_length")
    return (size_id, *real, *lengths)
