"""The whole way as one pure function: a paste and answers in, a diagnosis out. Same input, same output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from diagnose.any_version import over_versions
from diagnose.base_type import with_base_type
from diagnose.batch import resolve
from diagnose.came_through import as_it_came_through
from diagnose.estimate import assumed_cards, assumed_lengths, cache_room, estimate, plan_of, with_failed_row
from diagnose.facts import read_facts
from diagnose.facts.failing.judges import of_failed_judge
from diagnose.facts.failing.kind import cause_open, not_memory, spoken_pool, told_other
from diagnose.facts.failing.signature import of_another_card
from diagnose.facts.whose_run import gave_way
from diagnose.facts.whose_run.cured import as_it_failed
from diagnose.facts.whose_run.one_run import of_last_run, told_so
from diagnose.ingest import read
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Case
from diagnose.match import match
from diagnose.possible import only_phase
from diagnose.prescribe import prescribe
from diagnose.prescribe.one_memory import in_one_memory
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.together import together
from diagnose.questions import ask
from diagnose.types import Advice, CacheRoom, Diagnosis, Estimate, Fact, Facts, Growth, Paste, Together
from diagnose.untold_length import with_engine_length
from diagnose.vocabulary import NO_CACHE, OF_CARDS, PHASES, POOL_OF_KIND, VERDICTS, Pool, Value

_BY_TRACEBACK = "no other phase of this run has such a traceback"
# in which a rank computes on its card alone; while an engine writes answers much stands on the host as well
_PASSES = tuple(phase for phase in OF_CARDS if phase != "rollout")
_POOLS: dict[str, Pool] = {"gpu": "gpu", "host": "host"}
# Cases, or what finds the near ones among very many by the facts and the text of a paste.
Cases = Sequence[Case] | Callable[[Facts, str], Sequence[Case]]


def diagnose(
    text: str | Paste,
    answers: Mapping[str, Value],
    knowledge: Knowledge,
    cases: Cases,
    exclude: Sequence[str] = (),
    passed: Callable[[str], None] = lambda stage: None,
    command_alone: bool = False,
    assumed: Collection[str] = (),
) -> Diagnosis:
    """What ran out, where and why, and what to change.

    ``answers`` are in each fact's own unit and outrank the paste; of a link, whether a ``command_alone`` told them, and which are
    ``assumed``. ``cases`` are those that the viewer may see, or what finds the near ones; one whose sources hold an address of ``exclude``
    counts neither in match nor in evidence, and an advisory that rests on one is not known. ``passed`` gets each stage that is done.
    """
    whole = text if isinstance(text, Paste) else read(text)
    own = of_last_run(whole)
    paste = of_failed_judge(now := gave_way.of_failure_now(own), knowledge.engines)
    passed("read")
    facts, before = facts_and_estimate(paste, answers, knowledge, passed, command_alone=command_alone, assumed=assumed)
    facts = replace(facts, notes=(*told_so(whole, own), *gave_way.told_so(own, now), *facts.notes))
    kind, phase = _word(facts, "oom_kind"), _word(facts, "phase")
    seen = _seen(cases, facts, paste, exclude)
    room = _room(facts, kind, knowledge)
    failed = kind or _foreseen(before, room)
    another = not_memory(facts) is not None
    pool = None if another else _pool(facts, paste, failed, before, phase)
    matches = () if another or _of_another_kind(facts) else match(facts, paste.text, seen)
    passed("match")
    advisories = [one for one in knowledge.advisories.values() if not one.addresses & set(exclude)]
    situation = in_one_memory(Situation(facts, before, failed, phase, pool, as_it_failed(paste), knowledge.fallback))
    none = another or _of_no_memory(facts, before, pool)
    advice = Advice() if none else prescribe(situation, knowledge, seen, matches, advisories)
    passed("prescribe")
    questions = ask(replace(situation, kind=kind), knowledge, advice.checks)
    passed("questions")
    failure = (kind, phase, pool, _verdict(before, pool, phase) if kind or not room else _of_server(before, room))
    given = (advice.prescriptions, advice.not_advised, advice.checks, questions)
    return Diagnosis(whole, facts, *failure, before, matches, *given, seen, room, advice.together, advice.ahead)


def facts_and_estimate(
    paste: Paste,
    answers: Mapping[str, Value],
    knowledge: Knowledge,
    passed: Callable[[str], None] = lambda stage: None,
    *,
    command_alone: bool = False,
    assumed: Collection[str] = (),
) -> tuple[Facts, Estimate]:
    """What a diagnosis rests on, without cases, advice and questions."""
    told = read_facts(paste, answers, knowledge, command_alone=command_alone, assumed=assumed)
    facts = _with_assumptions(told, paste, knowledge)
    passed("facts")
    facts, before = _estimated(facts, paste, knowledge)
    passed("estimate")
    return facts, before


def foresee(answers: Mapping[str, Value], knowledge: Knowledge) -> Diagnosis:
    """The same of a run that has not begun: what it needs by the estimate, without cases, advice and questions."""
    facts = facts_of(answers, knowledge)
    before = over_versions(estimate(facts, knowledge.fallback), facts, Paste(""), knowledge.fallback)
    pool = _tighter(before)
    return Diagnosis(Paste(""), facts, None, None, pool, _verdict(before, pool, None), before)


def brought_to_fit(diagnosis: Diagnosis, knowledge: Knowledge) -> Together | None:
    """The changes by which a run that has not begun fits; None where it fits as it is, no limit is known, or no set is enough."""
    pool: Pool = diagnosis.pool or "gpu"
    run = Situation(diagnosis.facts, diagnosis.estimate, None, None, pool, diagnosis.paste, knowledge.fallback)
    return together(run, knowledge.levers.values(), fewest=1)


def facts_of(answers: Mapping[str, Value], knowledge: Knowledge) -> Facts:
    """What answers alone make known."""
    return _with_assumed_lengths(read_facts(Paste(""), answers, knowledge), knowledge)


def facts_alone(answers: Mapping[str, Value], knowledge: Knowledge, assumed: Collection[str] = ()) -> Facts:
    """The facts of a diagnosis to which there are answers and no paste; those ``assumed`` nobody gave."""
    paste = Paste("")
    return _with_assumptions(read_facts(paste, answers, knowledge, assumed=assumed), paste, knowledge)


def estimate_case(case: Case, knowledge: Knowledge) -> Estimate:
    """The estimate of a case as it failed: its configuration is read as if it were pasted, its facts as if they were answers.

    Its sources are read too: they name the shipped script whose defaults hold; and its day, since no later release can have run.
    """
    day = [f"{case.date} 00:00"] if case.date else []
    paste = read("\n".join((*(f"{key}={value}" for key, value in case.config.items()), *case.sources, *day)))
    return estimate(_with_assumed_lengths(read_facts(paste, case.facts, knowledge), knowledge), knowledge.fallback)


def _estimated(facts: Facts, paste: Paste, knowledge: Knowledge) -> tuple[Facts, Estimate]:
    """The facts with what their estimate tells beside them, and the estimate of all of these."""
    before = over_versions(estimate(facts, knowledge.fallback), facts, paste, knowledge.fallback)
    facts = _of_a_pass(_with_only_phase(facts, before))
    came = as_it_came_through(facts, before, paste, knowledge.fallback)
    if came is facts:
        return facts, before
    return came, over_versions(estimate(came, knowledge.fallback), came, paste, knowledge.fallback)


def _seen(cases: Cases, facts: Facts, paste: Paste, exclude: Sequence[str]) -> tuple[Case, ...]:
    found = cases(facts, paste.text) if callable(cases) else cases
    return tuple(case for case in found if not set(case.sources) & set(exclude))


def _pool(facts: Facts, paste: Paste, kind: str | None, before: Estimate, phase: str | None) -> Pool | None:
    """The pool that grew, that ran out, or that is asked about."""
    return _grows(facts, paste) or failing_pool(kind, before, facts.growth, phase) or _asked_of(facts, before)


def failing_pool(
    kind: str | None, before: Estimate, grown: Sequence[Growth] = (), phase: str | None = None
) -> Pool | None:
    """The pool that the kind of failure names, or that grew where memory grows; else the only one that the estimate sees run out.

    What ran out in a phase in which the cards work is first looked for on the cards; else where alone it is too close to call.
    """
    if kind in POOL_OF_KIND:
        return POOL_OF_KIND[kind]
    if kind == "memory_growth" and len({one.pool for one in grown}) == 1:
        return grown[0].pool
    pools: tuple[Pool, ...] = ("gpu", "host")
    out = [name for name in pools if (pool := before.pool(name)) and pool.runs_out]
    if len(out) == 1 or kind != "other":
        return out[0] if len(out) == 1 else None
    close = [name for name in pools if (pool := before.pool(name)) and pool.verdict() == "close"]
    return "gpu" if phase in OF_CARDS else close[0] if len(close) == 1 and not out else None


def _room(facts: Facts, kind: str | None, knowledge: Knowledge) -> CacheRoom | None:
    """What an engine's start leaves its cache: where it found none, and where an engine runs alone and nothing failed."""
    asked = kind == NO_CACHE or (kind is None and facts.serves and not not_memory(facts))
    return cache_room(plan_of(facts, knowledge.fallback), facts.measured) if asked else None


