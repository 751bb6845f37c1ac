"""In which order levers are said: what fits, then by where the situation ranks them, what others report, and what they save.

The orders themselves are content: ``order`` and ``ranks`` of each lever. Here stands only how they are weighed against
figures and evidence; the weights are our choice, not counted from cases.
"""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.bears import bears_on
from diagnose.conditions import holds
from diagnose.knowledge.records import Lever, LeverRank
from diagnose.prescribe.evidence import Record
from diagnose.prescribe.of_phase import sizes_its_pass
from diagnose.prescribe.outcome import Move, Trial
from diagnose.prescribe.situation import ROOM, Situation

# Levers from this order on need other machines or another model; whatever else fits comes before.
HARDWARE = 85
# The order at or below which a rank with a reason of its own is as good as a change that fits.
TELLING = 4
# A saving below this share of the phase helps only where it carries the phase over the line.
_LITTLE = 0.05
# Nobody would notice this share of what was in use.
_UNSEEN = 0.01
# What a saving of the whole phase and a near case are worth, in places of the order.
SAVED, _NEAR_CASE = 40.0, 20.0
# Places that a move goes back where a setting explains the failure by itself.
_BEHIND = 10
# The place of a move away from a version that came after those with which the run worked.
_REGRESSION = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lever that may be said: what it does here, what cases say of it, and whether its condition is open.

    ``move`` is the named version, where the lever is a move to one.
    """

    lever: Lever
    trial: Trial
    record: Record
    situation: Situation
    undecided: bool
    move: Move | None = None

    @property
    def rank(self) -> LeverRank | None:
        """Its place in this situation. What broke a run that older versions held stands first."""
        if self.move is None:
            return rank_of(self.lever, self.situation)
        broke = self.move.first.introduced.version and self.situation.values.get("worked_before") is True
        order = _REGRESSION if broke else self.move.first.order
        if (room := self.situation.room) and room.filled and not broke:
            order += _BEHIND  # no version makes room in a share that the engine alone fills
        return LeverRank(when={}, order=order, why="" if self.undecided else self.move.first.title)


def rank_of(lever: Lever, situation: Situation) -> LeverRank | None:
    """The first of the lever's ranks that surely holds."""
    return next((rank for rank in lever.ranks if holds(rank.when, situation.signs)), None)


def in_order(candidates: list[Candidate]) -> list[Candidate]:
    """Best first."""
    return sorted(candidates, key=_key)


def _key(candidate: Candidate) -> tuple[float | str, ...]:
    lever, record, group = candidate.lever, candidate.record, _group(candidate)
    if lever.order >= HARDWARE and candidate.situation.failing is not None:
        # where most of what is in use stands in no estimate, a share of the rest fits nowhere
        group = max(1, group) if candidate.situation.pass_unexplained else _on_others(group)
    costly = 0
    # other machines stand behind what fits on these, also where what they save cannot be told
    elsewhere = lever.order >= HARDWARE and candidate.situation.failing is not None
    if group == 0 and (_computed(candidate) or elsewhere):
        costly = 2 if lever.order >= HARDWARE else 0 if lever.results == "same" else 1
    # What worked near by comes first, unless it costs results and may not be enough here; what failed there moves down by its place
    # alone, since it may not have been enough there.
    leads = group == 0 and not (costly and candidate.trial.verdict != "fits")
    near = -max(0.0, round(record.near, 2)) if leads else 0.0
    return (
        group,
        near,
        costly,
        round(_place(candidate, group), 1),
        -round(record.suggested, 2),
        lever.order,
        lever.slug,
    )


def _on_others(group: float) -> float:
    """What fits on other machines stands behind what comes close on these, and what comes close there behind what may help here."""
    return {0: 0.6, 0.5: 1}.get(group, group)


def _computed(candidate: Candidate) -> bool:
    """Whether figures speak; where the settings do not explain the failure a saving is no measure of help."""
    trial = candidate.trial
    return (trial.after is not None or trial.room is not None) and candidate.situation.explained is not False


