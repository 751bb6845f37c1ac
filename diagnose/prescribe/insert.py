"""Where a key that the paste does not set goes, and how its line is written: as the lines around it are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from diagnose.knowledge.records import Framework
from diagnose.types import Change, Command, Paste, Setting

# Words at the end of a command that belong to the shell: pipes, redirections, the background, the caller's own arguments.
_SHELL_TAIL = re.compile(r"""\s+(?:\d?>&?\d?|\d>&\d|\||&|"?\$\{?[@*]|;|#)""")
# A last line behind which nothing can be put: an ellipsis, or the quote that ends a command given to another one.
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…)")
_INDENT = re.compile(r"[ \t]*")
_DASH = re.compile(r"[ ]*-[ ]+", re.A)


@dataclass(frozen=True)
class Insertion:
    """Behind ``line``: whole new ``lines``, an ``ending`` for the line itself, or ``inline`` words at column ``at``."""

    line: int
    lines: list[str] = field(default_factory=list)
    ending: str | None = None
    inline: str = ""
    at: int | None = None


def insertions(
    paste: Paste, changes: Sequence[Change], command: int | None, framework: Framework | None = None
) -> list[Insertion]:
    """One insertion for each new key that has a place; keys without any neighbour of their kind have none.

    The command of a framework that is configured in a Python file alone takes no keys.
    """
    if framework is not None and framework.config_shape == "python":
        command = None
    paste = _of_framework(paste, framework)
    changes = [change for change in changes if _may_stand(change, framework, command)]
    flags = [change for change in changes if _in_command(paste, change, command, framework)]
    found = [insertion for change in changes if change not in flags for insertion in _beside(paste, change)]
    if flags and command is not None:
        found += _behind_command(paste, flags, command, _Forms.of(framework))
    return found


class _Forms(NamedTuple):
    """Flags that take no word behind them, and keys that a command only takes as added ones."""

    switches: frozenset[str]
    unnamed: frozenset[str]

    @classmethod
    def of(cls, framework: Framework | None) -> _Forms:
        keys = framework.keys if framework else ()
        switches = (name for key in keys if key.switch for name in (key.key, *key.aliases))
        return cls(
            frozenset(switches), frozenset(name for key in keys if key.unnamed for name in (key.key, *key.aliases))
        )


def _may_stand(change: Change, framework: Framework | None, command: int | None) -> bool:
    """Whether a new key may be written at all, and in a file where there is no command."""
    places = _places(change, framework)
    return "nowhere" not in places and (command is not None or "command" not in places)


def _places(change: Change, framework: Framework | None) -> set[str]:
    """Where alone the framework takes a new key."""
    keys = framework.keys if framework else ()
    return {key.new_in for key in keys if change.key in (key.key, *key.aliases)} - {""}


def _of_framework(paste: Paste, framework: Framework | None) -> Paste:
    """The paste without the blocks that are none of the framework's: arguments in a log line, another library's dump.

    In Python an argument that may not be written beside others of the trainer is one of another call, as those of adapters are.
    """
    if framework is None or framework.fallback:
        return paste
    known = {name for key in framework.keys for name in (key.key, *key.aliases)}
    own = {name for key in framework.keys if not (key.new_in or key.hidden) for name in (key.key, *key.aliases)}
    shapes = ("python",) if framework.config_shape == "python" else ("yaml", "json", "python", "env")
    settings = tuple(
        setting
        for setting in paste.settings
        if setting.command >= 0
        or setting.shape == "yaml"
        or (setting.shape in shapes and setting.key in (own if setting.shape == "python" else known))
    )
    return replace(paste, settings=settings)


def _in_command(paste: Paste, change: Change, command: int | None, framework: Framework | None) -> bool:
    """Whether the key is a word of the command: so when the command holds settings, and no block holds the key's siblings."""
    if command is None or "file" in _places(change, framework):
        return False
    shapes = Counter(setting.shape for setting in paste.settings if setting.command == command)
    return bool(shapes) or not _siblings(paste, change.key)


