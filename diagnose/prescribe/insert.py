"""Where a key that the paste does not set goes, and how its line is written: as the lines around it are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from diagnose.conditions import holds
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.records import Framework
from diagnose.prescribe.in_block import Insertion, beside, indent, siblings
from diagnose.prescribe.key_words import by_spelling
from diagnose.types import Change, Command, Paste, Setting
from diagnose.vocabulary import FACTS, Value

Values = Mapping[str, Value]

# Words at the end of a command that belong to the shell: pipes, redirections, the background, the caller's own arguments.
_SHELL_TAIL = re.compile(r"""\s+(?:\d?>&?\d?|\d>&\d|\||&|"?\$\{?[@*]|;|#)""")
# A last line behind which nothing can be put: an ellipsis, or the quote that ends a command given to another one.
_ELLIPSIS = re.compile(r"\s*(?:\.{3}|…)")


def insertions(
    paste: Paste,
    changes: Sequence[Change],
    command: int | None,
    framework: Framework | None = None,
    values: Values | None = None,
) -> list[Insertion]:
    """One insertion for each new key that has a place; keys without any neighbour of their kind have none.

    The command of a framework that is configured in a Python file alone takes no keys, nor does one that only names a trainer's file.
    ``values``: what the conditions of keys are tested on.
    """
    served = [change for change in changes if "server" in _places(change, framework, values)]
    if served:
        server, others = _server(paste, framework), [change for change in changes if change not in served]
        placed = _behind_command(paste, served, server, _Forms.of(framework, values)) if server is not None else []
        return [*placed, *insertions(paste, others, command, framework, values)]
    forms = _Forms.of(framework, values)
    if forms.shape == "file" or (framework is not None and framework.config_shape == "python"):
        command = None
    paste = _of_framework(paste, framework, values or {})
    changes = [change for change in changes if _may_stand(change, framework, command)]
    flags = [change for change in changes if _in_command(paste, change, command, framework)]
    found = _joined([insertion for change in changes if change not in flags for insertion in beside(paste, change)])
    if flags and command is not None:
        found += _behind_command(paste, flags, command, forms)
    return found


def _joined(found: Sequence[Insertion]) -> list[Insertion]:
    """The same insertions, each new parent opened once: what comes second behind a line leaves out what the one before it has opened."""
    joined, opened = list[Insertion](), dict[int, list[str]]()
    for one in found:
        above = opened.get(one.line, [])
        same = next((i for i, (a, b) in enumerate(zip(above, one.lines[:-1], strict=False)) if a != b), None)
        same = min(len(above), len(one.lines) - 1) if same is None else same
        opened[one.line] = one.lines[:-1]
        joined.append(replace(one, lines=one.lines[same:]) if same > 0 else one)
    return joined


def _server(paste: Paste, framework: Framework | None) -> int | None:
    """The command of the engine's server: it sets most of the engine, and no size of the training."""
    groups = [
        (one.command, FACTS[key.fact].group)
        for one in paste.settings
        for key in (framework.keys if framework else ())
        if one.command >= 0 and key.fact and one.key in (key.key, *key.aliases)
    ]
    trainers = {command for command, group in groups if group == "sizes"}
    told = Counter(command for command, group in groups if group == "engine" and command not in trainers)
    return told.most_common(1)[0][0] if told else None


class _Forms(NamedTuple):
    """Flags that take no word behind them, keys that a command only takes as added ones, and the shape of a trainer's own words.

    Where it takes overrides, its ``own`` keys: a flag that is none of them, such as that of a file, says nothing of how they are written.
    """

    switches: frozenset[str]
    unnamed: frozenset[str]
    shape: str
    own: frozenset[str] | None = None

    def style(self, settings: Sequence[Setting]) -> str:
        """How most settings of a command are written, "" where none tells."""
        ones = [one for one in settings if one.shape in ("flag", "override")]
        told = [one for one in ones if one.shape == "override" or self.own is None or normal(one.key) in self.own]
        shapes = Counter(one.shape for one in told)
        return shapes.most_common(1)[0][0] if shapes else "override" if ones and self.own is not None else ""

    @classmethod
    def of(cls, framework: Framework | None, values: Values | None) -> _Forms:
        keys = framework.keys if framework else ()
        named = (values or {}).get("framework")
        shape = next((fork.config_shape for fork in (framework.forks if framework else ()) if fork.id == named), "")
        switches = (name for key in keys if key.switch for name in (key.key, *key.aliases))
        overrides = framework is not None and framework.config_shape == "override"
        return cls(
            frozenset(switches),
            frozenset(name for key in keys if key.unnamed for name in (key.key, *key.aliases)),
            shape,
            frozenset(normal(name) for key in keys for name in (key.key, *key.aliases)) if overrides else None,
        )


def _may_stand(change: Change, framework: Framework | None, command: int | None) -> bool:
    """Whether a new key may be written at all, and in a file where there is no command."""
    places = _places(change, framework)
    return "nowhere" not in places and (command is not None or "command" not in places)


def _places(change: Change, framework: Framework | None, values: Values | None = None) -> set[str]:
    """Where alone the framework takes a new key."""
    keys = framework.keys if framework else ()
    same = [key for key in keys if change.key in (key.key, *key.aliases)]
    # what only a server takes stands there only where one serves the run
    return {key.new_in for key in same if key.new_in != "server" or holds(key.when, values or {}) is not False} - {""}


