"""What shapes alone can tell: the records that ingest gives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Where words stand: the line of the person's own text (from 1) and columns (from 0, end excluded) in its redacted form."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number in the person's text, the redacted text, and the words without colour, log prefix or repeat mark.

    ``offset`` is the column of ``text`` at which ``words`` begins.
    """

    number: int
    text: str
    words: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """One key with its value as written: quotes off, shell variables resolved. ``key`` has no leading dashes or plus signs.

    ``shape``: flag, override (a.b=c), yaml, json, python, env, dump (``key ..... value``). ``span`` is the value's place.
    ``command`` is the index of the command that it belongs to, or -1. ``bare`` is a flag without a value (``value`` is "true").
    """

    key: str
    value: str
    shape: str
    span: Span
    command: int = -1
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A launch command: its words that are neither flags nor overrides, its lines, and whether the text breaks off inside it."""

    words: tuple[str, ...]
    first_line: int
    last_line: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """One traceback frame, or a remote call (``ray::Class.method()``; then ``path`` is empty and ``owner`` is the class).

    ``traceback`` counts the tracebacks of the paste from 0; frames of one stand outermost first, as they are printed.
    """

    path: str
    function: str
    line: int
    source_line: int = 0
    owner: str = ""
    traceback: int = 0


@dataclass(frozen=True, slots=True)
class Package:
    """A package and the version that the text gives it."""

    name: str
    version: str
    line: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was taken out of a line: ``path``, ``token``, ``host``, ``address``, ``email``, ``user``."""

    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class Paste:
    """Everything that shapes alone can tell. ``text`` is the reduced paste: redacted, at most 64 kB, line numbers kept.

    ``binary``: hardly any of it is text. ``file`` is the kind of a file that was left out since it holds none.
    """

    text: str
    lines: tuple[Line, ...] = ()
    settings: tuple[Setting, ...] = ()
    commands: tuple[Command, ...] = ()
    frames: tuple[Frame, ...] = ()
    packages: tuple[Package, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    total_lines: int = 0
    binary: bool = False
    file: str = ""

    def line(self, number: int) -> Line | None:
        """The line with this number of the person's text; None where it was left out."""
        return next((line for line in self.lines if line.number == number), None)
