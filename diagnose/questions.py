"""Which unknown fact would change the advice most: a few plausible values are tried and the failing pool is estimated again.

Kind and framework come first while they are unsettled, since everything else hangs on them; the phase where it matters; then
the facts without which nothing can be computed; then what is assumed or a default, by how far the failing pool's peak would
move. Where the settings that are known do not explain the failure, the unknown that could explain it comes before the phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diagnose.estimate import estimate_pool, plan_of
from diagnose.facts.defaults import at_version
from diagnose.facts.packages import version_fact
from diagnose.facts.versions import turns
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Question
from diagnose.prescribe.situation import NOT_A_PEAK, explained, verdict, watched
from diagnose.types import Asked, Check, Estimate, Fact, Facts, Paste
from diagnose.units import gib
from diagnose.vocabulary import FACTS, KINDS, PHASES, Pool, Value

MOST = 5
MOST_ESTIMATES = 11
_TRIED_EACH = 3
# More phases than this to choose from help nobody.
_MOST_PHASES = 6
# The phases in which runs fail most, asked for while nothing is computed; our choice, after the threads that we read.
_USUAL_PHASES = ("load", "init", "weight_sync", "rollout", "logprob", "actor_update")
# A leak hangs on what runs, not on its sizes; other kinds are settled by their message.
_OF_GROWTH = ("engine_version", "framework_version", "worked_before")
# What an estimate lacks only for one of the pools.
_OF_CARDS = ("gpu_mem_gib", "gpu_model")
# A move below this share of the peak would not change the advice.
_LEAST_MOVE = 0.02
_WORDS = {"out": "runs out", "close": "too close to call", "fits": "fits", "unknown": "limit unknown"}
_NEVER = ("oom_kind", "phase", "framework", "step", "worked_before")


@dataclass
class _Bench:
    """The run that answers are tried on, and how many estimates are left."""

    facts: Facts
    before: Estimate
    kind: str | None
    phase: str | None
    pool: Pool
    knowledge: Knowledge
    paste: Paste | None = None
    left: int = MOST_ESTIMATES

    def peak(self, estimated: Estimate) -> int | None:
        found = watched(estimated, self.pool, self.phase) or watched(estimated, self.pool, None)
        return found.bytes if found else None

    def word(self, estimated: Estimate) -> str:
        known = watched(estimated, self.pool, self.phase)
        return verdict(estimated, self.pool, self.phase if known else None)

    def answered(self, id: str, value: Value) -> Estimate | None:
        """The estimate with that answer; None when no more may be made."""
        if self.left <= 0:
            return None
        self.left -= 1
        if id == "framework_version" and self.paste is not None:
            facts = at_version(self.facts, str(value), self.paste)
        else:
            facts = self.facts.with_fact(Fact(id, value, "answered"))
        return estimate_pool(plan_of(facts, self.knowledge.fallback), self.pool, self.phase)


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
    bench = _Bench(facts, estimate, kind, at, pool or "gpu", knowledge, paste)
    asked = [_unsettled(words[id], bench) for id in _first(facts, kind) if id in words]
    place = [_unsettled(words["phase"], bench)] if "phase" in words and _phase_matters(kind, at, pool) else []
    if kind in NOT_A_PEAK:
        asked += [Asked(words[id], 0, _options(words[id])) for id in _of_growth(facts, kind) if id in words]
        return tuple(asked[:MOST])
    missing = [words[id] for id in _lacking(estimate, pool) if id in words and _open(facts, id)]
    behind = place if explained(estimate, kind, pool) is False else []
    asked += [] if behind else place
    asked += [_missing(question, bench) for question in missing]
    have = {one.question.fact for one in asked}
    if len(asked) < MOST:
        moving = _moving([words[id] for id in _candidates(facts, words) if id not in have], bench)
        asked += _with_place(moving, behind, words, facts)
        have = {one.question.fact for one in asked}
        versions = {version_fact(check.advisory.package, facts) for check in checks} - have
        asked += [Asked(words[id], 0, _options(words[id])) for id in sorted(versions) if id in words]
    return tuple(asked[:MOST])


def _nothing_to_ask(facts: Facts, kind: str | None) -> bool:
    """Whether a failure is none of memory, or a command that trains nothing did not fail."""
    return kind is None and (facts.values.get("trains") is False or any(hit.signature.not_memory for hit in facts.hits))


def _first(facts: Facts, kind: str | None) -> list[str]:
    """What nearly all else hangs on: what ran out, and whose keys these are."""
    told = facts.stated.get("oom_kind")
    first = ["oom_kind"] if kind in (None, "other") or (told and told.origin == "assumed") else []
    if len(facts.candidates) > 1 or ("framework" not in facts.values and facts.framework is None):
        first.append("framework")
    return first


def _only_phase_out(estimate: Estimate, pool: Pool) -> str | None:
    """The phase that the estimate sees run out, when it is exactly one."""
    estimated = estimate.pool(pool)
    out = [one.phase for one in estimated.phases if estimated.verdict(one) == "out"] if estimated else []
    return out[0] if len(out) == 1 else None


def _phase_matters(kind: str | None, phase: str | None, pool: Pool | None) -> bool:
    """On the host the whole run adds up; on a card only the failing phase counts, unless it is known or stands out."""
    return phase is None and pool != "host" and kind not in NOT_A_PEAK


def _of_growth(facts: Facts, kind: str | None) -> list[str]:
    """The versions, and whether others held; the engine's own message about its start hangs on its version too."""
    ids = _OF_GROWTH if kind == "memory_growth" else ("engine_version",) if kind != "host_shm" else ()
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
    before = [Asked(words[id], 0, _options(words[id])) for id in ("worked_before",) if id in words and _open(facts, id)]
    return [*moving[:2], *before, *place, *moving[2:]]


