"""A question as a page shows it: its options, how to recognise each, what each changes."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.types import Asked
from diagnose.vocabulary import FACTS


@dataclass(frozen=True, slots=True)
class OptionShown:
    value: str
    title: str
    hint: str
    then: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its options; without options it has a field. ``fact`` names it in the form."""

    fact: str
    title: str
    hint: str
    find_out: str
    options: tuple[OptionShown, ...]
    unit: str


def ask(asked: Asked) -> Ask:
    question, then = asked.question, {value: words for value, _, words in asked.options}
    hints = {option.value: option.hint for option in question.options}
    named = asked.options or tuple((option.value, option.title, "") for option in question.options)
    return Ask(
        fact=question.fact,
        title=question.title,
        hint=question.hint,
        find_out=question.find_out,
        options=tuple(
            OptionShown(value, title, hints.get(value, ""), then.get(value, "")) for value, title, _ in named
        ),
        unit=FACTS[question.fact].unit if question.fact in FACTS else "",
    )
