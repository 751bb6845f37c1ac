"""The sentences of an answer, written once for the page, the terminal and the issue block. British spelling, no markup."""

from __future__ import annotations

from diagnose.bears import bears_on
from diagnose.facts.failing.kind import cause_open, not_memory
from diagnose.facts.hardware.memory_limits import job_limited
from diagnose.possible import ground, possible_phases
from diagnose.types import Diagnosis, Estimate, Facts, PhaseEstimate, PoolEstimate
from diagnose.vocabulary import FACTS, KINDS, PHASES
from diagnose.words import untrained
from diagnose.words.apart import ON_ENGINES_CARD, of_phase
from diagnose.words.beside import before_state, counted_beyond, other_out
from diagnose.words.figures import NBSP, band_words, gib, phase_gib, phase_tenths
from diagnose.words.lists import listed
from diagnose.words.measured import growth_words, starts_from
from diagnose.words.room import room_words
from diagnose.words.shared import shared_words
from diagnose.words.untold import OPEN, cards_untold, for_cards, untold
from diagnose.words.values import algo_words
from diagnose.words.values import in_sentence as in_sentence
from diagnose.words.values import value_words as value_words

VERDICTS = {
    "out": "runs out",
    "close": "too close to call",
    "fits": "fits",
    "unknown": "facts missing",
    "open": "by an estimate that does not explain the failure",
}

_NEXT = {
    "other": "Give the last 20 lines of the worker that failed first, or the line of the kernel or of Ray that names the memory.",
    "unknown": "Give the launch command, or name model, cards and lengths.",
    "cards": "The advice is for GPU memory, the likelier of the two in a training; host RAM would need other changes.",
    "serves": "This command runs an engine alone: there is no optimizer and no phase of training, only its weights, graphs and cache.",
}


_FEW = 3  # phases that are worth naming as those that are left
_WITHOUT_ROWS = ("load", "optimizer_step", "checkpoint")


def phase_words(phase: str | None) -> str:
    return PHASES.get(phase or "", "phase not known")


def run_words(facts: Facts) -> tuple[str, ...]:
    """Who and what in one line: framework, algorithm, model, cards; only what is known."""
    values = facts.values
    framework = facts.trainer or values.get("framework")
    card = " ".join(str(part) for part in (values.get("gpu_model"), card_size(facts)) if part)
    count = values.get("n_gpus") if not facts.cards_open else None
    cards = (
        card
        if count is None
        else f"{count}{NBSP}×{NBSP}{card}"
        if card
        else f"{count}{NBSP}GPU{'s' if count != 1 else ''}"
    )
    algo = algo_words(str(values["algo"])) if facts.algo_told else ""
    parts = (framework, algo, values.get("model"), cards)
    return tuple(str(part) for part in parts if part)


def card_size(facts: Facts) -> str:
    """``80GB`` as the card is sold, or nothing."""
    size = facts.number("gpu_mem_gib")
    return f"{size:.10g}GB" if size else ""


def presumed(facts: Facts) -> str:
    """Why the kind is only likely, where no message settles it; empty where one does."""
    kind = facts.stated.get("oom_kind")
    return kind.why if kind is not None and kind.origin == "assumed" else ""


def _beside(diagnosis: Diagnosis) -> list[str]:
    """What a message of another failure says, where no message names the memory that ran out."""
    hits = diagnosis.facts.hits if diagnosis.kind == "other" and cause_open(diagnosis.facts) else ()
    return [hit.signature.not_memory for hit in hits if hit.signature.not_memory][:1]


def lead(diagnosis: Diagnosis) -> str:
    """One or two sentences below the headline: the figure, then what it is made of or what is missing."""
    if told := not_memory(diagnosis.facts):
        return told.not_memory
    before = [f"{likely}."] if (likely := presumed(diagnosis.facts)) else []
    before += (
        [f"{lack.says} Nothing is estimated: name the trainer that runs."] if (lack := diagnosis.facts.lack) else []
    )
    if diagnosis.facts.serves and diagnosis.estimate.gpu is not None:
        before.append(_NEXT["serves"])
    return " ".join((*before, *_beside(diagnosis), _lead(diagnosis))).rstrip()


