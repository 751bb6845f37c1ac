"""Answers tried on the estimate: what the failing pool's peak would be with each, in the words of the options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from diagnose.batch import whole
from diagnose.conditions import holds
from diagnose.estimate import estimate_pool, plan_of, with_failed_row
from diagnose.facts.settings.defaults import as_answered, read_again
from diagnose.facts.trainer.versions import possible, turns
from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Gpu
from diagnose.knowledge.records import Option, Question
from diagnose.prescribe.situation import verdict, watched
from diagnose.types import Asked, Estimate, Fact, Facts, Paste, PhaseEstimate, Turn
from diagnose.vocabulary import FACTS, KINDS, OF_ENGINE_START, OFFLINE_ALGOS, PHASES, Pool, Value, is_number

# Of a run whose settings were read few are open, and whoever pastes waits for the answer.
_MOST_READ, _MOST_UNREAD = 30, 36
_TRIED_EACH, _TRIED_OF_A_PLAN = 3, 4
# cards that are tried where somebody asks how many it takes: whole machines
_MACHINES = (8, 16, 32, 64)
# and where the cards are named without their number: those of one machine
_OF_A_MACHINE = (1, 2, 4, 8)
# More phases than this to choose from help nobody.
_MOST_PHASES = 6
_LIMITS = {"real_response_length": "response_length", "real_prompt_length": "prompt_length"}
_VERSIONS = ("framework_version", "engine_version")
# The phases in which runs fail most, asked for while nothing is computed; our choice, after the threads that we read.
_USUAL_PHASES = ("load", "init", "weight_sync", "rollout", "logprob", "actor_update")
# the trainer's own work, to which an engine that does not start never comes; some trainers count their steps from 0
_OF_TRAINER = ("logprob", "ref_logprob", "values", "reward", "critic", "actor_update", "optimizer_step", "checkpoint")
_FIRST_STEP = 1
VERDICT_WORDS = {"out": "runs out", "close": "too close to call", "fits": "fits", "unknown": "limit unknown"}


@dataclass
class Bench:
    """The run that answers are tried on, and how many estimates are left.

    ``possible``: the phases in which alone it can have failed, where nothing names the ``phase``.
    """

    facts: Facts
    before: Estimate
    phase: str | None
    pool: Pool
    knowledge: Knowledge
    paste: Paste
    possible: tuple[str, ...] = ()
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = _MOST_READ if self.facts.configured else _MOST_UNREAD

    def peak(self, estimated: Estimate) -> int | None:
        found = self._watched(estimated)
        return found.bytes if found else None

    @property
    def gap(self) -> int:
        """Bytes that are missing to the limit, 0 where there is none or it is passed."""
        pool, peak = self.before.pool(self.pool), self.peak(self.before)
        return max(0, pool.limit - peak) if pool and pool.limit is not None and peak is not None else 0

    def says(self, estimated: Estimate) -> str:
        """The same as the page of such a run shows it, with what it means."""
        found = self._watched(estimated)
        return f"{found.shown} GiB, {self.means(estimated)}" if found else ""

    def means(self, estimated: Estimate) -> str:
        """The verdict in words; of a run that failed, what fits does not explain it."""
        return self.read(self.word(estimated))

    def read(self, word: str) -> str:
        failed = self.facts.values.get("oom_kind") not in (None, "other")
        return "would not explain it" if failed and word == "fits" else VERDICT_WORDS[word]

    def _watched(self, estimated: Estimate) -> PhaseEstimate | None:
        return watched(estimated, self.pool, self.phase, self.possible) or watched(
            estimated, self.pool, None, self.possible
        )

    def word(self, estimated: Estimate) -> str:
        known = watched(estimated, self.pool, self.phase)
        return verdict(estimated, self.pool, self.phase if known else None)

    @cached_property
    def hung_on(self) -> frozenset[str]:
        """The facts that a default of the framework hangs on."""
        framework = self.facts.framework
        return frozenset(id for default in framework.defaults for id in default.when) if framework else frozenset()

    @cached_property
    def read_by(self) -> frozenset[str]:
        """The versions that a key of the framework hangs on, so that the same settings say something else."""
        framework = self.facts.framework
        return (
            frozenset(id for key in framework.keys for id in key.when if id in _VERSIONS) | {"framework_version"}
            if framework
            else frozenset()
        )

    @cached_property
    def versions(self) -> tuple[str, str]:
        """The versions of the framework that the text leaves possible: from the first on and before the second; "" is open."""
        return possible(self.facts.framework, self.paste)

    def answered(self, id: str, value: Value) -> Estimate | None:
        """The estimate with that answer; None when no more may be made."""
        if self.left <= 0:
            return None
        self.left -= 1
        if id in self.read_by:
            facts = read_again(self.facts, Fact(id, value, "answered"), self.paste)
        elif id in self.hung_on:
            facts = as_answered(self.facts, Fact(id, value, "answered"), self.paste)
        else:
            facts = self.facts.with_fact(Fact(id, value, "answered"))
        fallback = self.knowledge.fallback
        facts = with_failed_row(
            replace(facts, failed_row=None), fallback, self.paste
        )  # another run may have other rows
        return estimate_pool(plan_of(facts, fallback), self.pool, self.phase)


def untried(question: Question, facts: Facts) -> Asked:
    """A question of which no answer is tried."""
    return Asked(question, 0, options_of(question, facts))


def options_of(question: Question, facts: Facts, but: Iterable[str] = ()) -> tuple[tuple[str, str, str], ...]:
    return tuple((option.value, option.title, "") for option in _open_to(question, facts) if option.value not in but)


def _open_to(question: Question, facts: Facts) -> list[Option]:
    """The options that this run can have; of words those that the framework knows."""
    of_words = FACTS[question.fact].type == "text" and facts.framework is not None and facts.read_by_keys
    known = facts.framework.words_of_keys(question.fact) if of_words and facts.framework else frozenset()
    if question.fact == "gpu_mem_gib" and facts.gpu is not None:
        return _sold(question, facts.gpu)
    options = [option for option in question.options if holds(option.when, facts.values) is not False]
    return [option for option in options if not known or option.value in known]


def _sold(question: Question, gpu: Gpu) -> list[Option]:
    """The sizes in which the card is sold that is named, in the words of the question where it has them."""
    told = {option.value: option for option in question.options}
    sizes = [f"{size:g}" for size in sorted(map(float, gpu.sizes))]
    return [told.get(size, Option(value=size, title=f"{size} GB")) for size in sizes]


def unsettled(question: Question, bench: Bench) -> Asked:
    """Framework, kind or phase: the options in words; for a phase what the estimate says of it."""
    titles = {option.value: option.title for option in question.options}
    if question.fact == "framework":
        known = bench.knowledge.frameworks
        ids = bench.facts.candidates or tuple(titles)
        return Asked(question, 0, tuple((id, known[id].title if id in known else titles.get(id, id), "") for id in ids))
    options = dict(FACTS[question.fact].options) or titles
    return Asked(
        question, 0, tuple((id, titles.get(id, options[id]), _of_phase(id, bench)) for id in _listed(question, bench))
    )


def _listed(question: Question, bench: Bench) -> list[str]:
    if question.fact == "phase":
        return _likely_phases(bench)
    ids = [option.value for option in question.options] or [kind for kind in KINDS if kind != "other"]
    refused = OF_ENGINE_START if question.fact == "oom_kind" and _engine_stands(bench.facts) else ()
    return [id for id in ids if id not in refused]


def _engine_stands(facts: Facts) -> bool:
    """Whether no engine can have failed to start: the run has none, or was beyond its start when it failed."""
    values = {id: fact.value for id, fact in facts.stated.items() if fact.certain}
    step = values.get("step")
    passed = values.get("steps_passed") is True or (is_number(step) and step > _FIRST_STEP)
    none = values.get("rollout_engine") == "hf" or values.get("algo") in OFFLINE_ALGOS
    return none or passed or values.get("phase") in _OF_TRAINER


def _likely_phases(bench: Bench) -> list[str]:
    """The phases that the estimate sees nearest to the limit, of those in which alone it can have failed, in the order of a step.

    The usual ones of the trainer where it sees none.
    """
    estimated = bench.before.pool(bench.pool)
    phases = estimated.phases if estimated else ()
    left = [phase for phase in phases if phase.phase in bench.possible]
    if not phases or (bench.before.missing and len(left) < 2):
        of_trainer = bench.facts.framework.phases if bench.facts.framework else ()
        return [id for id in _USUAL_PHASES if id in of_trainer] if of_trainer else list(_USUAL_PHASES)
    nearest = sorted(left if len(left) > 1 else phases, key=lambda phase: -phase.high)[:_MOST_PHASES]
    return [id for id in PHASES if id in {phase.phase for phase in nearest}]


def _of_phase(id: str, bench: Bench) -> str:
    estimated = bench.before.pool(bench.pool)
    phase = estimated.phase(id) if estimated and id in PHASES else None
    return f"{phase.shown} GiB, {bench.read(estimated.verdict(phase))}" if phase and estimated else ""


def missing(question: Question, bench: Bench) -> Asked:
    """A fact without which something cannot be computed; its options are tried as far as that computes anything."""
    many = bench.facts.planned or (question.fact == "n_gpus" and bench.facts.cards_open)
    return tried(question, bench, plausible(question, bench)[: _TRIED_OF_A_PLAN if many else 2])


def tried(question: Question, bench: Bench, values: list[Value]) -> Asked:
    """The question with what its answers come to, as far as they are tried; the present one needs no trial."""
    before, now, moves, adds = bench.peak(bench.before), bench.word(bench.before), 0, 0
    options: list[tuple[str, str, str]] = []
    turned: list[Turn] = []
    titles = {option.value: option.title for option in question.options}
    for value in values:
        written, changed = _written(value), bench.answered(question.fact, value)
        after = bench.peak(changed) if changed else None
        word = bench.word(changed) if changed else ""
        options.append((written, titles.get(written, written), bench.says(changed) if changed else ""))
        if after is not None and word != now:
            turned.append(Turn(written, after, word))
        if before is not None and after is not None:
            moves, adds = max(moves, abs(after - before)), max(adds, after - before)
    stated = _written(bench.facts.values.get(question.fact, ""))
    as_it_is = bench.says(bench.before)
    rest = options_of(question, bench.facts, {written for written, _, _ in options})
    compared = any(says for _, _, says in options)
    options += [(value, title, as_it_is if value == stated and compared else "") for value, title, _ in rest]
    turn = max(turned, key=lambda one: one.bytes, default=None)
    return Asked(question, moves, tuple(_in_order(options, question)), turn, adds)


def _in_order(options: list[tuple[str, str, str]], question: Question) -> list[tuple[str, str, str]]:
    """Numbers by size, words as the question has them."""
    places = {option.value: place for place, option in enumerate(question.options)}
    try:
        return sorted(options, key=lambda option: float(option[0]))
    except ValueError:
        return sorted(options, key=lambda option: places.get(option[0], len(places)))


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def plausible(question: Question, bench: Bench) -> list[Value]:
    """Plausible answers in the fact's own type, without the present one: of a size that is known half and double, else the options."""
    facts = bench.facts
    spec, now = FACTS[question.fact], facts.values.get(question.fact)
    if question.fact == "n_gpus" and facts.planned and now is None:
        return list(_MACHINES)
    if question.fact == "n_gpus" and facts.cards_open:
        return [number for number in _OF_A_MACHINE if number != now]
    if question.fact == "framework_version":
        return [release for release in turns(facts.framework, *bench.versions) if release != now]
    if spec.group == "sizes" and isinstance(now, int) and not isinstance(now, bool):
        most = _limit(question.fact, facts) or now * 2
        return [size for size in dict.fromkeys((max(1, now // 2), min(now * 2, most))) if size != now]
    typed = [_typed(option.value, spec.type) for option in _open_to(question, facts)]
    values = [value for value in typed if value is not None and str(value).lower() != str(now).lower()]
    if not values and spec.type == "bool":
        values = [True, False] if now is None else [not now]
    if not values and is_number(now):
        values = [max(1, int(now // 2)), int(now * 2)] if spec.type == "int" else [now / 2, now * 1.5]
    return values[:_TRIED_EACH]


def _limit(id: str, facts: Facts) -> int | None:
    """The most that a real length can be, where the run's own limit is told."""
    limit = _LIMITS.get(id, "")
    return whole(facts.values, limit) if limit and facts.certain(limit) else None


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
