"""How long the rows of a run really are, images included, as a mean over the rows of one pass.

Real lengths are what decides and what a configuration does not hold. Where they are unknown a row is taken to measure 0.4 of its
limit on average, and the fewer rows a pass has the nearer its mean may come to the limit: limit x (m + (1 - m) / sqrt(rows)).
The band runs from half of that to the limit. A prompt that a default alone limits is taken to measure what those of most sets do. A padded
batch is as long in every row as its longest, so that it counts like one row.

Where a data set is trained on as it is, the limit says little: of 101 text data sets for training half have a longest row under 2,000
tokens, and half a mean under 250 (table in ms-swift docs/source_en/Instruction/Supported-models-and-datasets.md at 3602360).
A limit above that says that longer rows are expected, not that there are any: the middle between both, on a logarithmic scale, is
taken. The band runs from the lower quartiles of the table to the limit.
"""

from __future__ import annotations

import math

from diagnose.batch import rows_met, whole
from diagnose.estimate.once import once
from diagnose.estimate.plan import FILLED, Plan
from diagnose.estimate.shown import images_beside, images_shown, images_taken, most_shown, shows_images, video_tokens
from diagnose.estimate.term import Band, exactly
from diagnose.estimate.turns import of_turns
from diagnose.knowledge.dataset import longest_drawn
from diagnose.types import FailedRow

MEAN_SHARE = 0.4
# mean and longest row of a text data set in tokens: lower quartile, median and upper decile of that table
SET_MEAN, SET_LONGEST = Band(118, 242, 1081), Band(801, 1971, 19288)
# deviation of the lengths of one set as a share of their mean: the median of the 86 text data sets of that table
SET_DEVIATION = 0.53
LONGEST = {"real_prompt_length": "longest_prompt_length", "real_response_length": "longest_response_length"}
_LARGEST_OF_FEW = 2  # the largest image of a few rows has so many times the pixels of a usual one
_AT_MOST = 2.0  # so many times as far above a known mean as the worst of many passes is taken
# Deviation of one answer as a share of the mean: 0.34 and 0.43 in two public logs on one data set; the mean of a step lay between 0.9
# and 1.2 of a run's mean, and that of another model at half (content/datasets/gsm8k.md). The worst of a thousand passes lies 3 off.
_SAMPLED_SPREAD, _SAMPLED_LOW, _SAMPLED_HIGH, _WORST = 0.43, 0.5, 1.25, 3.0
_UNKNOWN_LIMIT = Band(512, 2048, 8192)
# Of a prompt that nothing limits and no data set tells: lower decile, median and upper decile of the means of the 34 sets of prompts in
# content/datasets.
UNKNOWN_PROMPT = Band(49, 115, 569)
_MERGED_PATCHES = (
    4  # a vision tower of this kind joins 2 x 2 patches into one token (Qwen2-VL, arXiv:2409.12191, section 2.1)
)


@once
def row_limit(plan: Plan) -> tuple[int | None, int | None]:
    """Limits of prompt and response in tokens; a limit of the whole row stands with the response.

    Where nothing limits them the longest of the data does, or the length that somebody tells.
    """
    prompt, response = whole(plan.values, "prompt_length"), whole(plan.values, "response_length")
    longest = whole(plan.values, "max_length")
    if plan.online and (told := of_turns(plan, prompt or 0, response or 0)):
        return told
    # a prompt that may fill the row but for one token has no limit of its own
    of_row = plan.online and longest is not None and prompt in (longest - 1, longest)
    if prompt and response and not (of_row and "max_length" not in plan.defaults | plan.assumed):
        return prompt, response
    if longest and response and plan.online:
        beside = min(_told_prompt(plan) or max(0, longest - _told_response(plan, response)), longest - 1)
        return beside, min(response, longest - beside)
    if plan.online and not longest and response:
        return whole(plan.values, "longest_prompt_length") or 0, response
    longest = longest or response
    counted = whole(plan.values, "longest_response_length") or (
        0 if plan.online else _known(plan, "real_response_length")
    )
    if not longest and counted:
        longest = counted + math.ceil(images_beside(plan).high)
    return (0, longest) if longest else (None, None)


def _told_prompt(plan: Plan) -> int:
    """How long prompts are that share a limit with their answers; 0 where nothing tells it."""
    told = [
        whole(plan.values, id) or 0 for id in ("real_prompt_length", "longest_prompt_length") if id not in plan.assumed
    ]
    return max(told, default=0)


def _told_response(plan: Plan, limit: int) -> int:
    """How long answers are, else how long they may be: what is left of the row is the prompt's. Of the whole row both are one length."""
    return min(limit, _known(plan, "real_response_length") or limit)