def _behind_command(paste: Paste, changes: Sequence[Change], command: int, forms: _Forms) -> list[Insertion]:
    texts = {line.number: line.text for line in paste.lines}
    span, settings = paste.commands[command], [setting for setting in paste.settings if setting.command == command]
    last = max((number for number in texts if span.first_line <= number <= span.last_line), default=None)
    if last is None:
        return []
    words = [_command_words(change, settings, forms) for change in changes]
    text = texts[last]
    tail = next((found for found in _SHELL_TAIL.finditer(text) if not _in_quotes(text[: found.start()])), None)
    if tail is None and (above := _above_the_last(texts, span, settings, text, words)):
        return [above]
    if span.first_line == span.last_line or tail:
        at = tail.start() if tail else len(text.rstrip().rstrip("\\").rstrip())
        return [Insertion(last, inline=" " + " ".join(words), at=at)]
    indent = _INDENT.match(text)
    space = indent[0] if indent else ""
    continued = text.rstrip().endswith("\\")
    lines = [f"{space}{word} \\" for word in words]
    if not continued:
        lines[-1] = lines[-1].removesuffix(" \\")
    return [Insertion(last, lines=lines, ending=None if continued else " \\")]


def _in_quotes(text: str) -> bool:
    """Whether a quote is open at the end of the text."""
    return any(text.count(quote) % 2 for quote in "\"'")


def _above_the_last(
    texts: dict[int, str], span: Command, settings: Sequence[Setting], text: str, words: Sequence[str]
) -> Insertion | None:
    """Behind the line before the last, where the last one cannot be followed: it ends in a quote that an earlier line opened,
    in an ellipsis, or in a flag that may have lost its value."""
    last, before = span.last_line, texts.get(span.last_line - 1, "")
    bare = any(
        setting.bare and setting.span.line == last and setting.span.end >= len(text.rstrip()) for setting in settings
    )
    odd = _in_quotes(text)
    if not (bare or odd or _ELLIPSIS.match(text)) or not before.rstrip().endswith("\\"):
        return None
    if not any(setting.span.line == last - 1 for setting in settings):
        return None  # the line before may belong to the shell: the last one holds the whole command
    return Insertion(last - 1, lines=[f"{_indent(before)}{word} \\" for word in words])


def _command_words(change: Change, settings: Sequence[Setting], forms: _Forms) -> str:
    """``key=value``, ``++key=value``, ``--key value`` or a bare ``--key``, as most settings of the command are written."""
    shapes = Counter(setting.shape for setting in settings if setting.shape in ("flag", "override"))
    shape = shapes.most_common(1)[0][0] if shapes else ("flag" if "." not in change.key else "override")
    key = change.key.lstrip("-")
    if shape == "override":
        return f"{'++' if change.key in forms.unnamed else ''}{key}={shell_word(change.after)}"
    flags = [setting for setting in settings if setting.shape == "flag"]
    if change.after.lower() == "true" and (change.key in forms.switches or _bare_style(flags)):
        return f"--{key}"
    return f"--{key} {shell_word(change.after)}"


def shell_word(value: str) -> str:
    """A value as one word of a command."""
    return f'"{value}"' if " " in value and value[0] not in "'\"" else value


def _bare_style(flags: Sequence[Setting]) -> bool:
    """Yes/no flags stand alone here: some do, and none has true or false behind it."""
    spelled = any(not flag.bare and flag.value.lower() in ("true", "false") for flag in flags)
    return any(flag.bare for flag in flags) and not spelled


# --- blocks: YAML, JSON, Python


