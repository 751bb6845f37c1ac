"""Changes as a patch of the person's own text: the value replaced where it stands, a new line in the style of its neighbours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from diagnose.facts.settings.spelling import normal
from diagnose.ingest.hunks import after_change
from diagnose.knowledge.records import Framework
from diagnose.prescribe.in_block import Insertion
from diagnose.prescribe.insert import Values, insertions, shell_word
from diagnose.prescribe.key_words import by_spelling
from diagnose.types import Change, Paste, PatchLine, Setting, Span

_FALSE = ("false", "0", "off", "no")
# commands that lead to no program of the run: a trainer's key would be theirs
_START_NOTHING = (("docker", "run"), ("ray", "start"), ("srun",), ("nvidia-smi",))


@dataclass
class _Edit:
    """What becomes of one line: its new text, which words of it are new and which were old, and the lines that follow it.

    ``moved``: behind which place of the line as it was the text stands how much further right.
    """

    text: str
    bold: list[tuple[int, int]] = field(default_factory=list)
    old: list[tuple[int, int]] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)
    touched: bool = False

    def now(self, place: int) -> int:
        """Where a place of the person's line stands after the replacements."""
        return place + sum(by for end, by in self.moved if end <= place)

    @property
    def gone(self) -> bool:
        """Whether nothing but the backslash is left of a line that held one flag."""
        return self.touched and self.text.strip() == "\\"


def patch(
    paste: Paste, changes: Sequence[Change], framework: Framework | None = None, values: Values | None = None
) -> tuple[PatchLine, ...]:
    """The changed lines with one line of context on each side; empty when nothing of the configuration stands in the paste.

    ``framework`` settles where a new key may stand: in its command, or in a file alone, by ``values``.
    """
    edits = _edits(paste, changes, framework, values)
    if not edits:
        return ()
    texts = {line.number: line.text for line in paste.lines}
    shown = sorted({near for number in edits for near in (number - 1, number, number + 1) if near in texts})
    lines: list[PatchLine] = []
    for number in shown:
        lines += _lines(number, texts[number], edits.get(number))
    return tuple(lines)


def main_command(paste: Paste, changes: Sequence[Change] = (), framework: Framework | None = None) -> int | None:
    """The command that the changes stand in, else the one with most settings that starts a program of the run: one of the framework's."""
    spans = {change.span for change in changes if change.span}
    inside = Counter(setting.command for setting in paste.settings if setting.command >= 0 and setting.span in spans)
    set_in = {setting.command for setting in paste.settings}
    programs = [
        at
        for at, command in enumerate(paste.commands)
        # a shell's script takes no word of the trainer's, unless somebody gives it some
        if command.words not in _START_NOTHING and (at in set_in or not _of_shell(command.words))
    ]
    if framework is not None and not framework.fallback:
        programs = [at for at in programs if _is_trainers(paste, at, framework)]
    most = Counter(setting.command for setting in paste.settings if setting.command in programs)
    best = (inside or most).most_common(1)
    return best[0][0] if best else next(iter(programs), None)


def _of_shell(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] in ("bash", "sh", "zsh") or words[0].endswith(".sh"))


def _is_trainers(paste: Paste, at: int, framework: Framework) -> bool:
    """Whether a command names the trainer or sets a key of it: what prepares its data takes none."""
    known = by_spelling(framework)
    if any(setting.command == at and normal(setting.key) in known for setting in paste.settings):
        return True
    command = paste.commands[at]
    words = " ".join(line.text for line in paste.lines if command.first_line <= line.number <= command.last_line)
    return any(mark in words for mark in (*framework.detect.commands, *framework.detect.literals))