def _known(plan: Plan, id: str) -> int | None:
    """A length that somebody tells and nobody assumes."""
    return None if id in plan.assumed else whole(plan.values, id)


def longest_row(plan: Plan) -> float:
    """Tokens of a row at its limits, 0 where they are unknown; with the longest usual prompt where nothing limits that."""
    prompt, response = row_limit(plan)
    if not prompt and response and plan.online:
        return response + images_taken(plan).high + untold_prompt(plan).high
    return (prompt or 0) + (response or 0)


def real_row(plan: Plan, rows: float, together: float = 0) -> tuple[Band, Band]:
    """Real lengths of prompt and response in tokens, as a mean over ``rows`` rows of one pass. Images count as tokens.

    ``together`` counts the rows of a pass where the longest of them stands for all.
    """
    prompt_limit, response_limit = row_limit(plan)
    if prompt_limit is None or response_limit is None:
        shown = images_taken(plan) if most_shown(plan) else exactly(0)
        return shown.at_most(prompt_limit or shown.high), _UNKNOWN_LIMIT
    if not prompt_limit and plan.online:  # images at least are known of prompts without a limit
        shown, text = images_taken(plan), untold_prompt(plan)
        prompt = Band(shown.low + text.low, shown.mid + text.mid, shown.high + text.high)
    else:
        prompt = _real(plan, "real_prompt_length", prompt_limit, rows, together or rows)
    if plan.failed_row and not _known(plan, "real_response_length"):
        return _as_failed(plan, plan.failed_row, rows, prompt.mid)
    return prompt, _real(plan, "real_response_length", response_limit, rows, together or rows)


def untold_prompt(plan: Plan) -> Band:
    """A prompt's text where no key limits it: as long as it is said to be, else as those of most sets are.

    None is left where the answer may be as long as the whole row.
    """
    if whole(plan.values, "max_length"):
        return exactly(0)
    told = whole(plan.values, "real_prompt_length")
    return exactly(told) if told and "real_prompt_length" not in plan.assumed else UNKNOWN_PROMPT


def limited_by_default(plan: Plan) -> bool:
    """Whether a default alone limits prompts of text, which says nothing of their length, and nothing is added to them in turns."""
    return plan.prompts_open and not shows_images(plan) and not whole(plan.values, "max_turns")


def image_tokens(plan: Plan, rows: float) -> Band:
    """Tokens that the images of one prompt become, as a mean over ``rows``; the prompt that holds them bounds them."""
    beside = images_beside(plan)
    if beside.mid:
        return _worst_of_many(exactly(0), beside, rows)
    most, shown = most_shown(plan), images_shown(plan)
    if not shown.high:
        return exactly(0)
    prompt, response = real_row(plan, rows)
    room = prompt if prompt.high else response
    if not most:
        return shown.at_most(room.high)
    return Band(min(room.low, most * 0.5 * MEAN_SHARE), min(room.mid, most * _mean_share(rows)), min(room.high, most))


def image_patches(plan: Plan, rows: float) -> Band:
    """Patches that the vision tower reads for one prompt."""
    return image_tokens(plan, rows).times(_MERGED_PATCHES)


def _real(plan: Plan, id: str, limit: int, rows: float, together: float) -> Band:
    known, longest = _known(plan, id), whole(plan.values, LONGEST[id])
    if known:
        images = images_beside(plan) if _holds_images(plan, id) else exactly(0)
        text = Band(known, known, max(known, longest or 0))
        met = whole(plan.values, "longest_met_length") if id == "real_response_length" and not plan.online else None
        return _worst_of_many(text, images, rows, met).at_most(limit)
    limit = min(limit, longest or limit)
    usual = whole(plan.values, "usual_response_length") if id == "real_response_length" and plan.online else None
    if usual:
        return _sampled(usual, limit, rows)
    if plan.algo in FILLED:
        return exactly(limit)
    if not plan.online:
        return _of_data_set(limit, rows, together, rows_met(plan.values))
    if id == "real_prompt_length" and not longest and limited_by_default(plan):
        # as of a set whose mean is that of half of all sets, at the worst of many passes
        mid = UNKNOWN_PROMPT.mid * (1 + _WORST * SET_DEVIATION / math.sqrt(max(1.0, rows)))
        return Band(UNKNOWN_PROMPT.low, mid, limit).at_most(limit)
    mean = limit * _mean_share(rows)
    if id == "real_prompt_length" and (video := video_tokens(plan)):
        mean = min(mean, video + UNKNOWN_PROMPT.high)  # what stands beside a video of known frames is text
    # of a prompt the least is what most sets have: a limit may be far above all prompts
    low = 0.5 * mean if id == "real_response_length" else min(0.5 * mean, UNKNOWN_PROMPT.mid)
    return Band(low, mean, float(limit))


