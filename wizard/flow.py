"""One question at a time, for those who have nothing to paste. The query string is the whole state; it is replayed each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from diagnose.knowledge import Knowledge
from diagnose.pipeline import Cases, diagnose
from diagnose.questions.bench import untried
from diagnose.types import Asked, Diagnosis
from diagnose.vocabulary import FACTS
from diagnose.words import in_sentence
from wizard import asking, reading, state
from wizard.asking import Ask
from wizard.reading import FactRow
from wizard.state import Answers

MOST = 10
AGAIN = "ask"  # names the question that is shown once more


@dataclass(frozen=True, slots=True)
class Step:
    """A question, or none when the result is next.

    ``query`` are the answers so far, ``back`` the address of the question before. ``before`` and ``after`` are the answers to
    carry, those on either side of a question that is asked once more. ``known`` are what is known, each with the address that
    asks it again, ``passed`` the same of what was passed over.
    """

    ask: Ask | None
    query: str
    number: int = 0
    most: int = MOST
    back: str = ""
    before: tuple[tuple[str, str], ...] = ()
    after: tuple[tuple[str, str], ...] = ()
    known: tuple[tuple[FactRow, str], ...] = ()
    passed: tuple[tuple[str, str], ...] = ()
    open: tuple[str, ...] = ()
    error: str = ""
    near: int = 0
    catalogue: tuple[str, ...] = ()


def next_step(pairs: Sequence[tuple[str, str]], knowledge: Knowledge, cases: Cases) -> Step:
    answers = state.read_answers(pairs)
    done = _done(pairs, answers)
    query = state.query(answers.values)
    diagnosis = diagnose("", answers.values, knowledge, cases)
    tried = next((text for name, text in pairs if name == "asked"), "")
    unanswered = tried if tried not in done else ""
    again = next((text for name, text in pairs if name == AGAIN), "") or unanswered
    asked = _asked(diagnosis, done, again, knowledge)
    if asked is None:
        return Step(None, query)
    id = asked.question.fact
    at = done.index(id) if id in done else len(done)
    missing = [id for id in diagnosis.estimate.missing if id in FACTS]
    rows = [row for group in reading.groups(diagnosis, answers) for row in group.rows if not row.guess]
    return Step(
        ask=asking.ask(asked, diagnosis.facts, answers),
        query=query,
        number=at + 1,
        back=_query(done, answers, done[at - 1]) if at else "",
        before=tuple(_pair(one, answers) for one in done[:at]),
        after=tuple(_pair(one, answers) for one in done[at + 1 :]),
        known=tuple((row, _query(done, answers, row.id) if row.id in done and row.id != id else "") for row in rows),
        passed=tuple(
            (in_sentence(FACTS[one].title), _query(done, answers, one)) for one in done if one not in answers.values
        ),
        open=tuple(in_sentence(FACTS[one].title) for one in missing if one not in done),
        error=answers.errors.get(id, "") or ("Choose one, or say that you don’t know." if unanswered == id else ""),
        near=len(diagnosis.matches),
        catalogue=reading.catalogues(knowledge).get(id, ()),
    )


def _done(pairs: Sequence[tuple[str, str]], answers: Answers) -> list[str]:
    """The facts that were asked and answered or passed over, in their order."""
    named = [text if name == "skip" else name for name, text in pairs]
    return list(dict.fromkeys(id for id in named if id in answers.values or id in answers.skipped))


def _pair(id: str, answers: Answers) -> tuple[str, str]:
    return (id, state.as_text(answers.values[id])) if id in answers.values else ("skip", id)


def _query(done: Sequence[str], answers: Answers, again: str) -> str:
    return urlencode([*(_pair(id, answers) for id in done), (AGAIN, again)])


def _asked(diagnosis: Diagnosis, done: Sequence[str], again: str, knowledge: Knowledge) -> Asked | None:
    """The question that is wanted once more, else the one whose answer would change the advice most; none when none would."""
    open_ones = {asked.question.fact: asked for asked in diagnosis.questions}
    wanted = next((question for question in knowledge.questions.values() if question.fact == again), None)
    if wanted is not None:
        return open_ones.get(again) or untried(wanted, diagnosis.facts)
    return next((asked for id, asked in open_ones.items() if id not in done), None) if len(done) < MOST else None
