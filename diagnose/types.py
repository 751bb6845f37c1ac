"""The frozen records that pass between the stages, in the order of the arrow: Paste → Facts → Estimate → Diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from diagnose.batch import resolve
from diagnose.vocabulary import Origin, Pool, Value

if TYPE_CHECKING:
    from diagnose.knowledge.records import Case, Framework, Gpu, Lever, Model, Question, Signature

# --- ingest


@dataclass(frozen=True, slots=True)
class Span:
    """Where words stand: the line of the person's own text (from 1) and columns (from 0, end excluded) in its redacted form."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number in the person's text, the redacted text, and the words without colour, log prefix or repeat mark.

    ``offset`` is the column of ``text`` at which ``words`` begins. ``actor`` is the class that a log prefix names.
    """

    number: int
    text: str
    words: str
    offset: int = 0
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One key with its value as written: quotes off, shell variables resolved. ``key`` has no leading dashes or plus signs.

    ``shape``: flag, override (a.b=c), yaml, json, python, env, dump (``key ..... value``). ``span`` is the value's place.
    ``command`` is the index of the command that it belongs to, or -1. ``bare`` is a flag without a value (``value`` is "true").
    """

    key: str
    value: str
    shape: str
    span: Span
    command: int = -1
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A launch command: its words that are neither flags nor overrides, its lines, and whether the text breaks off inside it."""

    words: tuple[str, ...]
    first_line: int
    last_line: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """One traceback frame, or a remote call (``ray::Class.method()``; then ``path`` is empty and ``owner`` is the class).

    ``traceback`` counts the tracebacks of the paste from 0; frames of one stand outermost first, as they are printed.
    """

    path: str
    function: str
    line: int
    source_line: int = 0
    owner: str = ""
    traceback: int = 0


@dataclass(frozen=True, slots=True)
class Package:
    """A package and the version that the text gives it."""

    name: str
    version: str
    line: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was taken out of a line: ``path``, ``token``, ``host``, ``address``, ``email``, ``user``."""

    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class Paste:
    """Everything that shapes alone can tell. ``text`` is the reduced paste: redacted, at most 64 kB, line numbers kept."""

    text: str
    lines: tuple[Line, ...] = ()
    settings: tuple[Setting, ...] = ()
    commands: tuple[Command, ...] = ()
    frames: tuple[Frame, ...] = ()
    packages: tuple[Package, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    total_lines: int = 0
    binary: bool = False


# --- facts


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with where it comes from. ``unit`` is the batch unit of ``value`` where it is not the fact's own.

    ``origin``: read (``span`` and maybe ``key`` say where), answered, default (of the recognised framework), assumed, derived.
    ``why`` says in words where a default or an assumption comes from.
    """

    id: str
    value: Value
    origin: Origin
    unit: str = ""
    key: str = ""
    written: str = ""
    span: Span | None = None
    why: str = ""

    @property
    def certain(self) -> bool:
        return self.origin in ("read", "answered")


@dataclass(frozen=True, slots=True)
class Hit:
    """A signature that matched, and where."""

    signature: Signature
    span: Span


@dataclass(frozen=True, slots=True)
class Tried:
    """A lever that the person says was tried, and where it says so."""

    lever: str
    span: Span
    helped: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known. ``stated`` holds facts in the unit they were written in; ``values`` the same in each fact's own unit.

    ``values`` is computed from ``stated`` by ``diagnose.batch.resolve``; a lever changes ``stated`` through ``with_fact``.
    ``keys`` maps a fact to the key that the run's framework and version uses for it, also where the paste does not set it.
    ``config`` holds every memory-relevant key as the person wrote it.
    """

    stated: Mapping[str, Fact] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    framework: Framework | None = None
    model: Model | None = None
    gpu: Gpu | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    dead_keys: frozenset[str] = frozenset()
    config: Mapping[str, str] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    tried: tuple[Tried, ...] = ()
    candidates: tuple[str, ...] = ()
    unknown_model: str = ""
    notes: tuple[str, ...] = ()

    def number(self, id: str) -> float | None:
        """The value of a number fact, or None when it is unknown."""
        value = self.values.get(id)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def flag(self, id: str) -> bool | None:
        """The value of a yes/no fact, or None when it is unknown."""
        value = self.values.get(id)
        return value if isinstance(value, bool) else None

    def certain(self, id: str) -> bool:
        """Whether the paste or the person says it."""
        return id in self.stated and self.stated[id].certain

    def with_fact(self, fact: Fact) -> Facts:
        """These facts with one changed, everything that follows from it computed again."""
        stated = {**self.stated, fact.id: fact}
        return replace(self, stated=stated, values=resolve(stated))


# --- estimate


@dataclass(frozen=True, slots=True)
class Term:
    """One named amount of memory in one phase of one pool, in bytes; ``low`` and ``high`` are its band.

    ``family``: held, work, engine or fixed. ``how`` is the formula with the numbers put in; ``moved_by`` the facts in it.
    """

    id: str
    title: str
    family: str
    bytes: int
    low: int
    high: int
    how: str
    source: str
    moved_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseEstimate:
    """The worst moment of one phase in one pool."""

    phase: str
    moment: str
    terms: tuple[Term, ...]

    @property
    def bytes(self) -> int:
        return sum(term.bytes for term in self.terms)

    @property
    def low(self) -> int:
        return sum(term.low for term in self.terms)

    @property
    def high(self) -> int:
        return sum(term.high for term in self.terms)


@dataclass(frozen=True, slots=True)
class PoolEstimate:
    """One pool over all phases, in the order of a step. ``capacity`` is bytes, ``limit`` the bytes at which it kills."""

    pool: Pool
    phases: tuple[PhaseEstimate, ...]
    capacity: int | None = None
    limit: int | None = None
    capacity_why: str = ""
    limit_why: str = ""

    @property
    def peak(self) -> PhaseEstimate:
        return max(self.phases, key=lambda phase: phase.bytes)

    def phase(self, id: str) -> PhaseEstimate | None:
        return next((phase for phase in self.phases if phase.phase == id), None)

    def verdict(self, phase: PhaseEstimate | None = None) -> str:
        """``out``, ``close`` (the band crosses the limit with its middle below it), ``fits`` or ``unknown``."""
        if self.limit is None:
            return "unknown"
        phases = (phase,) if phase else self.phases
        if any(p.bytes > self.limit for p in phases):
            return "out" if any(p.low > self.limit for p in phases) else "close"
        return "close" if any(p.high > self.limit for p in phases) else "fits"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory per pool. ``missing`` names the facts without which a pool cannot be computed (then that pool is None).

    ``torch_allocated`` and ``torch_reserved`` are the trainer process's own peaks in bytes, without an engine's pool.
    """

    gpu: PoolEstimate | None = None
    host: PoolEstimate | None = None
    torch_allocated: int | None = None
    torch_reserved: int | None = None
    missing: tuple[str, ...] = ()

    def pool(self, pool: Pool) -> PoolEstimate | None:
        return self.gpu if pool == "gpu" else self.host


# --- advice


@dataclass(frozen=True, slots=True)
class CaseMatch:
    """A case that is near, from 0 to 1, and why: the facts that are the same and those that differ (id, here, there)."""

    case: Case
    score: float
    same: tuple[tuple[str, Value], ...]
    differs: tuple[tuple[str, Value, Value], ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often a lever worked, failed or was only suggested, as the slugs of the cases that say so."""

    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One key of the person's own configuration, before and after. ``span`` is None when the key is not in the paste.

    ``before`` is None when nothing sets it. Without ``key`` (more cards, a version) the change is outside the configuration.
    """

    fact: str
    key: str
    before: str | None
    after: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a patch: ``mark`` is " ", "-" or "+"; ``number`` is the line of the person's text, None for a new one."""

    mark: str
    number: int | None
    text: str
    bold: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Prescription:
    """A lever with what it does to this run. ``before`` and ``after`` are the failing phase's bytes, None when not computed.

    ``phase`` is the phase that the figures are of. ``length_range`` is the range of real response lengths (tokens; None = no
    end within the limit) in which the run as it is runs out and the changed one fits. ``sure`` are the changes of a further
    step that fits with its whole band, where ``changes`` leaves it too close to call.
    """

    lever: Lever
    changes: tuple[Change, ...]
    pool: Pool
    phase: str
    before: PhaseEstimate | None
    after: PhaseEstimate | None
    after_verdict: str
    evidence: Evidence
    why: str
    patch: tuple[PatchLine, ...] = ()
    length_range: tuple[int | None, int | None] | None = None
    other_pool: tuple[int, int] | None = None
    sure: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class NotAdvised:
    """A lever that people would expect here, and what speaks against it.

    ``reason``: on, tried, elsewhere (another pool or phase), absent (not in this framework or version) or no_gain.
    """

    lever: Lever
    reason: str
    why: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose answer would change the advice: by how much it moves the failing pool's peak, in bytes (0 = unknown)."""

    question: Question
    moves: int
    options: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The whole answer. ``pool`` and ``phase`` are what failed, None where nothing settles it.

    ``verdict`` is the estimate's word on that: out, close, fits or unknown.
    """

    paste: Paste
    facts: Facts
    kind: str | None
    phase: str | None
    pool: Pool | None
    verdict: str
    estimate: Estimate
    matches: tuple[CaseMatch, ...] = ()
    prescriptions: tuple[Prescription, ...] = ()
    not_advised: tuple[NotAdvised, ...] = ()
    questions: tuple[Asked, ...] = ()
