"""A fact's value and a title as people say them."""

from __future__ import annotations

from diagnose.units import from_gib
from diagnose.vocabulary import FACTS, Value
from diagnose.words.figures import NBSP, mib

# Units that have another form for one.
_ONE = {"tokens": "token", "prompts": "prompt", "sequences": "sequence", "sequences per GPU": "sequence per GPU"}


def value_words(id: str, value: Value) -> str:
    """A fact's value as people say it: options in words, on and off, thousands apart, unit after it."""
    spec = FACTS[id]
    options = dict(spec.options)
    if str(value).lower() in options:
        return options[str(value).lower()]
    if isinstance(value, bool):
        return ("on" if value else "off") if spec.group in ("memory", "engine", "sizes") else ("yes" if value else "no")
    if id == "algo":
        return algo_words(str(value))
    if spec.unit == "billions":
        # of a role's model the count is exact, and nobody says it so
        digits = 10 if id == "params_b" else 3
        return f"{value:.{digits}g}{NBSP}billion" if isinstance(value, (int, float)) else str(value)
    if isinstance(value, float) and spec.unit == "GiB" and 0 < value < 1:
        return mib(from_gib(value))
    if isinstance(value, (int, float)):
        number = f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
        unit = _ONE.get(spec.unit, spec.unit) if value == 1 else spec.unit
        return f"{number}{NBSP}{unit}" if unit else number
    return value


def in_sentence(title: str) -> str:
    """A title inside a sentence: its first letter small unless it begins with a name or an abbreviation."""
    first = title.split(" ", 1)[0]
    return title[:1].lower() + title[1:] if first.istitle() and first not in ("Adam", "Ray's") else title


def algo_words(algo: str) -> str:
    return algo.upper().replace("_", " ")