def _worst_of_many(text: Band, images: Band, rows: float, met: int | None = None) -> Band:
    """The mean of ``rows`` rows of many passes: the fewer rows a pass has, the nearer to the longest text with the largest image.

    ``met``: the longest text of a run that takes a few of them only; the band goes on to the longest of all. Not all rows of a pass are
    the longest at once: of a known set their mean goes at most twice as far up, since deviations of independent rows add up as squares.
    """
    root, largest = math.sqrt(max(1.0, rows)), images.high
    if met is not None:
        largest = min(_LARGEST_OF_FEW * images.mid, largest)
    mean, longest = text.mid + images.mid, max(text.mid, met or text.high) + largest
    mid = mean + (longest - mean) / root
    high = min(text.high, text.mid + _AT_MOST * (text.high - text.mid) / root) + images.high
    return Band(text.low + images.low, mid, max(mid, high))


def _holds_images(plan: Plan, id: str) -> bool:
    """Whether the images of a row stand on this side of it: with the prompt, where the two sides are apart."""
    return id == "real_prompt_length" or not (plan.online or row_limit(plan)[0])


def _sampled(usual: int, limit: int, rows: float) -> Band:
    """The mean of ``rows`` answers at the worst of many passes, where public runs tell how long a model usually answers.

    Another model or another week of training answers up to half as long again, or half as long; all rows of a pass at once only so far.
    """
    above = _above(rows)
    shares = Band(_SAMPLED_LOW, 1 + above, _SAMPLED_HIGH + above)
    return shares.times(usual).at_most(limit)


def _above(rows: float) -> float:
    """By what share of the mean the worst of many passes of so many ``rows`` lies above it."""
    return _WORST * _SAMPLED_SPREAD / math.sqrt(max(1.0, rows))


def _as_failed(plan: Plan, failed: FailedRow, rows: float, prompt: float) -> tuple[Band, Band]:
    """Rows as long as those of the pass that failed, as a mean over ``rows``: of fewer rows the worst pass may lie further above.

    It was one of the worst so far, and those of later weeks of training may be longer by as much as in public runs. Where nobody tells
    the ``prompt`` it is at most half of a row, unless the answer's limit leaves it more.
    """
    further = (_SAMPLED_HIGH + _above(rows)) / (1 + _above(failed.rows))
    each = Band(failed.shortest, failed.likely, max(failed.longest, failed.likely * further)).at_most(longest_row(plan))
    told, limit = _known(plan, "real_prompt_length"), row_limit(plan)[1] or 0
    prompts = [max(prompt if told else min(prompt, length / 2), length - limit) for length in each]
    answers = [max(1.0, length - part) for length, part in zip(each, prompts, strict=True)]
    return Band(*prompts), Band(*answers)


def _of_data_set(limit: int, rows: float, together: float, met: int | None) -> Band:
    """The mean of ``rows`` rows of a data set of which nothing is known, at the worst of many passes.

    One row a pass is what long rows leave room for: its longest is taken at the limit. Where several fit their longest lies below, but
    all of them together need no less than that one. A run that has ``met`` so few rows as its steps take knows no longer one than is
    expected of so many draws.
    """
    mean = _between(SET_MEAN.mid, MEAN_SHARE * limit)
    drawn, lowest = (_drawn(each, met, limit) for each in (mean, SET_MEAN.low))
    low_mean, low_longest = min(limit, SET_MEAN.low), min(limit, SET_LONGEST.low, lowest)
    longest = min(drawn, limit if together <= 1 else max(longest_of_set(limit), limit / math.sqrt(together)))
    root = math.sqrt(max(1.0, rows))
    mid = max(mean + (longest - mean) / root, drawn / max(1.0, together))
    return Band(low_mean + (low_longest - low_mean) / root, mid, limit)


def _drawn(mean: float, met: int | None, limit: int) -> float:
    """About the longest row of so many in tokens; the limit where nobody tells how many, or tries the limit with a single row."""
    return min(limit, longest_drawn(mean, SET_DEVIATION, met)) if mean and met and met > 1 else limit


def longest_of_set(limit: int) -> float:
    """The longest row of a data set of which nothing is known, in tokens, under this limit."""
    return _between(SET_LONGEST.mid, limit)


def _between(known: float, allowed: float) -> float:
    """What is allowed where that is less than ``known``, else the geometric mean of both."""
    return min(allowed, math.sqrt(known * allowed))


def _mean_share(rows: float) -> float:
    """The expected mean of ``rows`` rows as a share of the limit."""
    return MEAN_SHARE + (1 - MEAN_SHARE) / math.sqrt(max(1.0, rows))