def _foreseen(before: Estimate, room: CacheRoom | None) -> str | None:
    """The failure of an engine that has not failed and would not start; what runs out before is seen by the estimate itself."""
    refused = room is not None and room.verdict == "out" and _verdict(before, "gpu", None) != "out"
    return NO_CACHE if refused else None


def _of_server(before: Estimate, room: CacheRoom) -> str:
    """The worse word of two: whether its start passes, and whether all that then stands on the card fits."""
    return max(room.verdict, _verdict(before, "gpu", None), key=VERDICTS.index)


def _asked_of(facts: Facts, before: Estimate) -> Pool | None:
    """The cards, where somebody asks whether a run fits and the estimate is too close to say so."""
    return "gpu" if facts.planned and before.gpu is not None and before.gpu.verdict() == "close" else None


def _of_no_memory(facts: Facts, before: Estimate, pool: Pool | None) -> bool:
    """Whether another failure is told first and no memory runs out by the estimate: then nothing says that less of it would help.

    A phase in which the cards work makes them the likelier memory, and no failure one of memory.
    """
    estimated = before.pool(pool) if pool else None
    return told_other(facts) and not (estimated and estimated.runs_out)


def _of_another_kind(facts: Facts) -> bool:
    """Whether it trains nothing and serves no training: the cases are all of trainings."""
    return facts.values.get("trains") is False and facts.values.get("rollout_mode") != "server"


