"""How far the estimates are from measured memory, told in full: ``python benchmarks/accuracy.py ROWS > docs/accuracy.md``.

ROWS holds one JSON object a line: ``id``, ``framework``, ``counter``, ``value_gib``, ``kind``, ``online_rl``, ``source``, and ``paste`` and
``answers`` as the batch interface takes them. The error of a row is max(estimate / measured, measured / estimate) - 1, with the
sign of the direction. Half a unit of the source's rounding is forgiven: 0.5 GiB of a whole number of 10 or more, 5 GiB of a node's RAM.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import as_run
import elsewhere
from steps import steps
from taken import taken

from diagnose.estimate.doubt import bounds
from diagnose.estimate.term import make_term
from diagnose.knowledge import CONTENT, Knowledge, read_content
from diagnose.pipeline import diagnose
from diagnose.units import GIB

Row = dict[str, Any]
COUNTERS = {
    "torch_allocated": "allocated by PyTorch",
    "torch_reserved": "reserved by PyTorch",
    "torch_reserved?": "reserved, as the framework's own log counts it; the figure does not say so",
    "torch_reserved_without_rollout_pool": "reserved, less what the engine frees",
    "device": "the whole card",
    "unclear": "not said: reserved or the whole card",
    "host": "RAM of the node",
}
NEARLY_FULL = 0.93  # of the card: what was measured there is a lower bound
WORST = 20


class Held(NamedTuple):
    """One measured row: the signed error (None: no estimate), what was said, whether the value lies in the band of the whole card and in
    that of what its own counter counts (None: no band)."""

    row: Row
    error: float | None
    said: float
    inside: bool | None
    width: float | None
    alike: bool | None = None


def main() -> None:
    records, _, _ = read_content(CONTENT)
    knowledge = Knowledge(**records)
    held, verdicts = hold(Path(sys.argv[1]), knowledge)
    print(_page(held, _as_run(held, knowledge), verdicts, elsewhere.section(hold(elsewhere.ROWS, knowledge)[0])))


def hold(file: Path, knowledge: Knowledge) -> tuple[list[Held], Counter[tuple[str, str]]]:
    """The measured rows of a file with what is said of them, and how often each verdict was given on the others."""
    configurations = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    answered = [(row, _estimate(row, knowledge)) for row in configurations]
    held = [_held(row, found) for row, found in answered if row["kind"].startswith("measured")]
    verdicts = Counter((row["kind"], _verdict(row, found)) for row, found in answered if row["kind"] in KINDS)
    return held, verdicts


def _estimate(row: Row, knowledge: Knowledge) -> Any:
    return diagnose(row["paste"], row["answers"], knowledge, ()).estimate


def _as_run(held: list[Held], knowledge: Knowledge) -> list[Held]:
    """The same rows, those of which something else is known to have run by what did."""
    runs = [(one, as_run.as_run(one.row)) for one in held]
    return [_held(ran, _estimate(ran, knowledge)) if ran else one for one, ran in runs]


def _held(row: Row, found: Any) -> Held:
    low, high, card = _said(row["counter"], found), _said(row["counter"], found), row["answers"].get("gpu_mem_gib")
    if row["counter"] == "unclear" and found.gpu:
        low, high = sorted((found.torch_reserved / GIB, found.device_used / GIB))
    value, slack = row["value_gib"], _rounding(row)
    error: float | None = 0.0
    if not high:
        error = None
    elif high < value - slack:
        error = 1 - (value - slack) / high
    elif low > value + slack and not (row["counter"] != "host" and card and value >= NEARLY_FULL * card):
        error = low / (value + slack) - 1
    if row["counter"] == "host" or not found.gpu:
        return Held(row, error, high, None, None)
    bottom, top = _band(found.gpu.phases, lambda phase: phase.bounds)
    middle = found.gpu.peak.bytes / GIB
    width, inside = (top - bottom) / 2 / middle, bottom <= value <= top
    if row["counter"].startswith("torch_"):
        bottom, top = _band(found.gpu.phases, _CACHES if row["counter"] != "torch_allocated" else _USES)
    elif row["counter"] == "unclear":
        bottom, _ = _band(found.gpu.phases, _CACHES)
    return Held(row, error, high, inside, width, bottom <= value <= top)


def _band(phases: Iterable[Any], bounds_of: Callable[[Any], tuple[int, int]]) -> tuple[float, float]:
    """The band of a whole run in GiB: of the phase that reaches highest at its least, and of the one that does at its most."""
    lows, highs = zip(*map(bounds_of, phases), strict=True)
    return max(lows) / GIB, max(highs) / GIB


def _counted(cached: tuple[str, ...]) -> Callable[[Any], tuple[int, int]]:
    """Low and high of what torch counts of a phase: held and work, and what is ``cached`` beside them."""

    def bounds_of(phase: Any) -> tuple[int, int]:
        terms = [term for term in phase.terms if term.family in ("held", "work") or term.id in cached]
        slack = next((term for term in terms if term.id == "allocator_slack"), None)
        rest = [term for term in terms if term is not slack]
        if slack is None:
            slack = make_term("allocator_slack", "", "fixed", 0, "", "")
        return bounds(rest, slack, slack.high, 0.0, None)

    return bounds_of


_USES, _CACHES = _counted(()), _counted(("allocator_slack", "allocator_growth", "broadcast_copies"))


def _said(counter: str, found: Any) -> float:
    """What the same counter would show, in GiB; 0 where nothing can be said."""
    if counter == "host":
        return (found.host_used or 0) / GIB
    if counter.startswith("torch_"):
        return ((found.torch_allocated if counter == "torch_allocated" else found.torch_reserved) or 0) / GIB
    return (found.device_used or 0) / GIB


def _rounding(row: Row) -> float:
    if row["counter"] == "host":
        return 5.0
    return 0.5 if row["value_gib"] >= 10 and float(row["value_gib"]).is_integer() else 0.0


KINDS = {"fits": "ran", "does_not_fit": "ran out"}
SAID = {"fits": "fits", "close": "too close to call", "out": "runs out"}


def _verdict(row: Row, found: Any) -> str:
    said = found.gpu.verdict() if found.gpu else "unknown"
    if row["counter"] == "device_bound" and found.gpu:
        said = "fits" if found.gpu.peak.bytes / GIB <= row["value_gib"] else "out"
    if found.host and found.host.verdict() == "out":
        said = "out"
    return SAID.get(said, "cannot tell")


def _page(held: list[Held], ran: list[Held], verdicts: Counter[tuple[str, str]], unseen: str) -> str:
    gpu, gpu_ran = ([one for one in rows if one.row["counter"] != "host"] for rows in (held, ran))
    online, online_ran = ([one for one in rows if one.row["online_rl"]] for rows in (gpu, gpu_ran))
    banded = [one for one in gpu if one.inside is not None]
    parts = [
        HEAD.format(rows=len(held), online=len(online), sources=len({one.row["source"] for one in online})),
        _table("Rows", "which", [("GPU", gpu), ("GPU, GRPO and PPO", online), ("RAM of a node", _only(held, "host"))]),
        FITTED,
        as_run.section((given, now) for given, now in zip(held, ran, strict=True) if given is not now),
        _table("With what ran in these", "which", [("GPU", gpu_ran), ("GPU, GRPO and PPO", online_ran)]),
        _table("By counter", "counter", [(COUNTERS[name], rows) for name, rows in _groups(held, "counter")]),
        _table("By framework", "framework", _groups(gpu, "framework")),
        BAND.format(
            inside=sum(one.inside is True for one in banded),
            banded=len(banded),
            alike=sum(one.alike is True for one in banded),
            width=statistics.median(one.width for one in banded if one.width is not None),
        ),
        _verdicts(verdicts),
        unseen,
        steps(),
        taken(),
        _worst(held),
    ]
    return "\n\n".join(parts)


HEAD = """# How far the estimates are from what was measured