def _options(question: Question, but: Iterable[str] = ()) -> tuple[tuple[str, str, str], ...]:
    return tuple((option.value, option.title, "") for option in question.options if option.value not in but)


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


def _unsettled(question: Question, bench: _Bench) -> Asked:
    """Framework, kind or phase: the options in words; for a phase what the estimate says of it."""
    titles = {option.value: option.title for option in question.options}
    if question.fact == "framework":
        known = bench.knowledge.frameworks
        ids = bench.facts.candidates or tuple(titles) or tuple(id for id, one in known.items() if not one.fallback)
        return Asked(question, 0, tuple((id, known[id].title if id in known else titles.get(id, id), "") for id in ids))
    options = dict(FACTS[question.fact].options) or titles
    return Asked(
        question, 0, tuple((id, titles.get(id, options[id]), _of_phase(id, bench)) for id in _listed(question, bench))
    )


def _listed(question: Question, bench: _Bench) -> list[str]:
    if question.fact == "phase":
        return _likely_phases(bench)
    if question.options:
        return [option.value for option in question.options]
    return [kind for kind in KINDS if kind != "other"]


def _likely_phases(bench: _Bench) -> list[str]:
    """The phases that the estimate sees nearest to the limit, in the order of a step; the usual ones where it sees none."""
    estimated = bench.before.pool(bench.pool)
    if estimated is None or not estimated.phases or bench.before.missing:
        return list(_USUAL_PHASES)
    nearest = sorted(estimated.phases, key=lambda phase: -phase.high)[:_MOST_PHASES]
    return [id for id in PHASES if id in {phase.phase for phase in nearest}]


def _of_phase(id: str, bench: _Bench) -> str:
    estimated = bench.before.pool(bench.pool)
    phase = estimated.phase(id) if estimated and id in PHASES else None
    return f"{gib(phase.bytes)} GiB, {_WORDS[estimated.verdict(phase)]}" if phase and estimated else ""


def _missing(question: Question, bench: _Bench) -> Asked:
    """A fact without which something cannot be computed; its options are tried as far as that computes anything."""
    return _tried(question, bench, _values(question, bench.facts)[:2])


def _moving(questions: list[Question], bench: _Bench) -> list[Asked]:
    """The questions whose answers move the peak, a change of the verdict before any amount."""
    before, word = bench.peak(bench.before), bench.word(bench.before)
    if before is None:
        return []
    found: list[tuple[bool, bool, int, Asked]] = []
    for question in questions:
        values = _values(question, bench.facts)
        if bench.left < len(values) or not values:
            continue
        asked = _tried(question, bench, values)
        flips = any(_WORDS[word] not in says for _, _, says in asked.options if says)
        if asked.moves >= before * _LEAST_MOVE:
            found.append((_certainty(bench.facts, question.fact) < 2, flips, asked.moves, asked))
    # A default holds unless somebody changed it; what nobody knows comes before.
    found.sort(key=lambda one: (not one[0], not one[1], -one[2]))
    return [asked for _, _, _, asked in found]


def _tried(question: Question, bench: _Bench, values: list[Value]) -> Asked:
    before, moves = bench.peak(bench.before), 0
    options: list[tuple[str, str, str]] = []
    titles = {option.value: option.title for option in question.options}
    for value in values:
        written = (
            str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
        )
        changed = bench.answered(question.fact, value)
        after = bench.peak(changed) if changed else None
        says = f"{gib(after)} GiB, {_WORDS[bench.word(changed)]}" if changed and after is not None else ""
        options.append((written, titles.get(written, written), says))
        if before is not None and after is not None:
            moves = max(moves, abs(after - before))
    tried = {written for written, _, _ in options}
    options += _options(question, tried)
    return Asked(question, moves, tuple(options))


def _values(question: Question, facts: Facts) -> list[Value]:
    """Plausible answers in the fact's own type, without the present one: the question's options, else half and double."""
    spec, now = FACTS[question.fact], facts.values.get(question.fact)
    if question.fact == "framework_version":
        return [release for release in turns(facts.framework) if release != now]
    typed = [_typed(option.value, spec.type) for option in question.options]
    values = [value for value in typed if value is not None and str(value).lower() != str(now).lower()]
    if not values and spec.type == "bool":
        values = [True, False] if now is None else [not now]
    if not values and isinstance(now, (int, float)) and not isinstance(now, bool):
        values = [max(1, int(now // 2)), int(now * 2)] if spec.type == "int" else [now / 2, now * 1.5]
    return values[:_TRIED_EACH]


def _typed(written: str, type: str) -> Value | None:
    if type in ("int", "number"):
        try:
            number = float(written)
        except ValueError:
            return None
        return int(number) if type == "int" or number.is_integer() else number
    if type == "bool":
        return {"true": True, "false": False}.get(written.lower())
    return written
