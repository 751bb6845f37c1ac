"""Where a new key goes in a block of YAML, JSON or Python, and how its line is written there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diagnose.ingest.toml_tables import HEAD
from diagnose.types import Change, Paste, Setting

_INDENT = re.compile(r"[ \t]*")
_DASH = re.compile(r"[ ]*-[ ]+", re.A)
_NAMED = re.compile(r"""[ \t-]*["']?([\w.@/-]+)["']?\s*:(?=\s|$)""", re.A)
_ANNOTATED = re.compile(r"\s*\w+\s*:\s*[^=]+=", re.A)
# what only Python writes around and inside of a dictionary
_OF_PYTHON = re.compile(r"""[\w\])]\s*[=(]\s*\{|:\s*(?:True|False|None)\b|\breturn\s*\{""", re.A)
_ABOVE = 80  # lines of a dictionary that are looked at


@dataclass(frozen=True)
class Insertion:
    """Behind ``line``: whole new ``lines``, an ``ending`` for the line itself, or ``inline`` words at column ``at``."""

    line: int
    lines: list[str] = field(default_factory=list)
    ending: str | None = None
    inline: str = ""
    at: int | None = None


def beside(paste: Paste, change: Change) -> list[Insertion]:
    found = siblings(paste, change.key)
    if not found:
        return []
    texts = {line.number: line.text for line in paste.lines}
    sibling, shared = max(found, key=lambda one: (one[1], one[0].span.line))
    text = texts.get(sibling.span.line)
    if text is None:
        return []
    leaf, shape = change.key.split(".")[-1], sibling.shape
    if shape == "yaml":
        return _yaml(texts, sibling, change, shared)
    if _table(texts, sibling):
        return _toml(sibling, change)
    if shape in ("python", "json"):
        placed = _in_call(texts, sibling, leaf, change.after)
        return [placed] if placed else []
    return [Insertion(sibling.span.line, lines=[indent(text) + _like(text, leaf, change.after)])]


def siblings(paste: Paste, key: str) -> list[tuple[Setting, int]]:
    """Settings of a block with the parts of the path that they share with ``key``; without a path those that have none either.

    A variable of the shell stands beside variables alone, a name of JSON or Python in its own object alone, as no brackets are opened. A
    file of TOML takes a table of its own at its end.
    """
    path = key.split(".")[:-1]
    found = []
    for setting in paste.settings:
        if setting.shape not in ("yaml", "json", "python", "env") or (setting.shape == "env" and not key.isupper()):
            continue
        parts = setting.key.split(".")[:-1]
        shared = next(
            (i for i, (a, b) in enumerate(zip(path, parts, strict=False)) if a != b), min(len(path), len(parts))
        )
        if path == parts if setting.shape in ("json", "python") else shared or not (path or parts):
            found.append((setting, shared))
    return found or _in_tables(paste, path)


def _in_tables(paste: Paste, path: list[str]) -> list[tuple[Setting, int]]:
    """The settings of a file of TOML, where what is new has a table."""
    if not path:
        return []
    texts = {line.number: line.text for line in paste.lines}
    return [(one, 0) for one in paste.settings if _table(texts, one)]


def _table(texts: dict[int, str], setting: Setting) -> str:
    """The table of TOML in which a setting stands: the head above it, of which its key has the name."""
    table = setting.key.rpartition(".")[0] if setting.shape == "python" else ""
    line = setting.span.line
    while table and line in texts and not (head := HEAD.match(texts[line])):
        line -= 1
    return table if table and line in texts and head and head["name"] == table else ""


def _toml(sibling: Setting, change: Change) -> list[Insertion]:
    """Behind the last of its table, or in a new one."""
    table, _, leaf = change.key.rpartition(".")
    line = f"{leaf} = {_json(change.after)}"
    there = table == sibling.key.rpartition(".")[0]
    return [Insertion(sibling.span.line, lines=[line] if there else ["", f"[{table}]", line])]


def _yaml(texts: dict[int, str], sibling: Setting, change: Change, shared: int) -> list[Insertion]:
    """Behind the block that both keys share, at its depth, with the missing parents opened."""
    path, missing = sibling.key.split("."), change.key.split(".")[shared:]
    depth, line = len(path) - 1, sibling.span.line
    found = _levels(texts, line)
    names, levels = [name for _, name in found], [column for column, _ in found]
    if len(names) <= depth and names == path[: len(names)]:
        # the innermost parents stand in one line: {a: 1, b: 2}
        if shared >= len(names):
            return _in_braces(texts[line], sibling, change.after, missing)
    elif len(levels) != depth + 1:  # some parents are not pasted: two blanks are what YAML files use
        levels = [max(0, levels[-1] - 2 * (depth - at)) for at in range(depth + 1)]
    level, step = levels[shared], levels[1] - levels[0] if len(levels) > 1 else 2
    while line + 1 in texts and depth > shared and texts[line + 1].strip() and _is_inside(texts[line + 1], level):
        line += 1
    lines = [" " * (level + step * i) + f"{part}:" for i, part in enumerate(missing)]
    lines[-1] += f" {change.after}"
    return [Insertion(line, lines=lines)]


def _in_braces(text: str, sibling: Setting, value: str, missing: list[str]) -> list[Insertion]:
    """Behind the sibling's value, where the new key is one of the same braces."""
    end = sibling.span.end
    end += (
        text[end : end + 1] in ("'", '"') and text[sibling.span.start - 1 : sibling.span.start] == text[end : end + 1]
    )
    return [Insertion(sibling.span.line, inline=f", {missing[0]}: {value}", at=end)] if len(missing) == 1 else []


def _levels(texts: dict[int, str], line: int) -> list[tuple[int, str]]:
    """The columns and names of a line's parents, outermost first, and its own; neither the dash of a list nor an item
    without a name is a level of its own."""
    levels: list[tuple[int, str]] = []
    below, own, first = 0, 0, True
    for number in range(line, 0, -1):
        text = texts.get(number, "")
        column = len(indent(text))
        dash = _DASH.match(text)
        if not text.strip() or text.lstrip().startswith("#") or (not first and column >= below + bool(dash)):
            continue
        own, first = len(dash[0]) if dash else column, False
        named = _NAMED.match(text)
        if named and (not levels or own < levels[0][0]):
            levels.insert(0, (own, named[1]))
        # what a list hangs on may stand at the column of its dashes
        below = column + 1 if dash else column
        if below == 0:
            break
    return levels or [(own, "")]


def _is_inside(text: str, level: int) -> bool:
    """Whether the line belongs to the block of a key at that column."""
    column = len(indent(text))
    return column > level or (column == level and _DASH.match(text) is not None)


def _in_call(texts: dict[int, str], sibling: Setting, leaf: str, value: str) -> Insertion | None:
    """A line of its own where the sibling has one; else right behind the sibling's value, unless that is a sentence."""
    line, text = sibling.span.line, texts[sibling.span.line]
    spaced = sibling.shape == "python" and text[: sibling.span.start].rstrip("'\"").endswith("= ")
    new = f"{leaf} = {_python(value)}" if spaced else f"{leaf}={_python(value)}"
    if sibling.shape == "json":
        new = f'"{leaf}": {_python(value) if _is_python(texts, line) else _json(value)}'
    end = sibling.span.end + (1 if text[sibling.span.end : sibling.span.end + 1] in ("'", '"') else 0)
    rest = text[end:].strip()
    alone = text[: sibling.span.start].strip().strip("'\"").count("=") <= 1 and rest in ("", ",")
    if alone and "(" not in text[: sibling.span.start]:
        if sibling.shape == "python" and not _is_argument(texts, line):
            typed = f"{leaf}: {_type(value)}" if _ANNOTATED.match(text) else leaf
            return Insertion(line, lines=[f"{indent(text)}{typed} = {_python(value)}"])
        ending = None if rest == "," else ","
        comma = "," if rest == "," else ""
        return Insertion(line, lines=[f"{indent(text)}{new}{comma}"], ending=ending)
    if sibling.shape == "python" and "(" not in text[: sibling.span.start] and text.rstrip()[-1:] not in (",", ")"):
        return None
    return Insertion(line, inline=f", {new}", at=end)


def _is_argument(texts: dict[int, str], line: int) -> bool:
    """Whether a line holds an argument of a call that an earlier one opens: a comma ends it or what stands above it."""
    above = next((text for at in range(line - 1, 0, -1) if (text := texts.get(at, "").split("#")[0]).strip()), "")
    return texts[line].rstrip().endswith(",") or above.rstrip().endswith((",", "("))


def _is_python(texts: dict[int, str], line: int) -> bool:
    """Whether the object is a dictionary of a Python script."""
    for at in range(line, max(0, line - _ABOVE), -1):
        if not texts.get(at, "").strip():
            return False
        if _OF_PYTHON.search(texts[at]):
            return True
    return False


def _type(value: str) -> str:
    """The type that an annotation gives a value."""
    if value.lower() in ("true", "false"):
        return "bool"
    if re.fullmatch(r"-?[\d.]+", value):
        return "float" if "." in value else "int"
    return "str"


def _like(text: str, leaf: str, value: str) -> str:
    export = "export " if text.lstrip().startswith("export ") else ""
    return f"{export}{leaf}={value}"


def _python(value: str) -> str:
    if value in ("true", "false"):
        return value.capitalize()
    return value if re.fullmatch(r"-?[\d.]+|True|False|None", value) else f'"{value}"'


def _json(value: str) -> str:
    low = value.lower()
    return low if re.fullmatch(r"-?[\d.]+|true|false|null", low) else f'"{value}"'


def indent(text: str) -> str:
    found = _INDENT.match(text)
    return found[0] if found else ""