Written by `python benchmarks/accuracy.py ROWS > docs/accuracy.md`; change the estimator or the rows and run it again. The rows are
{rows} public configurations with the memory that somebody measured on them. Causes of error were looked for in these same rows,
so a run of a kind that is not among them can be worse than the table says. **Only {online} of them train by GRPO or PPO,
from {sources} sources**: for those the claim is the weakest.

The error of a row is the larger of estimate / measured and measured / estimate, less 1. A person's own comment on a script
drifts by 15 to 25 % between versions of that script, so an error below that on such a row says nothing."""

FITTED = """The RAM of a node is that of EasyR1 alone, six figures of one table, and one number was fitted to them: that a rank of the
engine holds the images of a prompt 4.5 times (1 to 6; diagnose/estimate/host.py). With the one copy that its requests hold
the median would be 40 %. Their error says little of other runs."""

BAND = """## The band

The measured value lies inside the band of the whole card on {inside} of {banded} rows; half of the bands are at most ± {width:.0%}
wide. There allocated and reserved memory are held against the band of the card, which counts contexts, NCCL and caches that torch
does not: held against the band of the same terms as their counter, {alike} of {banded} lie inside."""


def _only(held: Iterable[Held], counter: str) -> list[Held]:
    return [one for one in held if one.row["counter"] == counter]


def _groups(held: Iterable[Held], field: str) -> list[tuple[str, list[Held]]]:
    groups: dict[str, list[Held]] = defaultdict(list)
    for one in held:
        groups[one.row[field]].append(one)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _table(title: str, what: str, groups: list[tuple[str, list[Held]]]) -> str:
    lines = [
        f"## {title}",
        "",
        f"| {what} | rows | median | nine in ten | within 10 % | too low by more |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name, these in groups:
        sizes = sorted(1.0 if one.error is None else abs(one.error) for one in these)
        tenth = f"{sizes[math.ceil(0.9 * len(sizes)) - 1]:.0%}" if len(sizes) >= 10 else "–"
        near = _share(these, lambda one: one.error is not None and abs(one.error) <= 0.1)
        low = _share(these, lambda one: one.error is not None and one.error < -0.1)
        lines.append(f"| {name} | {len(these)} | {statistics.median(sizes):.1%} | {tenth} | {near} | {low} |")
    return "\n".join(lines)


def _share(rows: list[Held], holds: Callable[[Held], bool]) -> str:
    return f"{sum(map(holds, rows)) / len(rows):.0%}"


def _verdicts(verdicts: Counter[tuple[str, str]]) -> str:
    said = (*SAID.values(), "cannot tell")
    lines = [
        "## Verdicts",
        "",
        f"| what happened | {' | '.join(f'said: {word}' for word in said)} |",
        "| --- | --: | --: | --: | --: |",
    ]
    lines += [f"| {word} | {' | '.join(str(verdicts[kind, one]) for one in said)} |" for kind, word in KINDS.items()]
    return "\n".join(lines)


def _worst(held: list[Held]) -> str:
    sized = sorted((one for one in held if one.error is not None), key=lambda one: -abs(one.error or 0))[:WORST]
    lines = [
        f"## The {WORST} worst",
        "",
        "| configuration | measured, GiB | said | error |",
        "| --- | --: | --: | --: |",
    ]
    for one in sized:
        lines.append(
            f"| [{one.row['id']}]({one.row['source']}) | {one.row['value_gib']:g} | {one.said:.1f} | {one.error:+.0%} |"
        )
    silent = [one.row["id"] for one in held if one.error is None]
    return "\n".join(lines) + (f"\n\nNothing is said of {', '.join(silent)}." if silent else "")


if __name__ == "__main__":
    main()