def _beside(paste: Paste, change: Change) -> list[Insertion]:
    siblings = _siblings(paste, change.key)
    if not siblings:
        return []
    texts = {line.number: line.text for line in paste.lines}
    sibling, shared = max(siblings, key=lambda found: (found[1], found[0].span.line))
    text = texts.get(sibling.span.line)
    if text is None:
        return []
    leaf, shape = change.key.split(".")[-1], sibling.shape
    if shape == "yaml":
        return _yaml(texts, sibling, change, shared)
    if shape in ("python", "json"):
        placed = _in_call(text, sibling, leaf, change.after)
        return [placed] if placed else []
    return [Insertion(sibling.span.line, lines=[_indent(text) + _like(text, leaf, change.after)])]


def _siblings(paste: Paste, key: str) -> list[tuple[Setting, int]]:
    """Settings of a block with the parts of the path that they share with ``key``; without a path those that have none either.

    A variable of the shell stands beside variables alone, a name of JSON in its own object alone, as no brackets are opened.
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
        if path == parts if setting.shape == "json" else shared or not (path or parts):
            found.append((setting, shared))
    return found


def _yaml(texts: dict[int, str], sibling: Setting, change: Change, shared: int) -> list[Insertion]:
    """Behind the block that both keys share, at its depth, with the missing parents opened."""
    depth, missing = len(sibling.key.split(".")) - 1, change.key.split(".")[shared:]
    line = sibling.span.line
    levels = _levels(texts, line)
    if (
        len(levels) != depth + 1
    ):  # some parents are not pasted, or stand in one word: two blanks are what YAML files use
        levels = [max(0, levels[-1] - 2 * (depth - at)) for at in range(depth + 1)]
    level, step = levels[shared], levels[1] - levels[0] if depth else 2
    while line + 1 in texts and depth > shared and texts[line + 1].strip() and _is_inside(texts[line + 1], level):
        line += 1
    lines = [" " * (level + step * i) + f"{part}:" for i, part in enumerate(missing)]
    lines[-1] += f" {change.after}"
    return [Insertion(line, lines=lines)]


def _levels(texts: dict[int, str], line: int) -> list[int]:
    """The columns of a line's parents, outermost first, and its own; the dash of a list is no level of its own."""
    levels: list[int] = []
    below, own = 0, 0
    for number in range(line, 0, -1):
        text = texts.get(number, "")
        column = len(_indent(text))
        dash = _DASH.match(text)
        if not text.strip() or text.lstrip().startswith("#") or (levels and column >= below + bool(dash)):
            continue
        own = len(dash[0]) if dash else column
        if not levels or own < levels[0]:
            levels.insert(0, own)
        # what a list hangs on may stand at the column of its dashes
        below = column + 1 if dash else column
        if below == 0:
            break
    return levels


def _is_inside(text: str, level: int) -> bool:
    """Whether the line belongs to the block of a key at that column."""
    column = len(_indent(text))
    return column > level or (column == level and _DASH.match(text) is not None)


def _in_call(text: str, sibling: Setting, leaf: str, value: str) -> Insertion | None:
    """A line of its own where the sibling has one; else right behind the sibling's value, unless that is a sentence."""
    new = f'"{leaf}": {_json(value)}' if sibling.shape == "json" else f"{leaf}={_python(value)}"
    end = sibling.span.end + (1 if text[sibling.span.end : sibling.span.end + 1] in ("'", '"') else 0)
    rest = text[end:].strip()
    alone = text[: sibling.span.start].strip().strip("'\"").count("=") <= 1 and rest in ("", ",")
    if alone and "(" not in text[: sibling.span.start]:
        if sibling.shape == "python" and " = " in text:
            return Insertion(sibling.span.line, lines=[f"{_indent(text)}{leaf} = {_python(value)}"])
        ending = None if rest == "," else ","
        comma = "," if rest == "," else ""
        return Insertion(sibling.span.line, lines=[f"{_indent(text)}{new}{comma}"], ending=ending)
    if sibling.shape == "python" and "(" not in text[: sibling.span.start] and text.rstrip()[-1:] not in (",", ")"):
        return None
    return Insertion(sibling.span.line, inline=f", {new}", at=end)


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


def _indent(text: str) -> str:
    found = _INDENT.match(text)
    return found[0] if found else ""
