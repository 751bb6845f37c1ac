"""Which unknown fact would change the advice most: a few plausible values are tried and the failing pool is estimated again.

Kind and framework come first while they are unsettled, since everything else hangs on them; the phase where it matters; then
the facts without which nothing can be computed; then what is assumed or a default, by how far the failing pool's peak would
move. Of a run that has not begun nobody can say what ran out, and what it lacks comes first. Where the settings that are known
do not explain the failure, the unknown that could explain it comes before the phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnose.facts.packages import version_fact
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Question
from diagnose.prescribe.situation import NOT_A_PEAK, explained
from diagnose.questions.bench import VERDICT_WORDS, Bench, missing, options_of, plausible, tried, unsettled
from diagnose.types import Asked, Check, Estimate, Facts, Paste
from diagnose.vocabulary import Pool

MOST = 5
# A leak hangs on what runs, not on its sizes; other kinds are settled by their message.
_OF_GROWTH = ("engine_version", "framework_version", "worked_before")
# What an estimate lacks only for one of the pools.
_OF_CARDS = ("gpu_mem_gib", "gpu_model")
# A move below this share of the peak would not change the advice.
_LEAST_MOVE = 0.02
_NEVER = ("oom_kind", "phase", "framework", "step", "worked_before")


def ask(
    facts: Facts,
    estimate: Estimate,
    kind: str | None,
    phase: str | None,
    pool: Pool | None,
    knowledge: Knowledge,
    paste: Paste | None = None,
    checks: Sequence[Check] = (),
) -> tuple[Asked, ...]:
    """At most five questions, the one that would change the advice most first. With ``paste`` versions are tried on it.

    ``checks`` are what hangs on a version that nobody knows: it is asked for too, where the estimate asks for little else.
    """
    if _nothing_to_ask(facts, kind):
        return ()
    ranked = sorted(knowledge.questions.values(), key=lambda question: (-question.rank, question.slug))
    words = {question.fact: question for question in ranked}
    at = phase or _only_phase_out(estimate, pool or "gpu")
    bench = Bench(facts, estimate, kind, at, pool or "gpu", knowledge, paste)
    first = [unsettled(words[id], bench) for id in _first(facts, kind) if id in words]
    asked = [] if facts.planned else first
    place = [unsettled(words["phase"], bench)] if "phase" in words and _phase_matters(facts, kind, at, pool) else []
    if kind in NOT_A_PEAK:
        asked += [Asked(words[id], 0, options_of(words[id])) for id in _of_growth(facts, kind) if id in words]
        return tuple(asked[:MOST])
    lacking = [words[id] for id in _lacking(estimate, pool) if id in words and _open(facts, id)]
    behind = place if explained(estimate, kind, pool) is False else []
    asked += [] if behind else place
    asked += [missing(question, bench) for question in lacking]
    asked += first if facts.planned else []
    have = {one.question.fact for one in asked}
    if len(asked) < MOST:
        moving = _moving([words[id] for id in _candidates(facts, words) if id not in have], bench)
        asked += _with_place(moving, behind, words, facts)
        have = {one.question.fact for one in asked}
        versions = {version_fact(check.advisory.package, facts) for check in checks} - have
        asked += [Asked(words[id], 0, options_of(words[id])) for id in sorted(versions) if id in words]
    return tuple(asked[:MOST])


def _nothing_to_ask(facts: Facts, kind: str | None) -> bool:
    """Whether a failure is none of memory, or a command that trains nothing did not fail; of an engine alone there is an estimate."""
    idle = facts.values.get("trains") is False and not facts.serves
    return kind is None and (idle or any(hit.signature.not_memory for hit in facts.hits))


def _first(facts: Facts, kind: str | None) -> list[str]:
    """What nearly all else hangs on: what ran out, and whose keys these are."""
    told = facts.stated.get("oom_kind")
    first = (
        ["oom_kind"] if (kind in (None, "other") and not facts.planned) or (told and told.origin == "assumed") else []
    )
    if len(facts.candidates) > 1 or ("framework" not in facts.values and facts.framework is None):
        first.append("framework")
    return first


def _only_phase_out(estimate: Estimate, pool: Pool) -> str | None:
    """The phase that the estimate sees run out, when it is exactly one."""
    estimated = estimate.pool(pool)
    out = [one.phase for one in estimated.phases if estimated.verdict(one) == "out"] if estimated else []
    return out[0] if len(out) == 1 else None


def _phase_matters(facts: Facts, kind: str | None, phase: str | None, pool: Pool | None) -> bool:
    """On the host the whole run adds up; on a card only the failing phase counts, unless it is known or stands out."""
    if facts.values.get("trains") is False:
        return False
    return not facts.planned and phase is None and pool != "host" and kind not in NOT_A_PEAK


def _of_growth(facts: Facts, kind: str | None) -> list[str]:
    """The versions, and whether others held; vLLM's own message about its start hangs on its version too."""
    starts = kind != "host_shm" and facts.values.get("rollout_engine", "vllm") == "vllm"
    ids = _OF_GROWTH if kind == "memory_growth" else ("engine_version",) if starts else ()
    return [id for id in ids if _open(facts, id)]


