"""What a script's own arguments hold, such as ``args.seq_len``: from the command that is pasted beside it, else as it declares them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.ingest.lines import Row
from diagnose.ingest.python import HOLDERS, expression
from diagnose.types import Setting

# argparse, and a field of a dataclass that a parser fills
_ARGUMENT = re.compile(r"[ \t]*(?:\w{1,80}[ ]?=[ ]?)?\w{1,80}\.(?=add_argument\()", re.A)
_FIELD = re.compile(r"[ \t]+(?P<name>[A-Za-z_]\w{0,80})[ ]?:[ ]?[\w\[\], |.\"']{1,80}?[ \t]*=(?!=)[ \t]*", re.A)


def read_options(rows: Sequence[Row], settings: Sequence[Setting]) -> dict[str, object]:
    """Name → value of each argument of a script whose text uses such names; none that two commands or declarations tell apart."""
    if not any(holder in row.words for row in rows for holder in HOLDERS):
        return {}
    given = _agreed(
        (setting.key.lstrip("-"), _literal(setting.value)) for setting in settings if setting.shape == "flag"
    )
    declared = _agreed(_declared(rows))
    return {name: value for name, value in {**declared, **given}.items() if value is not ...}


def _agreed(found: Iterator[tuple[str, object]]) -> dict[str, object]:
    """Each name with its one value; ``...`` where several are told, or one that the text does not tell."""
    values: dict[str, object] = {}
    for written, value in found:
        name = written.replace("-", "_")
        values[name] = value if values.get(name, value) == value else ...
    return values


def _literal(written: str) -> object:
    """A word of a command as a parser of arguments takes it."""
    if "$" in written:
        return ...
    if written.lower() in ("true", "false"):
        return written.lower() == "true"
    try:
        value: object = ast.literal_eval(written)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return written
    return value if isinstance(value, (int, float)) else written


def _declared(rows: Sequence[Row]) -> Iterator[tuple[str, object]]:
    for at, row in enumerate(rows):
        if "add_argument(" in row.words and (found := _ARGUMENT.match(row.words)):
            yield from _of_argument(_call(rows, at, found.end()))
        elif ":" in row.words and (found := _FIELD.match(row.words)):
            yield found["name"], _of_field(_call(rows, at, found.end()))


def _call(rows: Sequence[Row], at: int, start: int) -> ast.expr | None:
    whole = expression(rows, at, start)
    try:
        return ast.parse(whole.text, mode="eval").body if whole else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_argument(call: ast.expr | None) -> Iterator[tuple[str, object]]:
    """The name and the default of ``add_argument``; a switch is off."""
    if not isinstance(call, ast.Call):
        return
    named: Mapping[str | None, ast.expr] = {one.arg: one.value for one in call.keywords}
    action = named.get("action")
    off = isinstance(action, ast.Constant) and action.value == "store_true"
    default = _constant(named["default"]) if "default" in named else False if off else ...
    for one in call.args:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.startswith("--"):
            yield one.value.lstrip("-"), default


def _of_field(value: ast.expr | None) -> object:
    """The default of a dataclass's field: a constant, or that of ``field``."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "field":
        default = next((one.value for one in value.keywords if one.arg == "default"), None)
        return _constant(default)
    return _constant(value)


def _constant(value: ast.expr | None) -> object:
    if value is None:
        return ...
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return ...
