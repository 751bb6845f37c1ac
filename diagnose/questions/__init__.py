"""Which unknown fact would change the advice most: a few plausible values are tried and the failing pool is estimated again.

Kind and framework come first while they are unsettled, since everything else hangs on them; the phase where it matters; then
the facts without which nothing can be computed; then what is assumed or a default, by how far the failing pool's peak would
move. Of a run that has not begun nobody can say what ran out, and what it lacks comes first; of a launch command alone what ran
out is asked last. Where the settings that are known do not explain the failure, the unknown that could explain it comes before
the phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnose.conditions import holds
from diagnose.facts.settings.complete import complete
from diagnose.facts.trainer.own_script import own_script
from diagnose.facts.trainer.packages import version_fact
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Question
from diagnose.possible import only_out
from diagnose.prescribe.situation import NOT_A_PEAK, Situation, explained
from diagnose.prescribe.writing import key_of
from diagnose.questions.bench import Bench, missing, plausible, tried, unsettled, untried
from diagnose.types import Asked, Check, Estimate, Facts, Paste
from diagnose.vocabulary import FACTS, OF_CARDS, Pool

MOST = 5
# A leak hangs on what runs, not on its sizes; other kinds are settled by their message.
_OF_GROWTH = ("engine_version", "framework_version", "worked_before")
# What an estimate lacks only for one of the pools.
_OF_CARDS = ("gpu_mem_gib", "gpu_model")
# What an engine's start hangs on beside its version.
_OF_START = ("model", "gpu_mem_gib", "n_gpus", "gpu_memory_utilization", "rollout_tp")
# A default can be another one by a key of another fact as well.
_ALSO_BY = {"full_or_lora": "lora_rank"}
# A move below this share of the peak would not change the advice.
_LEAST_MOVE = 0.02
# The same of a run of which no setting was read: there is more to ask.
_LEAST_MOVE_UNREAD = 0.1
# An answer that adds this share of what is missing to the limit explains much of a failure.
_MUCH_OF_IT = 1 / 3
# Where no setting was read a fault of a version is as likely as a setting: asked for behind what everybody knows of a run.
_RANK_OF_VERSIONS = 9
_NEVER = ("oom_kind", "phase", "framework", "step", "worked_before")


def ask(situation: Situation, knowledge: Knowledge, checks: Sequence[Check] = ()) -> tuple[Asked, ...]:
    """At most five questions, the one that would change the advice most first.

    ``checks`` are what hangs on a version that nobody knows: it is asked for too, where the estimate asks for little else.
    """
    facts, estimate, kind, pool = situation.facts, situation.before, situation.kind, situation.pool
    if _nothing_to_ask(facts, kind):
        return ()
    fitting = (one for one in knowledge.questions.values() if holds(one.when, facts.values) is not False)
    words = {question.fact: question for question in fitting}
    estimated = estimate.pool(pool or "gpu")
    at = situation.phase or only_out(situation.facts, estimated)
    bench = Bench(facts, estimate, at, pool or "gpu", knowledge, situation.paste, situation.possible)
    first = [unsettled(words[id], bench) for id in _first(facts, kind, situation.paste) if id in words]
    last = [one for one in first if facts.bare and one.question.fact == "oom_kind"]
    first = [one for one in first if one not in last]
    asked = [] if facts.planned or facts.bare else first
    if pool != "host" and kind not in NOT_A_PEAK and facts.cards_open and "n_gpus" in words:
        asked = [missing(words["n_gpus"], bench), *asked]
    place = [unsettled(words["phase"], bench)] if "phase" in words and _phase_matters(facts, kind, at, pool) else []
    if kind in NOT_A_PEAK:
        which = ["growing_pool"] if kind == "memory_growth" and pool is None else []
        asked += [untried(words[id], facts) for id in (*which, *_not_of_a_peak(facts, kind)) if id in words]
        return tuple(asked[:MOST])
    have = {one.question.fact for one in asked}
    ids = (id for id in _lacking(estimate, pool, facts) if id in words and _open(facts, id) and id not in have)
    lacking = sorted((words[id] for id in ids), key=lambda question: question.rank)
    nothing_explains = facts.configured and explained(estimate, kind, pool) is False
    behind = place if nothing_explains else []
    unexplained = nothing_explains or (facts.configured and bool(situation.phase) and bench.word(estimate) == "fits")
    asked += [] if behind else place
    asked += [one for one in (missing(question, bench) for question in lacking) if not _idle(one, bench)]
    asked += first if facts.planned or facts.bare else []
    most = MOST - len(last)
    if len(asked) < most:
        asked += _further(bench, words, behind, checks, {one.question.fact for one in (*asked, *last)}, unexplained)
    return (*asked[:most], *last)


def _further(
    bench: Bench,
    words: Mapping[str, Question],
    place: list[Asked],
    checks: Sequence[Check],
    have: set[str],
    unexplained: bool,
) -> list[Asked]:
    """What an estimate does not need to be whole: what moves it, and the versions that an advisory hangs on."""
    facts = bench.facts
    seen = {"max_pixels"} if _shows_nothing(bench) else set()
    moving = _moving([words[id] for id in _candidates(facts, words, bench.paste) if id not in have | seen], bench)
    ordered = {one.question.fact: one for one in (_with_place(moving, place, words, bench) if unexplained else moving)}
    hang = sorted({version_fact(check.advisory.package, facts) for check in checks} - have)
    versions = {id: ordered.get(id) or untried(words[id], facts) for id in hang if id in words}
    if facts.configured:
        return list((ordered | {id: one for id, one in versions.items() if id not in ordered}).values())
    ranks = {id: one.question.rank for id, one in ordered.items()} | dict.fromkeys(versions, _RANK_OF_VERSIONS)
    return [(ordered | versions)[id] for id in sorted(ranks, key=lambda id: ranks[id])]


def _nothing_to_ask(facts: Facts, kind: str | None) -> bool:
    """Whether a failure is none of memory, or a command that trains nothing did not fail; of an engine alone there is an estimate."""
    idle = facts.values.get("trains") is False and not facts.serves
    return kind is None and (idle or any(hit.signature.not_memory for hit in facts.hits))


def _first(facts: Facts, kind: str | None, paste: Paste) -> list[str]:
    """What nearly all else hangs on: what ran out, and whose keys these are."""
    told = facts.stated.get("oom_kind")
    first = (
        ["oom_kind"] if (kind in (None, "other") and not facts.planned) or (told and told.origin == "assumed") else []
    )
    if len(facts.candidates) > 1 or ("framework" not in facts.values and not _of_no_trainer(facts, paste)):
        first.append("framework")
    return first


def _of_no_trainer(facts: Facts, paste: Paste) -> bool:
    """Whether no answer names what runs: an engine alone, a script of one's own that stands there whole; or it is known."""
    return facts.serves or own_script(paste) or (facts.framework is not None and not facts.framework.fallback)