def _lacking(estimate: Estimate, pool: Pool | None) -> list[str]:
    """The facts without which the failing pool cannot be computed or judged."""
    host = estimate.host
    if pool != "host":
        return list(estimate.missing)
    limit = ["host_ram_gb"] if host is None or host.limit is None else []
    return limit + [id for id in estimate.missing if id not in _OF_CARDS]


def _with_place(moving: list[Asked], place: list[Asked], words: Mapping[str, Question], facts: Facts) -> list[Asked]:
    """Where the settings explain nothing: what could explain it, whether older versions held, and only then the phase."""
    if not place:
        return moving
    before = [
        Asked(words[id], 0, options_of(words[id])) for id in ("worked_before",) if id in words and _open(facts, id)
    ]
    return [*moving[:2], *before, *place, *moving[2:]]


def _open(facts: Facts, id: str) -> bool:
    return id not in facts.stated or not facts.stated[id].certain


def _candidates(facts: Facts, words: Mapping[str, Question]) -> list[str]:
    """Facts with a question that nobody has settled, those that are assumed before defaults, then by rank."""
    ids = [
        id
        for id in words
        if id not in _NEVER and _open(facts, id) and not _derived(facts, id) and _can_differ(facts, id)
    ]
    return sorted(ids, key=lambda id: (_certainty(facts, id), words[id].rank, id))


def _derived(facts: Facts, id: str) -> bool:
    """Known by arithmetic from certain facts: asking would be idle."""
    return (id in facts.values and id not in facts.stated) or (
        id in facts.stated and facts.stated[id].origin == "derived"
    )


def _can_differ(facts: Facts, id: str) -> bool:
    """A default can differ only where the framework has a key for it."""
    stated = facts.stated.get(id)
    return stated is None or stated.origin != "default" or id in facts.keys


def _certainty(facts: Facts, id: str) -> int:
    stated = facts.stated.get(id)
    return 0 if stated is not None and stated.origin == "assumed" else 1 if stated is None else 2


def _moving(questions: list[Question], bench: Bench) -> list[Asked]:
    """The questions whose answers move the peak, a change of the verdict before any amount."""
    before, word = bench.peak(bench.before), bench.word(bench.before)
    if before is None:
        return []
    found: list[tuple[bool, bool, int, Asked]] = []
    for question in questions:
        values = plausible(question, bench.facts)
        if bench.left < len(values) or not values:
            continue
        asked = tried(question, bench, values)
        flips = any(VERDICT_WORDS[word] not in says for _, _, says in asked.options if says)
        if asked.moves >= before * _LEAST_MOVE:
            found.append((_certainty(bench.facts, question.fact) < 2, flips, asked.moves, asked))
    # A default holds unless somebody changed it; what nobody knows comes before.
    found.sort(key=lambda one: (not one[0], not one[1], -one[2]))
    return [asked for _, _, _, asked in found]
