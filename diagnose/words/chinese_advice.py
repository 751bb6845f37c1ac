"""Advice in Chinese: what to do, what it does to the figure, the keys before and after, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from diagnose.knowledge.records import Lever
from diagnose.types import LESS, MORE, CacheRoom, Change, PhaseEstimate, Prescription, Together
from diagnose.words.change import with_unit
from diagnose.words.chinese_names import PHASES, RESULTS, VERDICTS, either, fact_name, joined
from diagnose.words.figures import gib, need_tenths


class Named(NamedTuple):
    """What is changed, by its key or in words."""

    name: str
    key: bool
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Advised:
    """One change, or several at once: what it does to the figure, the keys before and after, and what is known of it."""

    title: str
    effect: str
    changes: tuple[Named, ...]
    known: str


def advised(given: Prescription, settled: bool) -> Advised:
    """``settled``: something names the phase that failed."""
    worked, failed, suggested = (
        len(slugs) for slugs in (given.evidence.worked, given.evidence.failed, given.evidence.suggested)
    )
    counts = [f"{worked} 例有效"] * bool(worked) + [f"{failed} 例无效"] * bool(failed)
    counts += [f"{suggested} 例仅为建议"] * bool(suggested)
    seen = f"案例：{'、'.join(counts)}" if counts else "还没有案例"
    known = f"{RESULTS[given.lever.results]}；{seen}"
    return Advised(_title(given, settled), _effect(given), _changes(given.changes), known)


def _title(given: Prescription, settled: bool) -> str:
    """What to do; a move to a version holds for the phases of its fault, which are named while nothing settles the phase."""
    if not given.advisories:
        return _name(given.lever)
    advisory, target = given.advisories[0], given.changes[0].after
    phases = [PHASES[phase] for phase in advisory.phases]
    where = f"{joined('若失败在', reduce(either, phases))}：" if phases and not settled else ""
    if advisory.fixed is None:
        return f"{where}把 {advisory.package} 退回 {target}"
    return f"{where}把 {advisory.package} 升级到 {target} 或更新"


def _name(lever: Lever) -> str:
    return lever.chinese or lever.title


def together(given: Together) -> Advised:
    """Several changes at once."""
    several, fits = len(given.levers) > 1, given.after_verdict == "fits"
    which = "以下几项合起来" if several else "这一项"
    title = f"{which}{'放得下' if fits else '接近上限，难以判断'}：{'、'.join(_name(lever) for lever in given.levers)}"
    changing = [_name(lever) for lever in given.levers if lever.results != "same"]
    known = f"{'、'.join(changing)}：{RESULTS['may_change']}" if changing else ""
    return Advised(title, _figures(given, given.before, given.after), _changes(given.changes), known)


def _effect(given: Prescription) -> str:
    """Before and after of what failed."""
    if given.room:
        before, after = given.room
        if before.rest == after.rest and before.row and after.row:
            return f"一条最长的序列 {gib(before.row)} → {gib(after.row)}，{VERDICTS[given.after_verdict]}"
        return f"{cache_left(before)} → {cache_left(after)}，{VERDICTS[given.after_verdict]}"
    if given.before is None or given.after is None:
        return "算不出能省多少"
    return _figures(given, given.before, given.after)


def _figures(given: Prescription | Together, before: PhaseEstimate, after: PhaseEstimate) -> str:
    moved = (
        "" if before.phase == after.phase else f"，{joined('峰值移到', PHASES.get(after.phase, after.phase), '阶段')}"
    )
    was, now = need_tenths(before)[0], need_tenths(after)[0]
    verdict = "" if given.after_verdict == "unknown" else f"，{VERDICTS[given.after_verdict]}"
    return f"{was / 10:,.1f} → {now / 10:,.1f} GiB{verdict}{moved}"


def _changes(changes: tuple[Change, ...]) -> tuple[Named, ...]:
    return tuple(
        Named(
            one.key or fact_name(one.fact),
            bool(one.key),
            _before(one),
            {LESS: "比现在小", MORE: "比现在大"}.get(one.after, with_unit(one, one.after)),
        )
        for one in changes
        if one.before != one.after and (one.key or one.fact)
    )


def _before(change: Change) -> str:
    """What stands at the key, and where only a named file has it."""
    file = f"（项目自带的 {change.shipped}）" if change.shipped else ""
    if change.before is None:
        return "未设置" if change.fact else "版本未知"
    return f"{with_unit(change, change.before)}{file}"


def cache_left(room: CacheRoom) -> str:
    """What the engine's cache has, or lacks."""
    by = "日志显示" if room.shown is not None else ""
    return f"{by}KV cache 剩 {gib(room.rest)}" if room.rest > 0 else f"{by}KV cache 还缺 {gib(-room.rest)}"
