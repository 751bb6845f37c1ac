"""What the estimate takes without deriving it: the bands of heuristics, and what was chosen with measured rows in view."""

from __future__ import annotations

from diagnose.estimate import rows, terms_fixed, terms_nccl
from diagnose.units import GIB

TAKEN = """## What is not derived

No script fits these; the tables above are what is left over with all of them. These were chosen with the rows above in view: the
largest image of a set of unknown images has four times the pixels of a usual one of 640 x 480, or what the run lets through, and that of a
few rows twice as many; the rows of a pass of a known set lie at most twice as far above its mean as their number lets expect
(`diagnose/estimate/rows.py`); and the formulas are in doubt by 25 % of what works and 5 % of what is held, twice
that for a trainer that no record tells of, which widens the band alone (`diagnose/estimate/doubt.py`). How far sampled answers spread,
and the pieces that the allocator cannot hand back, come from the public logs named there and in `diagnose/estimate/terms_fixed.py`.
"""
PERCENT = 0.01
HEURISTICS = (
    ("CUDA context of a process, GiB", terms_fixed.CONTEXT, GIB, "assumed; no published source"),
    ("NCCL buffers, GiB", terms_nccl.FEW_GROUPS, GIB, "assumed; no published source"),
    (
        "channels of each group of NCCL in Megatron, 9.2 MiB of buffers each",
        terms_nccl.CHANNELS,
        1,
        "assumed; the buffers are NCCL's",
    ),
    ("cuBLAS and attention workspaces, GiB", terms_fixed.WORKSPACES, GIB, "no published source"),
    ("reserved beyond what is held, % of it", terms_fixed.SLACK_HELD, PERCENT, "one full training of 7B"),
    (
        "reserved beyond what comes and goes, % of it",
        terms_fixed.SLACK_WORK,
        PERCENT,
        "one pair of counters of a DPO run of 12B",
    ),
    (
        "blocks of other lengths, × logits",
        terms_fixed.GROWTH,
        1,
        "45 replays of torch's allocator (`benchmarks/allocator.py`)",
    ),
    (
        "mean row of an unknown data set, tokens",
        rows.SET_MEAN,
        1,
        "quartile, median and upper decile of 101 public sets",
    ),
    ("its longest row, tokens", rows.SET_LONGEST, 1, "the same"),
    (
        "prompt that nothing limits, tokens",
        rows.UNKNOWN_PROMPT,
        1,
        "lower decile, median and upper decile of the means of the 34 prompt sets of the catalogue",
    ),
)


def taken() -> str:
    lines = [TAKEN, "| what | low | middle | high | ground |", "| --- | --: | --: | --: | --- |"]
    lines += [
        f"| {what} | {band.low / unit:g} | {band.mid / unit:g} | {band.high / unit:g} | {ground} |"
        for what, band, unit, ground in HEURISTICS
    ]
    return "\n".join(lines)
