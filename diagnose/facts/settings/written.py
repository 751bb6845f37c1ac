"""A value as people write it → the value of a fact. Raises nothing: what does not fit is None, and None is not set."""

from __future__ import annotations

import re

from diagnose.units import KIB, MIB
from diagnose.vocabulary import FACTS, FactSpec, Value, is_number

_TRUE = {"true", "1", "on", "yes", "y"}
_FALSE = {"false", "0", "off", "no", "n"}
_NOT_SET = {"", "none", "null", "~", "nil", "[]"}
_NUMBER = re.compile(r"([+-]?\d[\d_,]*(?:\.\d*)?(?:e[+-]?\d+)?|[+-]?\.\d+)\s*([kKmM]?)", re.I | re.A)
_SHELL_ARITHMETIC = re.compile(r"^\$\(\(?\s*(?:expr\s+)?(.*?)\s*\)?\)$", re.A)
_OPERATION = re.compile(r"(\d{1,15})\s*(\*\*|//|[*/+-])\s*(\d{1,15})", re.A)
_RANGE = re.compile(r"list\(range\((?:(\d{1,6})\s*,\s*)?(\d{1,6})\)\)", re.A)
SHARES = ("gpu_memory_utilization", "ray_memory_threshold")
# a type as torch prints it → as a command names it; fp8 moments are kept as bytes (NVIDIA/Megatron-LM@d98e8a6 training/arguments.py)
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "uint8": "fp8"}
MOST = 10**12  # of anything that a run counts; far below it sums of bytes leave what a float can hold
MOST_OF = {"machine": 10**6, "tokens": 10**8}  # by group or unit: more than anybody has
_MULTIPLIER = {"": 1, "k": KIB, "m": MIB}


def not_set(text: str) -> bool:
    """Whether the written value says that the key has no value."""
    return bare(text).lower() in _NOT_SET


def bare(text: str) -> str:
    """Without the quotes and a trailing comma that a pasted line may carry."""
    return text.strip().rstrip(",;").strip().strip("'\"`").strip()


def truth(text: str) -> bool | None:
    """Yes or no, None when the words say neither."""
    word = bare(text).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def number(text: str) -> int | float | None:
    """``1_024``, ``1e-6``, ``32k`` (= 32 × 1024 tokens), ``$(expr 16 / 4)`` or ``4 * 1024`` as a number; of a range its length."""
    words = bare(text)
    shell = _SHELL_ARITHMETIC.match(words)
    if shell:
        words = shell[1]
    operation = _OPERATION.fullmatch(words)
    if operation:
        return _calculate(int(operation[1]), operation[2], int(operation[3]))
    ranges = [_RANGE.fullmatch(part.strip()) for part in words.split("+")]
    if all(ranges):
        return sum(max(0, int(one[2]) - int(one[1] or 0)) for one in ranges if one)
    found = _NUMBER.fullmatch(words)
    if not found:
        return None
    value = float(found[1].replace("_", "").replace(",", "")) * _MULTIPLIER[found[2].lower()]
    if value == float("inf"):
        return None
    return int(value) if value.is_integer() and not re.search(r"[.e]", found[1], re.I) else value


def _calculate(left: int, operator: str, right: int) -> int | float | None:
    if operator in ("/", "//"):
        return left // right if right else None
    if operator == "**":
        return left**right if right <= 64 and left <= 64 else None
    return {"*": left * right, "+": left + right, "-": left - right}[operator]


def as_fact(spec: FactSpec, text: str) -> Value | None:
    """The written value in the type of the fact, or None when it does not fit it."""
    if not_set(text):
        return None
    if spec.type == "bool":
        return truth(text)
    if spec.type == "int":
        value = number(text)
        return None if value is None or not float(value).is_integer() else int(value)
    if spec.type == "number":
        return number(text)
    if spec.type == "choice":
        return choice(spec, text)
    return bare(text)


def possible(spec: FactSpec, value: float) -> bool:
    """Whether a run can have this number: none below zero, no share above the whole, no cards by the million.

    A key's -1 leaves it to the program.
    """
    if spec.id in SHARES and value > 1:
        return False
    return 0 <= value <= MOST_OF.get(spec.group, MOST_OF.get(spec.unit, MOST))


def choice(spec: FactSpec, text: str) -> Value | None:
    """One of the fact's options; a yes or no where the options hold one."""
    options = dict(spec.options)
    word = bare(text).lower()
    if "true" in options and (yes := truth(word)) is not None:
        return yes
    return next((one for one in (word, dtype(word)) if one in options), None)


def dtype(word: str) -> str:
    """The short name of a type that torch prints: “torch.float16” is fp16; any other word as it is."""
    return _DTYPES.get(word.removeprefix("torch."), word)


def of(id: str, text: str) -> Value | None:
    """``as_fact`` by the fact's id; None for a number that no run can have."""
    value = as_fact(FACTS[id], text)
    return value if not is_number(value) or possible(FACTS[id], value) else None
