"""What follows for the person: near cases, changes, what speaks against others, questions, and the whole answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from diagnose.types.estimate import CacheRoom, Estimate, PhaseEstimate
from diagnose.types.facts import Fact, Facts
from diagnose.types.paste import Paste, Span
from diagnose.vocabulary import Pool, Value

if TYPE_CHECKING:
    from diagnose.knowledge.records import Advisory, Case, Lever, Question


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


# what a change comes to where the number that it starts from is not known
LESS, MORE = "less than now", "more than now"


@dataclass(frozen=True, slots=True)
class Change:
    """One key of the person's own configuration, before and after. ``span`` is None when the key is not in the paste.

    ``before`` is None when nothing sets it; ``shipped`` is the file that sets it where the paste only names one, as its project ships it.
    ``after`` may be ``LESS`` or ``MORE``.
    Without ``key`` (more cards, a version) the change is outside the configuration.
    """

    fact: str
    key: str
    before: str | None
    after: str
    span: Span | None = None
    shipped: str = ""


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a patch: ``mark`` is " ", "-" or "+"; ``number`` is the line of the person's text, None for a new one.

    ``bold`` are the parts that change, in order.
    """

    mark: str
    number: int | None
    text: str
    bold: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Prescription:
    """A lever with what it does to this run. ``before`` and ``after`` are the failing phase's bytes, None when not computed.

    ``phase`` is the phase that the figures are of. ``length_range`` is the range of real response lengths (tokens; None = no
    end within the limit) in which the run as it is runs out and the changed one fits. ``sure`` are the changes of a further
    step that fits with its whole band, where ``changes`` leaves it too close to call. ``advisories`` are those that name the
    version of a move, with their ``heading``.
    ``room`` is what the engine's start leaves its cache before and after, where that is what failed.
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
    other_pool: tuple[PhaseEstimate, PhaseEstimate] | None = None
    sure: tuple[Change, ...] = ()
    advisories: tuple[Advisory, ...] = ()
    heading: str = ""
    room: tuple[CacheRoom, CacheRoom] | None = None

    @property
    def title(self) -> str:
        return self.heading or self.lever.title


@dataclass(frozen=True, slots=True)
class Together:
    """Several levers at once, where none alone is enough: ``before`` is the failing phase, ``after`` the highest then.

    ``settings`` are the facts that change, each in its own unit; ``other_pool`` the peaks of the other pool, before and after.
    ``older`` tells what releases before call the keys that are new. ``spares``: one change alone is enough as well, and may change results.
    """

    levers: tuple[Lever, ...]
    changes: tuple[Change, ...]
    pool: Pool
    before: PhaseEstimate
    after: PhaseEstimate
    after_verdict: str
    settings: Mapping[str, Value]
    other_pool: tuple[PhaseEstimate, PhaseEstimate] | None = None
    patch: tuple[PatchLine, ...] = ()
    older: str = ""
    spares: bool = False

    @property
    def phase(self) -> str:
        """The phase that fails as it is."""
        return self.before.phase


class Ahead(NamedTuple):
    """A later phase that has no room either, once the first change is made: its estimate, the bytes that a card has, and the further
    changes by which the whole run fits, where such are known. ``next_step``: it went through once, before Adam had a state.
    """

    phase: PhaseEstimate
    limit: int
    together: Together | None
    next_step: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """An advisory that fits but for the version, which nothing tells for certain; ``at`` is the likely one."""

    advisory: Advisory
    at: Fact | None = None


@dataclass(frozen=True, slots=True)
class NotAdvised:
    """A lever that people would expect here, and what speaks against it.

    ``reason``: on, tried, cured, refused (by the framework, beside another setting), elsewhere (another pool or phase), absent
    (not in this framework or version), no_gain, or untold (what it would change).
    """

    lever: Lever
    reason: str
    why: str
    span: Span | None = None


class Advice(NamedTuple):
    """What to change, best first; the set that fits where none of these does alone; what people would expect here, with what speaks
    against it; what to check; what runs out next.
    """

    prescriptions: tuple[Prescription, ...] = ()
    together: Together | None = None
    not_advised: tuple[NotAdvised, ...] = ()
    checks: tuple[Check, ...] = ()
    ahead: Ahead | None = None


class Turn(NamedTuple):
    """An answer with which the verdict is another: the answer as written, the failing pool's bytes, and the verdict with it."""

    answer: str
    bytes: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose answer would change the advice: by how much it moves the failing pool's peak, in bytes (0 = unknown).

    ``turn`` is the tried answer that changes the verdict on it by the highest figure, if one does. ``adds`` is how far the highest
    lies above the present peak, in bytes.
    """

    question: Question
    moves: int
    options: tuple[tuple[str, str, str], ...] = ()
    turn: Turn | None = None
    adds: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The whole answer. ``pool`` and ``phase`` are what failed, None where nothing settles it.

    ``verdict`` is the estimate's word on that: out, close, fits or unknown. ``cases`` are those that were looked at.
    ``room`` is what the engine's start leaves its cache, where that is what failed. ``together`` is the set of changes that is
    enough where none of ``prescriptions`` is. ``ahead`` is what runs out next by the estimate.
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
    checks: tuple[Check, ...] = ()
    questions: tuple[Asked, ...] = ()
    cases: tuple[Case, ...] = ()
    room: CacheRoom | None = None
    together: Together | None = None
    ahead: Ahead | None = None

    def fits_after(self, first: int | None = None) -> bool:
        """Whether one of the ``first`` changes that are advised makes the run fit, or the set of them; not of a run that fits as it is."""
        if self.verdict == "fits":
            return False
        singles = any(given.after_verdict == "fits" for given in self.prescriptions[:first])
        return singles or (self.together is not None and self.together.after_verdict == "fits")