def _group(candidate: Candidate) -> float:
    """0: it fits, or the text itself speaks for it. 0.5: it comes close, and no figure is a guess. 1: it may help.

    2: it is a guess itself, or saves too little to notice.
    """
    trial, situation = candidate.trial, candidate.situation
    rank = candidate.rank
    if rank and rank.why and rank.order <= TELLING:
        return 0
    before, limit = situation.failing, situation.limit
    fitted = bool(before and limit and before.high <= limit and not situation.unexplained)
    if fitted and (suspects := _suspects(situation)):
        # the figure rests on a guess and leaves room: what was guessed is the first suspect, and that another change fits tells nothing
        return 0 if candidate.lever.changes and candidate.lever.changes[0].fact in suspects else 1
    if _supposed(candidate):
        return 1
    if situation.pass_unexplained and _first_suspect(candidate):
        return 0
    if not _computed(candidate):
        return 2 if candidate.undecided and candidate.record.near <= 0 else 1
    if trial.room:
        return 0 if trial.verdict == "fits" and not trial.worsens else 1
    # what fills the card to the brim with blocks that are only cached is no answer yet
    within = trial.after and limit and trial.after.bytes + situation.unexplained <= limit
    enough = ("fits", "close") if situation.unexplained and within else ("fits",)
    little = _saved(candidate) < _LITTLE
    if not little and _went_through(candidate):
        return 0
    if trial.verdict in enough or trial.sure:
        # where the run as it is seems to fit, or the changed one just might, a saving that nobody would notice is no answer
        unseen = trial.verdict == "close" and not trial.sure and _saved(candidate) < _UNSEEN
        return 2 if (little and fitted and not _first_suspect(candidate)) or unseen else 0
    crosses = before and limit and trial.after and trial.after.bytes <= limit < before.bytes
    if little and not crosses:
        # of a card whose size nobody tells a little may be all that is lacking
        return 1 if limit is None and _first_suspect(candidate) else 2
    return 0.5 if trial.verdict == "close" and not situation.before.missing else 1


def _went_through(candidate: Candidate) -> bool:
    """Whether it saves more than was lacking in a phase that the run went through in steps before, where the figures are too high."""
    situation, after = candidate.situation, candidate.trial.after
    over, limit = situation.overdrawn, situation.limit
    return bool(over and limit and after and after.bytes - over <= limit * ROOM)


def _suspects(situation: Situation) -> tuple[str, ...]:
    """The facts of which the failing phase's figure rests on a guess."""
    phase = situation.failing.phase if situation.failing else ""
    return tuple(id for id in situation.before.missing if bears_on(id, phase, situation.values))


def _first_suspect(candidate: Candidate) -> bool:
    """Whether it makes the failing pass smaller and leaves results alone, where that pass is larger than the estimate explains."""
    lever = candidate.lever
    return lever.results == "same" and bool(candidate.trial.changes) and sizes_its_pass(lever, candidate.situation)


def _supposed(candidate: Candidate) -> bool:
    """Whether it acts on a critic that only a trainer’s default says is there, since nothing that was read names the algorithm."""
    changes, facts = candidate.lever.changes, candidate.situation.facts
    of_critic = bool(changes) and changes[0].fact.startswith(("has_critic", "critic_"))
    return of_critic and not facts.certain("has_critic") and not facts.certain("algo")


def _saved(candidate: Candidate) -> float:
    """The share of the failing phase that the lever takes away, of what was measured there where that is more."""
    before, after = candidate.situation.failing, candidate.trial.after
    if not before or not after or not before.bytes:
        return 0.0
    return (before.bytes - after.bytes) / (before.bytes + candidate.situation.unexplained)


def _place(candidate: Candidate, group: float) -> float:
    """The lever's order here, moved by what cases report and, where it does not fit alone, by how much it saves."""
    lever, record, rank = candidate.lever, candidate.record, candidate.rank
    place = float(rank.order if rank else lever.order)
    if group > 0 and _computed(candidate):
        place -= SAVED * _saved(candidate)
    return place - _NEAR_CASE * record.near
