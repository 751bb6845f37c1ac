"""What a chart draws, rounded once: every figure in tenths of a GiB, each total the sum of its rounded parts."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.text import capfirst

from diagnose.types import PhaseEstimate, PoolEstimate, Term
from diagnose.units import tenths
from diagnose.vocabulary import PHASE_GROUPS, PHASES
from diagnose.words.figures import phase_tenths

# The places of the stack, from the ground up: (role, word in the key on a GPU, on the host, short label on a GPU, on the host).
ROLES = (
    ("params", "weights", "weights kept on the host", "weights", "weights"),
    ("grads", "gradients", "gradients", "grads", "grads"),
    ("optim", "Adam state", "offloaded Adam state", "Adam", "Adam"),
    ("gather", "gathers and copies", "copies", "copies", "copies"),
    ("act", "kept for backward", "images and batches", "kept", "data"),
    ("logits", "logits", "logits", "logits", "logits"),
    ("engine", "engine weights, workspace", "sleeping engines’ weights", "engine", "asleep"),
    ("kv", "engine KV pool", "engine cache and swap", "KV pool", "cache"),
    ("fixed", "context, NCCL", "processes", "fixed", "processes"),
)
ORDER = {role[0]: place for place, role in enumerate(ROLES)}
TEXTURE = {"gather": "work", "act": "work", "logits": "work", "engine": "eng", "kv": "eng"}
GROUP_WORDS = {"once": "once, at start", "step": "every step", "sometimes": "now and then"}


@dataclass(frozen=True, slots=True)
class Segment:
    role: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class Column:
    """One phase. ``total`` is the sum of its terms, ``need`` what was measured or reported instead, where something was.

    ``over`` is how far the need stands above the limit that kills (0 below it), ``free`` what is left below it.
    """

    phase: str
    title: str
    group: str
    segments: tuple[Segment, ...]
    total: int
    low: int
    high: int
    over: int
    free: int | None
    need: int

    @property
    def seen(self) -> int | None:
        """What was measured or reported, where it is above the sum of the terms."""
        return self.need if self.need > self.total else None

    @property
    def banded(self) -> bool:
        return self.high > self.low


@dataclass(frozen=True, slots=True)
class Drawing:
    """All phases of a pool. ``worst`` is the place of the shaded phase."""

    pool: str
    columns: tuple[Column, ...]
    capacity: int | None
    limit: int | None
    worst: int
    ceiling: str

    @property
    def seen(self) -> int | None:
        """What was seen of the shaded phase above its estimate."""
        return self.columns[self.worst].seen if self.columns else None

    @property
    def highest(self) -> int:
        """The tallest thing that the drawing must hold, in tenths of a GiB."""
        return max(*(max(column.high, column.total, column.need) for column in self.columns), 1)

    @property
    def tallest(self) -> int:
        """The highest peak, whiskers left out."""
        return max(*(max(column.total, column.need) for column in self.columns), 1)

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """The roles that occur with their words, in the order of the stack."""
        used = {segment.role for column in self.columns for segment in column.segments}
        words = 2 if self.pool == "host" else 1
        return tuple((role[0], role[words]) for role in ROLES if role[0] in used)


def shown(value: int) -> str:
    """Tenths of a GiB as they are printed."""
    return f"{value / 10:,.1f}"


def role_of(term: Term) -> str:
    """The place of a term in the stack: its family, then the step that its id names."""
    if term.family == "held":
        named = {"grad": "grads", "optim": "optim", "adam": "optim", "master": "optim"}
        return next((role for part, role in named.items() if part in term.id), "params")
    if term.family == "work":
        kept = ("activ", "kept", "checkpoint", "attention", "vision", "image", "batch", "rows")
        named = {"logit": "logits", **dict.fromkeys(kept, "act")}
        return next((role for part, role in named.items() if part in term.id), "gather")
    if term.family == "engine":
        return "kv" if any(part in term.id for part in ("kv", "swap", "cache")) else "engine"
    return "fixed"


def drawing(pool: PoolEstimate, worst: str, ceiling: str, seen: int | None = None) -> Drawing:
    """``worst`` is the phase to shade, ``ceiling`` what has the capacity in words, ``seen`` a reported size in bytes."""
    limit = tenths(pool.limit) if pool.limit is not None else None
    columns = tuple(
        _column(phase, pool.pool, limit, tenths(seen) if seen and phase.phase == worst else 0) for phase in pool.phases
    )
    place = next((i for i, column in enumerate(columns) if column.phase == worst), 0)
    return Drawing(
        pool=pool.pool,
        columns=columns,
        capacity=tenths(pool.capacity) if pool.capacity is not None else None,
        limit=limit,
        worst=place,
        ceiling=ceiling,
    )


def _column(phase: PhaseEstimate, pool: str, limit: int | None, reported: int) -> Column:
    total, low, high = phase_tenths(phase)
    need = max(total if phase.measured is None else tenths(phase.measured), reported)
    sizes: dict[str, int] = {}
    for term in phase.terms:
        sizes[role_of(term)] = sizes.get(role_of(term), 0) + tenths(term.bytes)
    label = 4 if pool == "host" else 3
    segments = tuple(Segment(role, ROLES[ORDER[role]][label], sizes[role]) for role in ORDER if sizes.get(role, 0) > 0)
    return Column(
        phase=phase.phase,
        title=capfirst(PHASES.get(phase.phase, phase.phase)),
        group=PHASE_GROUPS.get(phase.phase, "step"),
        segments=segments,
        total=total,
        low=low,
        high=high,
        over=max(0, need - limit) if limit is not None else 0,
        free=limit - need if limit is not None else None,
        need=need,
    )


def spoken(drawing: Drawing) -> str:
    """The whole chart as one sentence for those who do not see it."""
    what = "Host memory" if drawing.pool == "host" else "GPU memory"
    against = f" against {shown(drawing.limit)}" if drawing.limit is not None else ""
    phases = ", ".join(_spoken_column(column) for column in drawing.columns)
    return f"{what} per phase in GiB{against}: {phases}. The table of all phases follows."


def _spoken_column(column: Column) -> str:
    band = f" ({shown(column.low)} to {shown(column.high)})" if column.banded else ""
    over = f", which is {shown(column.over)} over" if column.over else ""
    if column.need != column.total:
        return f"{column.title.lower()} {shown(column.need)} seen{over}, {shown(column.total)} estimated{band}"
    return f"{column.title.lower()} {shown(column.total)}{over}{band}"
