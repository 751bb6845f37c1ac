"""Prescriptions and what is not advised, ready for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.utils.safestring import SafeString

from diagnose.knowledge.records import Advisory, Lever
from diagnose.types import Change, Diagnosis, NotAdvised, PatchLine, PhaseEstimate, Prescription, Together
from diagnose.units import tenths
from diagnose.vocabulary import FACTS, OTHER_POOL, PHASES, Pool
from diagnose.words import VERDICTS, advisory
from diagnose.words.change import (
    as_shipped,
    effect_words,
    elsewhere_words,
    former,
    peaks_words,
    range_words,
    sure_words,
    with_unit,
)
from diagnose.words.figures import need_tenths, phase_tenths
from diagnose.words.together import title, why
from kb.evidence import Mark, marks
from wizard.chart import before_after
from wizard.chart.data import shown

NAMED = 3  # cases that a prescription names
_REASONS = {
    "on": "",  # the sentence beside says it, and by what
    "tried": "tried",
    "cured": "cured it",
    "elsewhere": "acts elsewhere",
    "refused": "refused beside another setting",
    "absent": "not in this version",
    "no_gain": "no gain",
    "untold": "cannot tell",
}


@dataclass(frozen=True, slots=True)
class Bar:
    title: str
    svg: SafeString
    size: str
    words: str


@dataclass(frozen=True, slots=True)
class Swap:
    """One key, or a fact in words where no configuration holds it, before and after. ``shipped``: the file that alone tells the former."""

    name: str
    key: bool
    before: str
    after: str
    shipped: str = ""


@dataclass(frozen=True, slots=True)
class PatchRow:
    """``pieces``: the text in turn as it stays and as it changes, with whether it changes."""

    mark: str
    css: str
    number: str
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """One prescription. ``open``: its patch is the first of the page, which stands unfolded. ``left_out``: what the patch lacks."""

    number: int
    title: str
    lever: Lever
    swaps: tuple[Swap, ...]
    why: str
    bars: tuple[Bar, ...]
    effect: str
    room: bool
    lengths: str
    sure: str
    marks: tuple[Mark, ...]
    named: tuple[tuple[str, str], ...]
    patch: tuple[PatchRow, ...]
    left_out: tuple[str, ...]
    advisories: tuple[Advisory, ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Against:
    """A lever with what speaks against it. ``line`` is named between ``why`` and ``rest``, 0 where no line says it."""

    title: str
    slug: str
    reason: str
    why: str
    line: int
    rest: str


def prescriptions(diagnosis: Diagnosis, titles: Mapping[str, str]) -> tuple[Advice, ...]:
    made = tuple(_advice(number, given, diagnosis, titles) for number, given in enumerate(diagnosis.prescriptions, 1))
    first = next((one.number for one in made if one.patch), 0)
    return tuple(replace(one, open=True) if one.number == first else one for one in made)


@dataclass(frozen=True, slots=True)
class Several:
    """Changes that are enough together; ``number`` names the patch."""

    title: str
    why: str
    effect: str
    swaps: tuple[Swap, ...]
    bars: tuple[Bar, ...]
    levers: tuple[Lever, ...]
    patch: tuple[PatchRow, ...]
    left_out: tuple[str, ...]
    number: str = "set"


def together(diagnosis: Diagnosis, given: Together | None) -> Several | None:
    if given is None:
        return None
    pool = diagnosis.estimate.pool(given.pool)
    return Several(
        title=title(given),
        why=why(given, pool.limit if pool else None),
        effect=peaks_words(given),
        swaps=_swaps(given.changes),
        bars=_bars(given, diagnosis),
        levers=given.levers,
        patch=tuple(_patch_row(line) for line in given.patch),
        left_out=_left_out(given),
    )


def _advice(number: int, given: Prescription, diagnosis: Diagnosis, titles: Mapping[str, str]) -> Advice:
    return Advice(
        number=number,
        title=given.title,
        lever=given.lever,
        swaps=_swaps(given.changes),
        why=given.why,
        bars=_bars(given, diagnosis),
        effect=effect_words(given),
        room=given.room is not None,
        lengths=range_words(given),
        sure=sure_words(given),
        marks=marks(len(given.evidence.worked), len(given.evidence.failed), len(given.evidence.suggested)),
        named=tuple((slug, titles.get(slug, slug)) for slug in _told(given)[:NAMED]),
        patch=tuple(_patch_row(line) for line in given.patch),
        left_out=_left_out(given),
        advisories=given.advisories,
    )


def checks(diagnosis: Diagnosis) -> tuple[tuple[Advisory, str, str], ...]:
    """What holds only if a package is of a version that nothing tells: the record, the words, how to find out."""
    return tuple(
        (check.advisory, advisory.check_words(check), advisory.find_out(check.advisory)) for check in diagnosis.checks
    )


def _swaps(changes: Iterable[Change]) -> tuple[Swap, ...]:
    """The changes that change something; a fact's title where no key holds it."""
    return tuple(
        Swap(
            change.key or (FACTS[change.fact].title if change.fact in FACTS else change.fact),
            bool(change.key),
            former(change),
            with_unit(change, change.after),
            as_shipped(change),
        )
        for change in changes
        if change.before != change.after
    )