def _grows(facts: Facts, paste: Paste) -> Pool | None:
    """Whose memory grows: by answer, by the line that says that some does, else by the messages of what ran out in the end.

    What was measured outranks all but the answer, and is looked at by ``failing_pool``.
    """
    kind = facts.stated.get("oom_kind")
    if kind is None or kind.value != "memory_growth":
        return None
    if pool := _POOLS.get(str(facts.values.get("growing_pool"))):
        return pool
    if facts.growth:
        return None
    if pool := _spoken_of(kind, paste):
        return pool
    ended = {POOL_OF_KIND.get(hit.signature.kind) for hit in facts.hits if hit.signature.strength >= 2} - {None}
    return ended.pop() if len(ended) == 1 else None


def _spoken_of(kind: Fact, paste: Paste) -> Pool | None:
    """The memory that a person's line names beside the failure, where it names one alone."""
    span = kind.span
    line = paste.line(span.line) if span else None
    if span is None or line is None:
        return None
    return spoken_pool(line.words, span.start - line.offset, span.end - line.offset)


def _with_only_phase(facts: Facts, before: Estimate) -> Facts:
    """The phase of a failure on a card, where none is told and the traceback leaves one alone of this run."""
    told = "phase" in facts.values or facts.values.get("oom_kind") not in ("gpu_oom", "gpu_oom_raw")
    phase = None if told else only_phase(facts, before.gpu)
    return facts if phase is None else facts.with_fact(Fact("phase", phase, "derived", why=_BY_TRACEBACK))


def _of_a_pass(facts: Facts) -> Facts:
    """The cards as what probably ran out, where a person's words name no memory and put the failure in a pass of a model."""
    told, phase = facts.stated.get("oom_kind"), _word(facts, "phase")
    passes = (*_PASSES, "rollout") if facts.values.get("rollout_engine", "hf") == "hf" else _PASSES
    if told is None or told.value != "other" or cause_open(facts) or phase not in passes:
        return facts
    if any(hit.signature.kind in POOL_OF_KIND for hit in facts.hits):
        return facts
    why = f"The words name no memory; the {PHASES[phase]} runs on the cards"
    return facts.with_fact(replace(told, value="gpu_oom", origin="assumed", why=why))


def _with_assumptions(facts: Facts, paste: Paste, knowledge: Knowledge) -> Facts:
    """The number of cards, the type of a base, an engine’s length and the real lengths that the estimate would take, stated as such."""
    cards = assumed_cards(facts, knowledge.fallback, of_another_card(facts.hits, paste))
    facts = facts if cards is None else facts.with_fact(cards)
    facts = with_engine_length(with_base_type(facts, knowledge.fallback), knowledge.fallback)
    return _with_assumed_lengths(facts, knowledge, paste)


def _with_assumed_lengths(facts: Facts, knowledge: Knowledge, paste: Paste | None = None) -> Facts:
    """The real lengths that the estimate would assume, stated as assumptions, so that they are shown and can be answered."""
    facts = with_failed_row(facts, knowledge.fallback, paste)
    lengths = {fact.id: fact for fact in assumed_lengths(facts, knowledge.fallback)}
    if not lengths:
        return facts
    stated = {**facts.stated, **lengths}
    return replace(facts, stated=stated, values=resolve(stated))


def _word(facts: Facts, id: str) -> str | None:
    value = facts.values.get(id)
    return str(value) if value is not None else None


def _tighter(before: Estimate) -> Pool | None:
    """Host RAM where its word is worse than that of the cards; a pool without a limit says nothing."""
    gpu, host = (before.pool(name) for name in ("gpu", "host"))
    if gpu is None or host is None or gpu.limit is None:
        return None
    return "host" if VERDICTS.index(host.verdict()) > VERDICTS.index(gpu.verdict()) else None


def _verdict(before: Estimate, pool: Pool | None, phase: str | None) -> str:
    estimated = before.pool(pool or "gpu")
    return estimated.verdict(estimated.phase(phase) if phase else None) if estimated else "unknown"
