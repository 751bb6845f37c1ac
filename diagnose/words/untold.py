"""What stands in a figure although nobody told it: a number of cards, a trainer's defaults, adapters, and its newest version."""

from __future__ import annotations

from diagnose.facts.failing.kind import cause_open
from diagnose.types import Diagnosis, Facts, PhaseEstimate, PoolEstimate, Turn
from diagnose.vocabulary import FACTS
from diagnose.words.figures import gib

# facts whose titles are no names for what is open
OPEN = {"optimizer_on_cpu": "whether the optimizer lives on the host"}
# Groups in which a fact is a setting that somebody told. Of the engine a log tells much that nobody set; an answer is one.
_TELLS = {"read": ("sizes", "memory"), "answered": ("sizes", "memory", "engine")}
_VERDICTS = {"out": "which runs out", "close": "which is too close to call", "fits": "which fits"}


def untold(diagnosis: Diagnosis) -> str:
    """All of them in sentences; empty where none stands in the figure."""
    told = (_by_default(diagnosis.facts), _by_tuner(diagnosis), _by_version(diagnosis))
    return " ".join(said for said in told if said)


def cards_untold(pool: PoolEstimate, phase: PhaseEstimate) -> str:
    """Which number of cards the figure is for, and what another one comes to; empty where the number is told."""
    other = pool.otherwise.phase(phase.phase) if pool.otherwise else None
    if pool.otherwise is None or other is None:
        return ""
    here, there, size = _cards(pool.cards), _cards(pool.otherwise.cards), gib(other.bytes)
    said = "Nothing says how many cards there are: the figure is for"
    if pool.otherwise.cards < pool.cards:
        return f"{said} {here} that share the work as the settings say; on {there} it would be {size}."
    if not pool.otherwise.sharded:
        return f"{said} {here}; of {there} each would need {size}."
    alone = "one card, and several that shard nothing need no less"
    figure = alone if pool.cards == 1 else f"{here} that shard nothing"
    return f"{said} {figure}; on {there} that shard everything it would be {size}."


def _cards(number: int) -> str:
    return "one card" if number == 1 else f"{number} cards"


def _by_version(diagnosis: Diagnosis) -> str:
    if (turn := turned_by_version(diagnosis)) is None:
        return ""
    trainer, verdict = diagnosis.facts.trainer, _VERDICTS[turn.verdict]
    return f"The version of {trainer} is not told and taken as the newest: with {turn.answer} it would be {gib(turn.bytes)}, {verdict}."


def turned_by_version(diagnosis: Diagnosis) -> Turn | None:
    """The release by which a run that fits runs out, or comes close to it, where nothing tells the version; or by which one that is too
    close to call fits."""
    asked = (one for one in diagnosis.questions if one.question.fact == "framework_version")
    turn = next((one.turn for one in asked), None)
    if turn is None or "framework_version" in diagnosis.facts.values:
        return None
    other = {"fits": ("out", "close"), "close": ("fits",)}.get(diagnosis.verdict, ())
    return turn if turn.verdict in other else None


def _by_tuner(diagnosis: Diagnosis) -> str:
    if (turn := turned_by_tuner(diagnosis)) is None:
        return ""
    by = f"{diagnosis.facts.trainer} trains adapters by default" if diagnosis.facts.trainer else "adapters are taken"
    size, verdict = gib(turn.bytes), _VERDICTS[turn.verdict]
    return f"Nothing says whether all parameters are trained: {by}; with all of them it would be {size}, {verdict}."


def turned_by_tuner(diagnosis: Diagnosis) -> Turn | None:
    """What training all parameters comes to, where adapters fit that nobody asked for and all parameters do not, or hardly."""
    tuner = diagnosis.facts.stated.get("full_or_lora")
    if (
        tuner is None
        or tuner.origin not in ("default", "assumed")
        or tuner.value == "full"
        or diagnosis.verdict != "fits"
    ):
        return None
    asked = (one for one in diagnosis.questions if one.question.fact == "full_or_lora")
    turn = next((one.turn for one in asked), None)
    return turn if turn and turn.answer == "full" and turn.verdict in ("out", "close") else None


def _by_default(facts: Facts) -> str:
    if facts.shipped:
        return f"What nobody told is taken from {facts.shipped} as it is shipped: paste your own if it says something else."
    if not on_defaults(facts):
        return ""
    return f"No setting of the run was read: {facts.trainer}’s defaults stand for what nobody told."


def on_defaults(facts: Facts) -> bool:
    """Whether a trainer's defaults stand for all settings, since none was told by key, word or answer: nobody runs by them alone."""
    stand = any(fact.origin == "default" for fact in facts.stated.values())
    told = any(FACTS[fact.id].group in _TELLS.get(fact.origin, ()) for fact in facts.stated.values())
    return stand and not told and bool(facts.trainer) and not facts.configured and not facts.serves


def for_cards(diagnosis: Diagnosis) -> bool:
    """Whether all advice is for the cards though nothing says which memory ran out."""
    gpu = diagnosis.estimate.gpu
    if diagnosis.kind != "other" or cause_open(diagnosis.facts) or diagnosis.pool or (gpu and gpu.verdict() == "fits"):
        return False
    advised = diagnosis.facts.configured and bool(diagnosis.prescriptions)
    return advised and all(one.pool == "gpu" for one in diagnosis.prescriptions)