def _lead(diagnosis: Diagnosis) -> str:
    """The figure, or what is missing for one."""
    pool = diagnosis.estimate.pool(diagnosis.pool or "gpu")
    if diagnosis.kind == "host_shm":
        return shared_words(diagnosis.facts)
    if pool is None or not pool.phases:
        return " ".join(part for part in (lacking(diagnosis.estimate), next_step(diagnosis)) if part)
    if diagnosis.facts.engine_card:
        return ON_ENGINES_CARD
    phase = worst(diagnosis, pool)
    if diagnosis.room:
        # all that stands on the card when the engine alone has started is told where it may be too much
        failed = diagnosis.kind is not None
        full = "" if failed or pool.verdict() == "fits" else _need(phase, pool, limited=job_limited(diagnosis.facts))
        told = (
            room_words(diagnosis.room, failed=failed),
            full,
            _taken(diagnosis, pool, pool.worst),
            untold(diagnosis),
        )
        return " ".join(part for part in told if part)
    apart = of_phase(diagnosis, pool, phase_words(diagnosis.phase))
    largest = max(phase.terms, key=lambda term: term.bytes, default=None)
    parts = [apart, f"{_need(phase, pool, limited=job_limited(diagnosis.facts))} {cards_untold(pool, phase)}".rstrip()]
    if largest is not None and largest.bytes:
        whose = "the " if largest.title.startswith(("engine's", "sleeping engine")) else ""
        parts.append(f"The largest part is {whose}{in_sentence(largest.title)}, {gib(largest.bytes)}.")
    parts.append(_first_step(diagnosis, pool, phase))
    if diagnosis.kind and diagnosis.phase is None and diagnosis.kind in ("gpu_oom", "gpu_oom_raw"):
        parts.append("The text itself does not settle the phase.")
        parts.append(_left(diagnosis.facts, pool))
    parts += [_taken(diagnosis, pool, phase), untold(diagnosis)]
    grown = [growth_words(one, diagnosis.estimate) for one in diagnosis.facts.growth if one.pool == diagnosis.pool]
    if diagnosis.kind == "memory_growth" and grown:
        return " ".join(part for part in (grown[0], *parts) if part)
    if diagnosis.kind and pool.verdict(phase.computed) == "fits":
        parts.append(_unexplained(diagnosis, phase))
    parts += [starts_from(diagnosis), _elsewhere_too(diagnosis, pool), _of_open_kind(diagnosis)]
    return " ".join(part for part in parts if part)


def _of_open_kind(diagnosis: Diagnosis) -> str:
    """Which memory is advised on where nothing says which ran out, and what would settle it."""
    if diagnosis.kind != "other":
        return ""
    return f"{_NEXT['cards']} {_NEXT['other']}" if for_cards(diagnosis) else _NEXT["other"]


def _first_step(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate) -> str:
    """Why the first step passed and the second did not; empty where Adam's state is not why."""
    if (before := before_state(diagnosis, pool, phase)) is None:
        return ""
    named = max(phase.terms, key=lambda term: term.bytes).bytes == before.state  # by the sentence before this one
    what = "It" if named else f"Adam’s state, {gib(before.state)} of it,"
    there = f"{what} is there from the first optimizer step on"
    return f"{there}: before, the {phase_words(phase.phase)} needs {gib(before.rest)}, so that a first step may pass."


def _elsewhere_too(diagnosis: Diagnosis, pool: PoolEstimate) -> str:
    """The other pool, where it runs out as surely by the estimate: a change that helps the one that failed is not enough."""
    other = other_out(diagnosis, pool)
    if other is None:
        return ""
    peak, what = other.worst, "host RAM runs" if other.pool == "host" else "the cards run"
    return f"By the estimate {what} out as well: the {phase_words(peak.phase)} needs {phase_gib(peak)} of {gib(other.limit or 0)}."


def _taken(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate) -> str:
    """What stands in for what nobody says; of a run that is asked about also that it trains all."""
    open_facts = guessed(diagnosis, pool, phase)
    names = [OPEN.get(id) or in_sentence(FACTS[id].title.partition(" (")[0]) for id in open_facts]
    told = f"Nothing says {' or '.join(names[:4])}: the figure rests on a guess there." if names else ""
    whole = diagnosis.facts.planned and not diagnosis.facts.serves and "full_or_lora" not in diagnosis.facts.values
    return (
        f"{told} All parameters are taken as trained: nothing says that only adapters are.".lstrip() if whole else told
    )


