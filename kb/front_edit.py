"""A change made by a form, written into the front matter through ``tomlkit``: every byte that was not edited stays."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Item

from diagnose.knowledge.loader import did_you_mean
from diagnose.vocabulary import FACTS, FactSpec
from kb import front
from kb.fields import HEAD

_NO_FORM = "cannot be changed by a form here: change it in the text"
MAX_VALUE = 2_000  # letters of one field


def apply(text: str, changes: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """``text`` with the changed fields written into it, and what is wrong with those that were not, by name."""
    wrong: dict[str, str] = {}
    if not changes:
        return text, wrong
    values = dict(_values(changes, wrong))
    expected = front.read(text)
    if expected is None:
        return text, dict.fromkeys(changes, _NO_FORM)
    for name, value in values.items():
        _expect(expected, name, value)
    opened, toml, closed = _apart(text)
    try:
        document = tomlkit.parse(toml)
        for name, value in values.items():
            _put(document, name, value)
        written = opened + tomlkit.dumps(document) + closed
    except (TOMLKitError, ValueError, TypeError, AttributeError, RecursionError):
        return text, dict.fromkeys(changes, _NO_FORM)
    if front.read(written) != expected:  # a shape that the library does not write back as it read it
        return text, dict.fromkeys(changes, _NO_FORM)
    return written, wrong


def _values(changes: Mapping[str, str], wrong: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, given in changes.items():
        try:
            yield name, _value(name, given)
        except ValueError as misfit:
            wrong[name] = str(misfit)


def _value(name: str, given: str) -> Any:
    """The TOML value of what was typed; None takes the key away. Raises ``ValueError`` with the cure."""
    if len(given) > MAX_VALUE and name != "sources":
        raise ValueError(f"has {len(given)} letters, at most {MAX_VALUE}")
    if any(ord(c) < 32 and c != "\n" for c in given):
        raise ValueError("holds a control character: take it out")
    spec = FACTS.get(name.removeprefix("facts.")) if name.startswith("facts.") else None
    kind = spec.type if spec else HEAD[name][1]
    if kind == "lines":
        return [line.strip() for line in given.split("\n") if line.strip()]
    if not given:
        return None
    return _typed(given, kind, spec)


def _typed(given: str, kind: str, spec: FactSpec | None) -> Any:
    if kind == "bool":
        if given not in ("true", "false"):
            raise ValueError(f"is “{given}”, must be yes or no")
        return given == "true"
    if kind == "date":
        try:
            return datetime.date.fromisoformat(given)
        except ValueError:
            raise ValueError(f"is “{given}”, must be a date as 2026-11-20") from None
    if kind in ("int", "number"):
        return _number(given, kind)
    if spec and spec.options and given not in dict(spec.options):
        raise ValueError(f"unknown word{did_you_mean(given, dict(spec.options))}")
    return given


def _number(given: str, kind: str) -> int | float:
    plain = given.replace(",", "").replace("_", "")
    try:
        number = float(plain)
    except ValueError:
        raise ValueError(f"is “{given}”, must be a {'whole ' if kind == 'int' else ''}number") from None
    if not abs(number) < 1e15:
        raise ValueError(f"is “{given}”, too large a number")
    if number == int(number) and "." not in plain:
        return int(number)
    if kind == "int":
        raise ValueError(f"is “{given}”, must be a whole number")
    return number


def _expect(data: dict[str, Any], name: str, value: Any) -> None:
    """The same change on plain values: what must be read again from the written text."""
    table, key = data, name
    if name.startswith("facts."):
        key = name.removeprefix("facts.")
        if value is not None:
            data.setdefault("facts", {})
        table = data.get("facts", {})
    if not isinstance(table, dict):
        return
    if value is None or value == []:
        table.pop(key, None)
    else:
        table[key] = value


def _put(document: tomlkit.TOMLDocument, name: str, value: Any) -> None:
    """Sets, replaces or takes away one key and nothing else."""
    table, key = (document, name)
    if name.startswith("facts."):
        key = name.removeprefix("facts.")
        if "facts" not in document:
            if value is None:
                return
            document["facts"] = tomlkit.table()
        table = document["facts"]
    if value is None or value == []:
        table.pop(key, None)
    elif key in table and table[key] != value:
        _replace(table, key, value)
    elif key not in table:
        table[key] = _item(value)


def _replace(table: Any, key: str, value: Any) -> None:
    """The comment behind the value stays; of a list, so does every item that is still there."""
    old = table.item(key)
    if isinstance(value, list) and isinstance(old, Array):
        matcher = SequenceMatcher(None, [str(item) for item in old], value, autojunk=False)
        for _, a, a_end, b, b_end in reversed([op for op in matcher.get_opcodes() if op[0] != "equal"]):
            for _ in range(a, a_end):
                old.pop(a)
            for place, line in enumerate(value[b:b_end]):
                old.insert(a + place, line)
        return
    item = _item(value)
    item.trivia.comment_ws, item.trivia.comment = old.trivia.comment_ws, old.trivia.comment
    item.trivia.trail = old.trivia.trail
    table[key] = item


def _item(value: Any) -> Item:
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(value)
        return array.multiline(True)
    item: Item = tomlkit.item(value)
    return item


def _apart(text: str) -> tuple[str, str, str]:
    """The first fence with its line end, the TOML, and the rest from the second fence on."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip(" \t") == "+++"][:2]
    if len(fences) < 2:
        raise ValueError("no front matter")
    front = "\n".join(lines[fences[0] + 1 : fences[1]])
    opened = "\n".join(lines[: fences[0] + 1]) + "\n"
    return opened, front + "\n" if front else "", "\n".join(lines[fences[1] :])