def _phase_matters(facts: Facts, kind: str | None, phase: str | None, pool: Pool | None) -> bool:
    """On the host the whole run adds up; on a card only the failing phase counts, unless it is known or stands out."""
    if facts.values.get("trains") is False:
        return False
    return not (facts.planned or facts.bare) and phase is None and pool != "host" and kind not in NOT_A_PEAK


def _not_of_a_peak(facts: Facts, kind: str | None) -> list[str]:
    """Of growth the versions, and whether others held; of an engine's start its share of the card and, of vLLM, its version."""
    if kind == "memory_growth":
        return [id for id in _OF_GROWTH if _open(facts, id)]
    if kind == "host_shm":
        return []
    version = ["engine_version"] if facts.values.get("rollout_engine", "vllm") == "vllm" else []
    ids = [_of_unknown_name(id, facts) for id in _OF_START]
    unknown = [id for id in ids if id not in facts.values or (_not_settled(facts, id) and id in facts.keys)]
    return unknown + [id for id in version if _open(facts, id)]


def _lacking(estimate: Estimate, pool: Pool | None, facts: Facts) -> list[str]:
    """The facts without which the failing pool cannot be computed or judged, whatever else is known."""
    host = estimate.host
    missing = [_of_unknown_name(id, facts) for id in estimate.missing]
    if pool != "host":
        limit = ["gpu_mem_gib"] if estimate.gpu is None and "gpu_mem_gib" not in facts.values else []
        return [*missing, *(id for id in limit if id not in missing)]
    limit = ["host_ram_gb"] if host is None or host.limit is None else []
    return limit + [id for id in missing if id not in _OF_CARDS]


def _of_unknown_name(id: str, facts: Facts) -> str:
    """Its size, of a model that is named and whose name tells nothing."""
    return "params_b" if id == "model" and facts.unknown_model else id


def _idle(asked: Asked, bench: Bench) -> bool:
    """Whether every answer that was tried leaves the failing phase as it is, and the word on it, or says the same of it."""
    before, word = bench.peak(bench.before), bench.means(bench.before)
    told = [says for _, _, says in asked.options if says]
    if before is None or not told or asked.moves >= before * _LEAST_MOVE:
        return False
    return all(word in says for says in told) or (len(told) > 1 and len(set(told)) == 1)


