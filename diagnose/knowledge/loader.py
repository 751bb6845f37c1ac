"""Files under ``content/`` → typed records. Every misfit is collected, with file, field, value and cure; nothing stops at the first."""

from __future__ import annotations

import dataclasses
import datetime
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from diagnose.knowledge.record import Record
from diagnose.knowledge.records import FRONT_MATTER_KINDS
from diagnose.units import KIB

R = TypeVar("R", bound=Record)

MAX_BYTES = 64 * KIB
MAX_DEPTH = 10
MOST_NAMED = 8  # words that an error lists where none of them is near

# A table that may stand several times is named in the singular where it is written: [[key]] fills ``keys``.
_PLURAL = {
    "key": "keys", "default": "defaults", "resident": "residents", "behaviour": "behaviours", "frame": "frames",
    "example": "examples", "change": "changes", "claim": "claims", "fix": "fixes", "option": "options",
    "pattern": "patterns", "rank": "ranks", "measure": "measures", "label": "labels", "fork": "forks", "mark": "marks",
    "scope": "scopes", "clash": "clashes", "lack": "lacks", "tie": "ties",
}  # fmt: skip
_STRING = re.compile(r'''"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'''')
_BRACKET = re.compile(r"[\[\]{}]")
_SINGULAR = {plural: singular for singular, plural in _PLURAL.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """A misfit in one record: ``place`` is file and field, ``says`` the value and the cure."""

    place: str
    says: str

    def __str__(self) -> str:
        return f"{self.place}: {self.says}"


def split(text: str) -> tuple[str, str]:
    """Front matter and body of a document; raises ``ValueError`` with the cure when the fences are missing."""
    parts = re.split(r"^\+\+\+[ \t]*$", text, maxsplit=2, flags=re.M)
    if len(parts) != 3 or parts[0].strip():
        raise ValueError("no front matter: begin the file with a line +++, the TOML, and another line +++")
    return parts[1], parts[2].lstrip("\n")


def parse(kind: str, slug: str, text: str) -> tuple[Record | None, list[Problem]]:
    """One record of ``kind`` (the folder's name) from its whole text, with everything that does not fit."""
    return parse_as(FRONT_MATTER_KINDS[kind], f"{kind}/{slug}.md", slug, text)


def parse_as(
    kind: type[R], place: str, slug: str, text: str, elsewhere: Mapping[str, str] = MappingProxyType({})
) -> tuple[R | None, list[Problem]]:
    """The same for any kind of record; fields that stand ``elsewhere`` are refused with the words that it holds for each."""
    problems: list[Problem] = []
    try:
        data, body = _read(text)
    except ValueError as misfit:
        return None, [Problem(place, str(misfit))]
    problems += [Problem(f"{place}: {name}", elsewhere[name]) for name in data if name in elsewhere]
    own = {name: value for name, value in data.items() if name not in elsewhere}
    record = _build(kind, {**own, "slug": slug, "body": body}, place, "", problems)
    if isinstance(record, kind) and not record.sources:
        problems.append(Problem(f"{place}: sources", "is empty: a record without a source is not accepted"))
    return (None if problems else record), problems


def _read(text: str) -> tuple[dict[str, Any], str]:
    if len(text.encode()) > MAX_BYTES:
        raise ValueError(f"{len(text.encode()):,} bytes: a record has at most {MAX_BYTES:,}, shorten it")
    front, body = split(text)
    if nesting(front) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH}: flatten it")
    try:
        data = tomllib.loads(front)
    except (tomllib.TOMLDecodeError, RecursionError) as misfit:
        raise ValueError(f"the front matter is no TOML: {misfit}") from misfit
    return data, body


def nesting(front: str) -> int:
    """How deep brackets nest; those inside of quoted strings are words."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub("", front)):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth = max(0, depth - 1)
    return deepest


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _fields(kind: type) -> dict[str, bool]:
    """The fields that a file may write, and whether it must."""
    return {
        field.name: field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        for field in dataclasses.fields(kind)
        if field.metadata.get("written", True)
    }


def _build(kind: type, data: Mapping[str, Any], place: str, path: str, problems: list[Problem]) -> Any:
    """A dataclass from a table; None when something required is missing or anything inside does not fit."""
    hints, fields, before = _hints(kind), _fields(kind), len(problems)
    given: dict[str, Any] = {}
    for written, value in data.items():
        name = plural if (plural := _PLURAL.get(written)) in fields else written
        where = f"{path}{written}"
        if name not in fields:
            problems.append(Problem(f"{place}: {where}", f"unknown field{did_you_mean(written, _written(fields))}"))
        else:
            given[name] = _convert(hints[name], value, place, where, problems)
    for name, required in fields.items():
        if required and name not in given:
            problems.append(Problem(f"{place}: {path}{singular(name)}", "is missing: it is required"))
    return kind(**given) if len(problems) == before else None


def _written(fields: Mapping[str, Any]) -> list[str]:
    return [singular(name) for name in fields]


def singular(name: str) -> str:
    """How a field is written that may stand several times: ``keys`` as ``key``."""
    return _SINGULAR.get(name, name)


def did_you_mean(word: str, words: typing.Iterable[str]) -> str:
    """`` “word”, did you mean “near”?`` for a message; where none is near, the words of a short list, else the word alone."""
    known = {one.lower(): one for one in words}
    if near := get_close_matches(word.lower(), known, n=1, cutoff=0.6):
        return f" “{word}”, did you mean “{known[near[0]]}”?"
    return f" “{word}”: write one of {', '.join(known.values())}" if 0 < len(known) <= MOST_NAMED else f" “{word}”"


@cache
def _shape(hint: Any) -> tuple[Any, Any]:
    """What a hint asks for: ``object`` for anything, a dataclass, ``tuple`` or ``Mapping`` and what is in it, a pattern, or plain types."""
    origin = typing.get_origin(hint)
    if hint is Any:
        return object, None
    if dataclasses.is_dataclass(hint):
        return "table", hint
    if origin is tuple:
        return tuple, typing.get_args(hint)[0]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Mapping, typing.get_args(hint)[1]
    if origin is re.Pattern:
        return re.Pattern, None
    if not (isinstance(hint, types.UnionType) or origin is typing.Union):
        return None, (hint,)
    options = tuple(option for option in typing.get_args(hint) if option is not type(None))
    for option in options:
        if dataclasses.is_dataclass(option) or typing.get_origin(option) is re.Pattern:
            return _shape(option)
    return None, options


def _convert(hint: Any, value: Any, place: str, where: str, problems: list[Problem]) -> Any:
    shape, inner = _shape(hint)
    if shape is None:
        return _convert_scalar(inner, value, place, where, problems)
    if shape is object:
        return value
    if shape is tuple:
        return _convert_list(inner, value, place, where, problems)
    if shape is re.Pattern:
        return _convert_pattern(value, place, where, problems)
    if not isinstance(value, Mapping):
        return _misfit("a table", value, place, where, problems)
    if shape is Mapping:
        return {key: _convert(inner, item, place, f"{where}.{key}", problems) for key, item in value.items()}
    return _build(inner, value, place, f"{where}.", problems)


def _convert_list(inner: Any, value: Any, place: str, where: str, problems: list[Problem]) -> Any:
    if not isinstance(value, list):
        return _misfit("a list", value, place, where, problems)
    return tuple(_convert(inner, item, place, f"{where}[{i}]", problems) for i, item in enumerate(value))


def _convert_pattern(value: Any, place: str, where: str, problems: list[Problem]) -> Any:
    try:
        return re.compile(value, re.I | re.A)
    except (re.error, TypeError) as misfit:
        return _misfit(f"a regular expression ({misfit})", value, place, where, problems)


def _convert_scalar(options: tuple[Any, ...], value: Any, place: str, where: str, problems: list[Problem]) -> Any:
    if float in options and isinstance(value, int) and not isinstance(value, bool) and int not in options:
        return float(value)
    if isinstance(value, options) and (bool in options or not isinstance(value, bool)):
        return value
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", datetime.date: "a date"}
    return _misfit(" or ".join(words.get(option, str(option)) for option in options), value, place, where, problems)


def _misfit(expected: str, value: Any, place: str, where: str, problems: list[Problem]) -> None:
    problems.append(Problem(f"{place}: {where}", f"is {value!r}, must be {expected}"))