def _told(given: Prescription) -> tuple[str, ...]:
    """The slugs of the cases that speak of a lever: where it worked first."""
    return tuple(dict.fromkeys((*given.evidence.worked, *given.evidence.failed, *given.evidence.suggested)))


def _bars(given: Prescription | Together, diagnosis: Diagnosis) -> tuple[Bar, ...]:
    """As it is and after, on one scale; a second pair where the change moves bytes into the other pool."""
    if given.before is None or given.after is None:
        return ()
    pool = diagnosis.estimate.pool(given.pool)
    limit = tenths(pool.limit) if pool and pool.limit is not None else None
    name = "" if given.pool == (diagnosis.pool or "gpu") else f"{'Host' if given.pool == 'host' else 'GPU'}, "
    known = VERDICTS[given.after_verdict] if given.after_verdict != "unknown" else ""
    words = f"{known}{elsewhere_words(given)}".removeprefix(", ")
    bars = _pair(given.before, given.after, limit, words, name, PHASES.get(given.phase, given.phase))
    return bars + (_moved(given.pool, given.other_pool, diagnosis) if given.other_pool else ())


def _pair(
    before: PhaseEstimate, after: PhaseEstimate, limit: int | None, words: str, name: str, phase: str
) -> tuple[Bar, ...]:
    was, _, _ = need_tenths(before)
    now, low, high = need_tenths(after)
    scale = _scale(limit, max(was, now), high)
    runs_out = limit is not None and was > limit
    left = f", {shown(limit - now)} free" if limit is not None and words == VERDICTS["fits"] else ""
    return (
        Bar(
            f"{name}as it is" if name else "As it is",
            before_after(was, limit, scale, after=False),
            shown(was),
            "runs out" if runs_out else phase,
        ),
        Bar(
            f"{name}after" if name else "After",
            before_after(now, limit, scale, after=True, band=(low, high)),
            shown(now),
            f"{words}{left}",
        ),
    )


def _scale(limit: int | None, *sizes: int) -> int:
    """One scale for a pair: the line keeps a good third of the width, what goes far beyond is cut."""
    need = 1.08 * max(*sizes, 1)
    return round(need if not limit else max(1.45 * limit, min(need, 2.6 * limit)))


def _moved(changed: Pool, peaks: tuple[PhaseEstimate, PhaseEstimate], diagnosis: Diagnosis) -> tuple[Bar, ...]:
    """What the change puts into the other pool at its peak, in the same form."""
    other = OTHER_POOL[changed]
    pool = diagnosis.estimate.pool(other)
    limit = tenths(pool.limit) if pool and pool.limit is not None else None
    was, now = (phase_tenths(peak)[0] for peak in peaks)
    if was == now:
        return ()
    scale = _scale(limit, max(was, now))
    name = "Host RAM" if other == "host" else "GPU"
    words = "" if limit is None else f"{shown(limit - now)} free" if now <= limit else f"over by {shown(now - limit)}"
    return (
        Bar(f"{name}, now", before_after(was, limit, scale, after=False), shown(was), ""),
        Bar(f"{name}, after", before_after(now, limit, scale, after=True), shown(now), words),
    )


def _left_out(given: Prescription | Together) -> tuple[str, ...]:
    """The changes with no place in the paste, ``peft_config LoraConfig(r=32)``: its patch alone would not do what is advised."""
    written = " ".join(line.text[start:end] for line in given.patch if line.mark == "+" for start, end in line.bold)
    new = [change for change in given.changes if change.key and change.span is None]
    there = written.replace("-", "_")
    return tuple(
        f"{change.key} {change.after}" for change in new if change.key.rsplit(".", 1)[-1].replace("-", "_") not in there
    )


def _patch_row(line: PatchLine) -> PatchRow:
    return PatchRow(
        mark={"-": "−", "+": "+"}.get(line.mark, ""),
        css={"-": "del", "+": "add"}.get(line.mark, ""),
        number=str(line.number) if line.number is not None else "",
        pieces=_pieces(line),
    )


def _pieces(line: PatchLine) -> tuple[tuple[str, bool], ...]:
    """The text in turn as it stays and as it changes: (text, whether it changes)."""
    pieces, done = [], 0
    for start, end in line.bold:
        pieces += [(line.text[done:start], False), (line.text[start:end], True)]
        done = end
    return (*pieces, (line.text[done:], False))


def not_advised(diagnosis: Diagnosis) -> tuple[Against, ...]:
    return tuple(_against(given) for given in diagnosis.not_advised)


def _against(given: NotAdvised) -> Against:
    line = given.span.line if given.span else 0
    why, named, rest = given.why.partition(f"line {line}")
    reason = _REASONS.get(given.reason, given.reason)
    return Against(
        given.lever.title, given.lever.slug, reason, why if named or not line else f"{given.why} ", line, rest
    )