def guessed(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate) -> list[str]:
    """Which facts of this pool nothing says, so that a guess stands in the figure: those on which a term of the phase hangs.

    Where rows pass through the cards a setting beyond the sizes counts as well, since its term may be the one that is missing.
    """
    hang = {id for term in phase.terms for id in term.moved_by}
    passes = pool.pool == "gpu" and phase.phase not in _WITHOUT_ROWS
    counted = ("n_gpus",) if pool.otherwise else ()  # told in a sentence of its own
    found = [id for id in diagnosis.estimate.guessed(pool.pool) if id in FACTS and id not in counted]
    may = [
        id
        for id in found
        if passes and FACTS[id].group != "sizes" and bears_on(id, phase.phase, diagnosis.facts.values)
    ]
    return [id for id in found if id in hang or id in may]


def _unexplained(diagnosis: Diagnosis, phase: PhaseEstimate) -> str:
    """What the message counts on the node beside what the settings come to, where it counts."""
    if used := counted_beyond(diagnosis, phase):
        return f"The message counts {used:,.1f}{NBSP}GiB in use on the node; the settings that are known do not explain the rest."
    return "The settings that are known do not explain the failure."


def _need(phase: PhaseEstimate, pool: PoolEstimate, *, limited: bool) -> str:
    name, has = phase_words(phase.phase), "the node" if pool.pool == "host" else "the card"
    holds = "the job may use" if pool.pool == "host" and limited else f"{has} has"
    band = f" ({told})" if (told := band_words(*phase_tenths(phase))) else ""
    if pool.capacity is None:
        beside = " beside the engine’s KV cache, a share of a card" if _without_cache(phase) else ""
        return f"The {name} needs about {phase_gib(phase)}{band}{beside}; how much {has} has is not known."
    if phase.measured is not None:
        apart = ": they disagree by more than its band" if phase.disagrees else ""
        computed = f"by the estimate it needs {phase_gib(phase)}{band}{apart}"
        return (
            f"The log shows {gib(phase.measured)} in the {name}; {computed}. {holds.capitalize()} {gib(pool.capacity)}."
        )
    return f"The {name} needs about {phase_gib(phase)}{band}; {holds} {gib(pool.capacity)}."


def _left(facts: Facts, pool: PoolEstimate) -> str:
    """Which phases of the run alone are left, and by what."""
    left = [phase_words(phase) for phase in possible_phases(facts, pool) if pool.pool == "gpu" and pool.phase(phase)]
    if not left or len(left) > _FEW:
        return ""
    where = " or the ".join(left)
    if (by := ground(facts, pool)) == "estimate":
        highest = pool.worst
        return f"The {phase_words(highest.phase)} is higher, {phase_gib(highest)}, and has room; more may be taken in the {where} alone."
    if by == "size":
        return f"A tensor of the size asked for is made in the {where}."
    whose = "an engine’s" if "init" in facts.among else "that of a pass of the model"
    return f"Its traceback is {whose}, in the {where}."


def _without_cache(phase: PhaseEstimate) -> bool:
    """Whether an engine is awake in the phase whose cache nobody can count while the card's size is not known."""
    return {"engine_weights", "kv_pool"} & {term.id for term in phase.terms} == {"engine_weights"}


def worst(diagnosis: Diagnosis, pool: PoolEstimate) -> PhaseEstimate:
    """The failing phase where it is known and estimated, else the one that the verdict hangs on."""
    if diagnosis.phase is None and (left := possible_phases(diagnosis.facts, pool)):
        return pool.highest(left)
    return (pool.phase(diagnosis.phase) if diagnosis.phase else None) or pool.deciding


def lacking(estimate: Estimate) -> str:
    """What an estimate lacks, in words; empty when it lacks nothing."""
    return f"No full estimate: {nothing_tells(estimate)}." if estimate.missing else ""


def nothing_tells(estimate: Estimate) -> str:
    """``nothing tells the model or the GPUs of the whole run``."""
    names = (in_sentence(FACTS[id].title) if id in FACTS else id for id in estimate.missing)
    return f"nothing tells {listed([f'the {name}' for name in names], 'or')}"


def next_step(diagnosis: Diagnosis) -> str:
    """What to give next when too little is known, or why nothing more would help."""
    if diagnosis.facts.values.get("trains") is False and not (diagnosis.facts.serves and diagnosis.estimate.missing):
        return untrained.told(diagnosis)
    if diagnosis.kind == "other":
        return _of_open_kind(diagnosis)
    if diagnosis.kind is None:
        return _NEXT["unknown"]
    return _NEXT["unknown"] if diagnosis.estimate.gpu is None else ""


def kind_words(kind: str | None) -> str:
    return KINDS.get(kind or "", "not known")