def _with_place(moving: list[Asked], place: list[Asked], words: Mapping[str, Question], bench: Bench) -> list[Asked]:
    """Where the settings explain nothing: what could explain it, whether older versions held, and only then the phase.

    Where the phase is told and no answer explains it, or much of it, the versions are what is left.
    """
    before = [untried(words[id], bench.facts) for id in ("worked_before",) if id in words and _open(bench.facts, id)]
    much = bench.gap * _MUCH_OF_IT
    turns = place or any(one.turn for one in moving)
    could = moving[:2] if turns else [one for one in moving if 0 < much <= one.adds][:2]
    return [*could, *before, *place, *(one for one in moving if one not in could)]


def _open(facts: Facts, id: str) -> bool:
    return id not in facts.stated or not facts.stated[id].certain


def _candidates(facts: Facts, words: Mapping[str, Question], paste: Paste) -> list[str]:
    """Facts with a question that nobody has settled, those that are assumed before defaults, then by rank."""
    told = facts.framework.told_by_keys() if facts.framework else frozenset()
    # a whole command that does not move the engine leaves it where it is by default
    placed = ("rollout_mode",) if _by_default(facts, "rollout_mode") and complete(paste) else ()
    ids = [
        id
        for id in words
        if id not in (*_NEVER, *placed)
        and _open(facts, id)
        and not _derived(facts, id)
        and _can_differ(facts, id, told)
        and not _in_file(facts, id)
    ]
    return sorted(ids, key=lambda id: (facts.configured and _certainty(facts, id), words[id].rank, id))


def _shows_nothing(bench: Bench) -> bool:
    """Whether no image can be what fails: the model is not known to read any, or no rows are computed in the phase."""
    return bench.facts.flag("multimodal") is not True or (bench.phase is not None and bench.phase not in OF_CARDS)


def _by_default(facts: Facts, id: str) -> bool:
    return id in facts.stated and facts.stated[id].origin == "default"


def _in_file(facts: Facts, id: str) -> bool:
    """Whether a named file settles it, as its project ships it, with what it leaves to its trainer.

    Not what another file or a launcher sets; and the cards are a person's own.
    """
    if not facts.shipped or not _by_default(facts, id) or FACTS[id].group == "machine":
        return False
    key = key_of(facts, id)
    return bool(facts.shipped_in(id)) or key is None or key.new_in not in ("file", "nowhere")


def _derived(facts: Facts, id: str) -> bool:
    """Known by arithmetic from certain facts: asking would be idle."""
    return (id in facts.values and id not in facts.stated) or (
        id in facts.stated and facts.stated[id].origin == "derived"
    )


def _can_differ(facts: Facts, id: str, told: frozenset[str]) -> bool:
    """A default can differ only where the framework has a key that tells it."""
    stated = facts.stated.get(id)
    return stated is None or stated.origin != "default" or bool({id, _ALSO_BY.get(id)} & told)


def _certainty(facts: Facts, id: str) -> int:
    stated = facts.stated.get(id)
    return 0 if stated is not None and stated.origin == "assumed" else 1 if _not_settled(facts, id) else 2


def _not_settled(facts: Facts, id: str) -> bool:
    """Whether nothing is said of it: a default says little of a run of which no setting was read."""
    stated = facts.stated.get(id)
    return stated is None or (stated.origin == "default" and not facts.configured)


def _moving(questions: list[Question], bench: Bench) -> list[Asked]:
    """The questions whose answers move the peak, a change of the verdict before any amount.

    Of a run of which no setting was read as they rank: what defaults come to says little of what such an answer would change.
    """
    before = bench.peak(bench.before)
    if before is None:
        return []
    least = before * (_LEAST_MOVE if bench.facts.configured else _LEAST_MOVE_UNREAD)
    found: list[tuple[bool, int, bool, int, Asked]] = []
    for question in questions:
        if not bench.facts.configured and len(found) == MOST:
            break  # the others would rank behind these
        values = plausible(question, bench)
        if bench.left < len(values) or not values:
            continue
        asked = tried(question, bench, values)
        if asked.moves >= least:
            rank = 0 if bench.facts.configured else question.rank
            found.append((_certainty(bench.facts, question.fact) == 2, rank, asked.turn is None, -asked.moves, asked))
    # A default holds unless somebody changed it; what nobody knows comes before.
    return [one[-1] for one in sorted(found, key=lambda one: one[:-1])]