def _of_framework(paste: Paste, framework: Framework | None, values: Values) -> Paste:
    """The paste without the blocks that are none of the framework's: arguments in a log line, another library's dump.

    In Python an argument that may not be written beside others of the trainer is one of another call, as those of adapters are.
    Where many trainers share the keys, those that name the run's own tell its blocks.
    """
    keys = framework.keys if framework else ()
    if framework is not None and framework.fallback:
        named = [key for key in keys if "framework" in key.when] if "framework" in values else []
        keys = tuple(key for key in named if holds(key.when, values) is not False)
    if framework is None or not keys:
        return paste
    known = {name for key in keys for name in (key.key, *key.aliases)}
    own = {name for key in keys if not (key.new_in or key.hidden) for name in (key.key, *key.aliases)}
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
    """Whether the key is a word of the command: so when the command holds settings of the trainer, or no block holds the key's siblings.

    What a launcher takes, and the name of the file in which all stands, are none of them.
    """
    if command is None or "file" in _places(change, framework):
        return False
    known = by_spelling(framework) if framework else {}
    own = any(normal(setting.key) in known or not known for setting in paste.settings if setting.command == command)
    return own or not siblings(paste, change.key)


def _behind_command(paste: Paste, changes: Sequence[Change], command: int, forms: _Forms) -> list[Insertion]:
    texts = {line.number: line.text for line in paste.lines}
    span, settings = paste.commands[command], [setting for setting in paste.settings if setting.command == command]
    last = max((number for number in texts if span.first_line <= number <= span.last_line), default=None)
    if last is None:
        return []
    words = [_command_words(change, settings, forms) for change in changes]
    text = texts[last]
    if inside := _inside_the_line(paste, command, settings, texts, words):
        return inside
    tail = next((found for found in _SHELL_TAIL.finditer(text) if not _in_quotes(text[: found.start()])), None)
    if tail is None and (above := _above_the_last(texts, span, settings, text, words)):
        return [above]
    if span.first_line == span.last_line or tail:
        at = tail.start() if tail else len(text.rstrip().rstrip("\\").rstrip())
        return [Insertion(last, inline=" " + " ".join(words), at=at)]
    space = indent(text)
    continued = text.rstrip().endswith("\\")
    lines = [f"{space}{word} \\" for word in words]
    if not continued:
        lines[-1] = lines[-1].removesuffix(" \\")
    return [Insertion(last, lines=lines, ending=None if continued else " \\")]


def _in_quotes(text: str) -> bool:
    """Whether a quote is open at the end of the text."""
    return any(text.count(quote) % 2 for quote in "\"'")


def _inside_the_line(
    paste: Paste, command: int, settings: Sequence[Setting], texts: dict[int, str], words: Sequence[str]
) -> list[Insertion]:
    """Before the quote that closes a command given to another one, and before the command that follows on the same lines."""
    span, ends = paste.commands[command], max(settings, key=lambda one: (one.span.line, one.span.end), default=None)
    if ends is None or ends.span.line not in texts:
        return []
    text, line, new = texts[ends.span.line], ends.span.line, " " + " ".join(words)
    at = _end_of_word(text, ends)
    if any(other.first_line <= span.last_line for other in paste.commands[command + 1 :]):
        return [Insertion(line, inline=new, at=at)]
    quote = _open_quote(text[: _start_of_word(text, ends)])
    closed = text.find(quote, at) if quote else -1
    if line != span.last_line or closed < 0:
        return []
    return [Insertion(line, inline=new, at=len(text[:closed].rstrip()))]


def _start_of_word(text: str, setting: Setting) -> int:
    return text.rfind(" ", 0, max(0, setting.span.start)) + 1


def _end_of_word(text: str, setting: Setting) -> int:
    """Where a setting ends, with the quote that closes its value; a flag without a value where its word ends."""
    end, start = setting.span.end, setting.span.start
    if setting.bare:
        word = re.match(r"[\w.+~-]+", text[(begin := _start_of_word(text, setting)) :])
        return max(end, begin + (word.end() if word else 0))
    return end + (text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1 : start])


def _open_quote(text: str) -> str:
    """The quote that is open at the end of the text, if one is."""
    quote, skip = "", False
    for mark in text:
        if skip or mark == "\\":
            skip = not skip
        elif mark in "\"'" and quote in ("", mark):
            quote = "" if quote else mark
    return quote


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
    return Insertion(last - 1, lines=[f"{indent(before)}{word} \\" for word in words])


def _command_words(change: Change, settings: Sequence[Setting], forms: _Forms) -> str:
    """``key=value``, ``++key=value``, ``--key value`` or a bare ``--key``, as most settings of the command are written."""
    shape = forms.style(settings) or ("flag" if "." not in change.key else "override")
    key = change.key.lstrip("-")
    if forms.shape:
        shape, key = forms.shape, key.replace("_", "-") if forms.shape == "dashed" else key
    if shape == "override":
        return f"{'++' if change.key in forms.unnamed else ''}{key}={shell_word(change.after)}"
    flags = [setting for setting in settings if setting.shape == "flag"]
    if change.after.lower() == "true" and (change.key in forms.switches or _bare_style(flags)):
        return f"--{key}"
    return f"--{key} {shell_word(change.after)}"


def shell_word(value: str) -> str:
    """A value as one word of a command."""
    quote = "'" if '"' in value else '"'
    return f"{quote}{value}{quote}" if " " in value and value[0] not in "'\"" else value


def _bare_style(flags: Sequence[Setting]) -> bool:
    """Yes/no flags stand alone here: some do, and none has true or false behind it."""
    spelled = any(not flag.bare and flag.value.lower() in ("true", "false") for flag in flags)
    return any(flag.bare for flag in flags) and not spelled
