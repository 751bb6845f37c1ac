"""One question at a time, for those who have nothing to paste. The query string is the whole state; it is replayed each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.knowledge import Knowledge
from diagnose.pipeline import Cases, diagnose
from diagnose.types import Asked, Diagnosis
from diagnose.vocabulary import FACTS
from diagnose.words import in_sentence
from wizard import asking, reading, state
from wizard.asking import Ask
from wizard.reading import FactRow
from wizard.state import Answers

MOST = 5
FIRST = ("oom_kind", "framework", "phase")  # what decides which other questions make sense


@dataclass(frozen=True, slots=True)
class Step:
    """A question, or none when the result is next. ``carried`` are the answers so far, ``back`` the query of the step before."""

    ask: Ask | None
    query: str
    number: int = 0
    most: int = MOST
    back: str | None = None
    carried: tuple[tuple[str, str], ...] = ()
    known: tuple[FactRow, ...] = ()
    open: tuple[str, ...] = ()
    error: str = ""
    near: int = 0
    catalogue: tuple[str, ...] = ()


def next_step(pairs: Sequence[tuple[str, str]], knowledge: Knowledge, cases: Cases) -> Step:
    answers = state.read_answers(pairs)
    done = _done(pairs, answers)
    query = state.query(answers.values)
    asked_before = next((text for name, text in pairs if name == "asked"), "")
    diagnosis = diagnose("", answers.values, knowledge, cases)
    asked = _asked(diagnosis, done, knowledge) if len(done) < MOST else None
    if asked is None:
        return Step(None, query)
    unanswered = asked_before == asked.question.fact and asked_before not in done
    missing = [id for id in diagnosis.estimate.missing if id in FACTS]
    groups = reading.groups(diagnosis, answers)
    return Step(
        ask=asking.ask(asked),
        query=query,
        number=len(done) + 1,
        back=_query(done[:-1], answers) if done else None,
        carried=tuple(_pair(id, answers) for id in done),
        known=tuple(row for group in groups for row in group.rows if not row.guess),
        open=tuple(in_sentence(FACTS[id].title) for id in missing),
        error=answers.errors.get(asked.question.fact, "")
        or ("Choose one, or say that you don’t know." if unanswered else ""),
        near=len(diagnosis.matches),
        catalogue=reading.catalogues(knowledge).get(asked.question.fact, ()),
    )


def _done(pairs: Sequence[tuple[str, str]], answers: Answers) -> list[str]:
    """The facts that were asked and answered or passed over, in their order."""
    named = [text if name == "skip" else name for name, text in pairs]
    return list(dict.fromkeys(id for id in named if id in answers.values or id in answers.skipped))


def _pair(id: str, answers: Answers) -> tuple[str, str]:
    return (id, state.as_text(answers.values[id])) if id in answers.values else ("skip", id)


def _query(done: Sequence[str], answers: Answers) -> str:
    values = {id: answers.values[id] for id in done if id in answers.values}
    return state.query(values, [id for id in done if id not in answers.values])


def _asked(diagnosis: Diagnosis, done: Sequence[str], knowledge: Knowledge) -> Asked | None:
    """First what decides about the other questions, then what moves the estimate most, then the written order."""
    by_fact = {question.fact: question for question in knowledge.questions.values()}
    open_facts = [id for id in FIRST if id in by_fact and id not in diagnosis.facts.values]
    candidates = {asked.question.fact: asked for asked in diagnosis.questions}
    rest = sorted(by_fact.values(), key=lambda question: (question.rank, question.slug))
    order = [
        *open_facts,
        *candidates,
        *(question.fact for question in rest if question.fact not in diagnosis.facts.values),
    ]
    chosen = next((id for id in order if id not in done), None)
    return None if chosen is None else candidates.get(chosen) or Asked(by_fact[chosen], 0)
