"""A question as a page shows it: the run's own key, the options, how to recognise each, what each changes."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.conditions import holds
from diagnose.facts.settings.answers import closed
from diagnose.types import Asked, Facts
from diagnose.vocabulary import BATCH_UNITS, FACTS
from diagnose.words import value_words
from wizard import state
from wizard.state import Answers


@dataclass(frozen=True, slots=True)
class OptionShown:
    value: str
    title: str
    hint: str
    then: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its options; an earlier answer that is none of them is one as well. ``fact`` names it in the form.

    ``field``: words of one's own can be written, beside the options or alone, ``written`` those that were. ``rest`` are the
    options that are not among the likely ones. ``skipped``: it was passed over before. ``keys`` set the fact in this run,
    ``measure`` says what the number of such a key counts where that is not what is asked.
    """

    fact: str
    title: str
    chinese: str
    hint: str
    find_out: str
    options: tuple[OptionShown, ...]
    rest: tuple[tuple[str, str], ...]
    field: bool
    digits: bool
    unit: str
    written: str
    skipped: bool
    keys: tuple[str, ...]
    measure: str


def ask(asked: Asked, facts: Facts, answers: Answers) -> Ask:
    question, id = asked.question, asked.question.fact
    spec, given = FACTS[id], state.as_text(answers.values[id]) if id in answers.values else ""
    options = _options(asked, given)
    named = {option.value for option in options}
    return Ask(
        fact=id,
        title=question.title,
        chinese=question.chinese,
        hint=question.hint,
        find_out=question.find_out,
        options=options,
        rest=tuple(one for one in _words(asked).items() if options and one[0] not in named and one[0] != "other"),
        field=not (options and (spec.type in ("choice", "bool") or closed(id))),
        digits=spec.type == "int",
        unit=spec.unit,
        written=answers.written.get(id, "") or ("" if options else given),
        skipped=id in answers.skipped,
        keys=_keys(id, facts),
        measure=_measure(id, facts),
    )


def _options(asked: Asked, given: str) -> tuple[OptionShown, ...]:
    hints = {option.value: option.hint for option in asked.question.options}
    shown = [
        OptionShown(option[0], _title(option, asked), hints.get(option[0], ""), option[2], option[0] == given)
        for option in asked.options
    ]
    if shown and given and given not in {option.value for option in shown}:
        shown.append(OptionShown(given, _words(asked).get(given, given), "Your answer.", "", True))
    return tuple(shown)


def _title(option: tuple[str, str, str], asked: Asked) -> str:
    """An option's words; of a number that has none the number as facts are shown, with its unit."""
    value, title, _ = option
    is_plain = title == value and FACTS[asked.question.fact].type == "int"
    return value_words(asked.question.fact, int(value)) if is_plain else title


def _words(asked: Asked) -> dict[str, str]:
    """Every value of a fact that is a choice, in the question's words where it has some."""
    spec = FACTS[asked.question.fact]
    titles = {option.value: option.title for option in asked.question.options}
    return {value: titles.get(value, words) for value, words in spec.options}


def _keys(id: str, facts: Facts) -> tuple[str, ...]:
    """The keys that set it in the person's own trainer: none that sets it only beside something else, or that may not be there."""
    if not facts.read_by_keys or facts.framework is None:
        return ()
    ids = (id, "lora_rank") if id == "full_or_lora" else (id,)
    set_it = {
        (one, key.key)
        for one in ids
        for key in facts.framework.keys
        if (key.fact == one or (key.values and all(one in told for told in key.values.values() if told)))
        and (key.new_in != "nowhere" or holds(key.when, facts.values) is True)
    }
    return tuple(dict.fromkeys(facts.keys[one] for one in ids if (one, facts.keys.get(one)) in set_it))


def _measure(id: str, facts: Facts) -> str:
    unit = facts.units.get(id, "") if facts.read_by_keys else ""
    return BATCH_UNITS[unit] if unit in BATCH_UNITS and unit != _OWN.get(id, unit) else ""


# What the facts themselves count; a key may count something else.
_OWN = dict.fromkeys((id for id, spec in FACTS.items() if spec.unit == "sequences per GPU"), "sequences_per_gpu")