def _edits(
    paste: Paste, changes: Sequence[Change], framework: Framework | None = None, values: Values | None = None
) -> dict[int, _Edit]:
    texts = {line.number: line.text for line in paste.lines}
    edits: dict[int, _Edit] = {}
    placed = sorted((change for change in changes if change.span), key=lambda change: change.span.start, reverse=True)  # type: ignore[union-attr]
    for change in placed:
        span = change.span
        if span and span.line in texts:
            _replace(edits.setdefault(span.line, _Edit(texts[span.line])), change, _setting_at(paste, span), span)
    new = [change for change in changes if change.span is None and change.key]
    signed = after_change([(line.number, line.text) for line in paste.lines])
    plain = _without_signs(paste, signed) if signed else paste
    for insertion in insertions(plain, new, main_command(paste, changes, framework), framework, values):
        if insertion.line in signed:  # a patch in the paste: what is new in it has its sign
            insertion = replace(insertion, lines=[f"+{line[1:]}" for line in insertion.lines])
        _insert(edits.setdefault(insertion.line, _Edit(texts[insertion.line])), insertion)
    return edits


def _without_signs(paste: Paste, signed: Mapping[int, str | None]) -> Paste:
    """The paste with a blank in the place of each sign of a patch in it, so that columns and places stay."""
    lines = (
        replace(line, text=f" {line.text[1:]}") if line.number in signed and line.text[:1] in ("+", "-") else line
        for line in paste.lines
    )
    return replace(paste, lines=tuple(lines))


def _setting_at(paste: Paste, span: Span) -> Setting | None:
    return next((setting for setting in paste.settings if setting.span == span), None)


def _replace(edit: _Edit, change: Change, setting: Setting | None, span: Span) -> None:
    if setting is not None and setting.bare:
        _replace_bare(edit, change, span)
        return
    after = change.after
    if setting is not None and setting.command >= 0 and edit.text[span.start - 1 : span.start] not in ("'", '"'):
        after = shell_word(after)
    grown = len(after) - (span.end - span.start)
    # Changes of one line come from right to left; what stands further right moves along.
    edit.bold = [(start + grown, end + grown) for start, end in edit.bold]
    edit.text = edit.text[: span.start] + after + edit.text[span.end :]
    edit.bold.append((span.start, span.start + len(after)))
    edit.old.append((span.start, span.end))
    edit.moved.append((span.end, grown))
    edit.touched = True


def _replace_bare(edit: _Edit, change: Change, span: Span) -> None:
    """A flag without a value: taken out to turn it off, given the value otherwise."""
    begin = edit.text.rfind(" ", 0, max(0, span.start)) + 1
    word = re.match(r"\S+", edit.text[begin:])
    end = begin + (word.end() if word else 0)
    new = "" if change.after.lower() in _FALSE else f"{edit.text[begin:end]} {change.after}"
    rest = edit.text[end:] if new else edit.text[end:].removeprefix(" ")
    edit.moved.append((end, len(new) + len(rest) - (len(edit.text) - begin)))
    edit.text, edit.touched = edit.text[:begin] + new + rest, True


def _insert(edit: _Edit, insertion: Insertion) -> None:
    if insertion.ending is not None:
        edit.text, edit.touched = edit.text.rstrip() + insertion.ending, True
    if insertion.inline:
        at = edit.now(insertion.at) if insertion.at is not None else len(edit.text.rstrip())
        edit.text = edit.text[:at] + insertion.inline + edit.text[at:]
        grown = len(insertion.inline)
        edit.bold = [(start + grown, end + grown) if start >= at else (start, end) for start, end in edit.bold]
        edit.bold.append((at + 1, at + len(insertion.inline.rstrip())))
        edit.touched = True
    edit.after += insertion.lines


def _lines(number: int, text: str, edit: _Edit | None) -> list[PatchLine]:
    if edit is None:
        return [PatchLine(" ", number, text)]
    lines = [PatchLine(" ", number, text)]
    if edit.touched:
        lines = [PatchLine("-", number, text, tuple(sorted(edit.old)))]
        if not edit.gone:
            lines.append(PatchLine("+", number, edit.text, tuple(sorted(edit.bold))))
    indent = [len(new) - len(new.lstrip()) for new in edit.after]
    return lines + [
        PatchLine("+", None, new, ((start, len(new.rstrip(" \\,"))),))
        for new, start in zip(edit.after, indent, strict=True)
    ]
