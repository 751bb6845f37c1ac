"""What was read, for the page: facts in groups with where each comes from, and the paste with its marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from diagnose.knowledge import Knowledge
from diagnose.off import off
from diagnose.types import Diagnosis, Fact, Line
from diagnose.vocabulary import BATCH_UNITS, FACTS, FactSpec, Value
from diagnose.words import value_words
from wizard.state import Answers, as_text

GROUPS = {
    "failure": "failure",
    "measured": "what the message says",
    "machine": "machine",
    "run": "run",
    "sizes": "sizes",
    "memory": "memory settings",
    "engine": "rollout engine",
}
_CHIPS = {"answered": "you", "default": "default", "assumed": "assumed", "derived": "follows"}
_MARK = re.compile(r"‹(token|email|address|host|path|user)›")
CONTEXT, SHORT = 2, 60


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact with its field. ``guess`` is drawn lighter; ``line`` is the line it was read from, 0 for none."""

    id: str
    title: str
    words: str
    chip: str
    line: int
    guess: bool
    note: str
    options: SafeString
    catalogue: str
    value: str
    error: str
    written: str


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    rows: tuple[FactRow, ...]


@dataclass(frozen=True, slots=True)
class Defaults:
    """Which facts are mere defaults, their titles to choose from, and their values: some fifty, as their lists hold them."""

    ids: tuple[str, ...]
    options: SafeString
    rows: SafeString


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words in a line: plain, ``mark`` (a fact was read here) or ``slip`` (something was taken out)."""

    words: str
    kind: str = ""


_DRAWN = {"mark": '<mark class="f">{}</mark>', "slip": '<span class="redact">{}</span>'}  # by kind of piece


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    pieces: tuple[Piece, ...]
    hit: bool
    gap: int = 0

    @property
    def drawn(self) -> SafeString:
        """The pieces as the page holds them."""
        drawn = SafeString()
        for piece in self.pieces:
            drawn += format_html(_DRAWN[piece.kind], piece.words) if piece.kind else escape(piece.words)
        return drawn


def groups(diagnosis: Diagnosis, answers: Answers, chip: str = "you") -> tuple[Group, ...]:
    """Every fact that is not a mere default, by group; first what is missing for an estimate."""
    stated = diagnosis.facts.stated
    missing = [id for id in diagnosis.estimate.missing if id in FACTS and id not in stated]
    open_ones = [id for id in ("oom_kind", "phase") if id not in stated and diagnosis.kind != "host_shm"]
    told = {id for id, fact in stated.items() if fact.origin != "default"}
    told = (told - off(diagnosis.facts)).union(missing, open_ones, answers.errors)
    members: dict[str, list[FactRow]] = {group: [] for group in GROUPS}
    for id in (id for id in FACTS if id in told):
        members[FACTS[id].group].append(_row(diagnosis, id, answers, chip))
    return tuple(Group(GROUPS[group], tuple(rows)) for group, rows in members.items() if rows)


def defaults(diagnosis: Diagnosis) -> Defaults:
    """What the framework sets when nothing else does."""
    stated, values = diagnosis.facts.stated, diagnosis.facts.values
    ids = [id for id in FACTS if id in stated and stated[id].origin == "default"]
    told = ((FACTS[id].title, _words(diagnosis, id, stated[id], values.get(id))) for id in ids)
    return Defaults(
        tuple(ids),
        format_html_join("", '<option value="{}">{}', ((id, FACTS[id].title) for id in ids)),
        format_html_join("", "<dt>{}</dt><dd>{}</dd>", told),
    )


def _row(diagnosis: Diagnosis, id: str, answers: Answers, chip: str) -> FactRow:
    spec, fact = FACTS[id], diagnosis.facts.stated.get(id)
    value = diagnosis.facts.values.get(id)
    return FactRow(
        id=id,
        title=spec.title,
        words=_words(diagnosis, id, fact, value),
        chip=_chip(fact, chip),
        line=fact.span.line if fact and fact.span and fact.origin == "read" else 0,
        guess=fact is None or not fact.certain,
        note=_note(fact, value),
        options=_options(id),
        catalogue=id if id in ("model", "gpu_model", "framework") else "",
        value=as_text(value) if value is not None else "",
        error=answers.errors.get(id, ""),
        written=answers.written.get(id, ""),
    )


def _words(diagnosis: Diagnosis, id: str, fact: Fact | None, value: Value | None) -> str:
    if value is None and fact is None:
        return "not settled" if id in ("oom_kind", "phase") else "not told"
    if id == "framework" and diagnosis.facts.trainer:
        return diagnosis.facts.trainer
    shown = value if value is not None else fact.value if fact else ""
    return value_words(id, shown)


def _chip(fact: Fact | None, answered: str) -> str:
    if fact is None:
        return ""
    if fact.origin == "read":
        return f"line {fact.span.line}" if fact.span else "read"
    return answered if fact.origin == "answered" else _CHIPS[fact.origin]


def _note(fact: Fact | None, value: Value | None) -> str:
    """Where a guess comes from, or what was written where its number counts something else."""
    if fact is None:
        return ""
    if fact.origin == "default":
        return ""
    if fact.why:
        return fact.why
    if fact.unit and fact.unit in BATCH_UNITS and value is not None and fact.value != value:
        return f"written {as_text(fact.value)}: {BATCH_UNITS[fact.unit]}"
    return ""


def options_of(spec: FactSpec) -> tuple[tuple[str, str], ...]:
    if spec.type == "choice":
        return spec.options
    if spec.type == "bool":
        return (("true", value_words(spec.id, True)), ("false", value_words(spec.id, False)))
    return ()


@lru_cache(maxsize=len(FACTS))
def _options(id: str) -> SafeString:
    """The options of a fact as its list holds them; the same on every page."""
    return format_html_join("", '<option value="{}">{}', options_of(FACTS[id]))


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...]) -> SafeString:
    """Names as a list to choose from holds them; the same on every page of one catalogue."""
    return format_html_join("", "<option>{}", ((name,) for name in names))


def lists(knowledge: Knowledge) -> dict[str, SafeString]:
    """The names to choose from, each list as it stands in a page."""
    return {id: _names(names) for id, names in catalogues(knowledge).items()}


def catalogues(knowledge: Knowledge) -> dict[str, tuple[str, ...]]:
    """Names to choose from where a fact is free text."""
    named = {"model": knowledge.models, "gpu_model": knowledge.gpus, "framework": knowledge.frameworks}
    return {id: tuple(sorted(record.title for record in records.values())) for id, records in named.items()}


def paste_rows(diagnosis: Diagnosis) -> tuple[Row, ...]:
    """The lines that bore a fact or an error, each with two around it; a short paste whole."""
    marked = _marked(diagnosis)
    lines = diagnosis.paste.lines
    near = {number + by for number in marked for by in range(-CONTEXT, CONTEXT + 1)}
    kept = [line for line in lines if len(lines) <= SHORT or line.number in near]
    rows: list[Row] = []
    last = 0
    for line in kept[:400]:
        if line.number > last + 1:
            rows.append(Row(0, (), False, line.number - last - 1))
        rows.append(Row(line.number, tuple(_pieces(line, marked.get(line.number, ()))), line.number in marked))
        last = line.number
    if diagnosis.paste.total_lines > last:
        rows.append(Row(0, (), False, diagnosis.paste.total_lines - last))
    return tuple(rows)


def _marked(diagnosis: Diagnosis) -> dict[int, list[tuple[int, int]]]:
    """Line → the columns that a fact, an error or a tried remedy was read from."""
    facts = diagnosis.facts
    spans = [fact.span for fact in facts.stated.values() if fact.span and fact.origin == "read"]
    spans += [hit.span for hit in facts.hits] + [tried.span for tried in facts.tried]
    marked: dict[int, list[tuple[int, int]]] = {}
    for span in spans:
        marked.setdefault(span.line, []).append((span.start, span.end))
    return marked


def _pieces(line: Line, marks: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    at = 0
    for start, end in _merged(marks, len(line.text)):
        yield from _slips(line.text[at:start], "")
        yield from _slips(line.text[start:end], "mark")
        at = end
    yield from _slips(line.text[at:], "")


def _merged(marks: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted((max(0, start), min(end, length)) for start, end in marks):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _slips(text: str, kind: str) -> Iterator[Piece]:
    at = 0
    for found in _MARK.finditer(text):
        if found.start() > at:
            yield Piece(text[at : found.start()], kind)
        yield Piece(found[1], "slip")
        at = found.end()
    if at < len(text):
        yield Piece(text[at:], kind)
