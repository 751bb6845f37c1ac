"""From a text to a ``Paste``: redacted and reduced first, then read shape by shape from the reduced text alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from diagnose.ingest.argv import read_lists
from diagnose.ingest.blocks import read_yaml
from diagnose.ingest.braces import read_braces
from diagnose.ingest.branches import Walked, walk
from diagnose.ingest.commands import read_commands
from diagnose.ingest.environment import plainly_named, read_environment
from diagnose.ingest.files import without_files
from diagnose.ingest.frames import read_frames
from diagnose.ingest.lines import read_rows
from diagnose.ingest.normalise import count_lines, encode, is_binary, normalise_bytes, numbered, without_noise
from diagnose.ingest.options import read_options
from diagnose.ingest.packages import read_packages
from diagnose.ingest.pairs import read_pairs
from diagnose.ingest.python import read_names
from diagnose.ingest.redact import marks
from diagnose.ingest.reduce import reduce_text
from diagnose.ingest.references import resolved
from diagnose.ingest.shell import read_variables
from diagnose.ingest.stream import thin
from diagnose.ingest.tracked import read_joined, without_wrapping
from diagnose.ingest.unused import without_unused
from diagnose.types import Command, Frame, Paste, Setting


def read(text: str) -> Paste:
    """What shapes alone tell of a text. Reading the ``text`` of the result again gives the same."""
    return _read(encode(text))


def read_stream(chunks: Iterable[bytes]) -> Paste:
    """The same for bytes that come in pieces and may be a hundred megabytes: a few megabytes are held at a time."""
    return read_streams([chunks])


def read_streams(streams: Iterable[Iterable[bytes]]) -> Paste:
    """Several streams in their order as one text; one that holds no text is left out, and the first such kind is said."""
    chunks, kinds = without_files(streams)
    data = thin(chunks)
    return replace(_read(data), file=kinds[0]) if kinds else _read(data)


def _read(data: bytes) -> Paste:
    return _parse(reduce_text(normalise_bytes(without_noise(data))), is_binary(data))


def _parse(text: str, binary: bool) -> Paste:
    walked = walk(read_rows(numbered(text.split("\n"))) if text else ())
    rows = walked.rows
    settings, commands, frames = _read_shapes(walked)
    return Paste(
        text=text,
        lines=tuple(row.line for row in rows),
        settings=settings,
        commands=commands,
        frames=frames,
        packages=tuple(read_packages(rows)),
        redactions=marks(text),
        total_lines=count_lines(text),
        binary=binary,
    )


def _read_shapes(walked: Walked) -> tuple[tuple[Setting, ...], tuple[Command, ...], tuple[Frame, ...]]:
    """Each line is read by the first shape that fits it: frame, command, dictionary, a tracker's dump, YAML, then keys anywhere."""
    rows = walked.rows
    of_pods, in_pods = read_environment(rows)
    given = [(one.key, one.span.line, one.value) for one in of_pods]
    variables = read_variables(rows, [*walked.given, *given])
    frames, used = read_frames(rows)
    rest = [row for row in rows if row.line.number not in used]
    commands, settings, used = read_commands(rest, variables)
    rest = [row for row in rest if row.line.number not in used]
    listed, found, used = read_lists(rest, variables, len(commands))
    commands, settings = commands + listed, settings + found
    names = read_names(rows, read_options(rows, settings))
    found, rest = read_braces([row for row in rest if row.line.number not in used], names)
    settings += found
    found, used = read_joined(rest)
    settings += found
    rest = [row for row in rest if row.line.number not in used]
    found, used = read_yaml(rest)
    settings = [one for one in without_wrapping(settings + found) if one.span.line not in in_pods] + of_pods
    used |= in_pods
    rest = [row for row in rest if row.line.number not in used]
    settings += read_pairs(rest, variables, names)
    settings = without_unused(plainly_named(settings), commands, rows)
    settings.sort(key=lambda setting: (setting.span.line, setting.span.start))
    return tuple(resolved(walked.first(settings))), tuple(commands), tuple(frames)
