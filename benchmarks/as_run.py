"""Rows whose paste is not what ran when their figure was taken, held against what did run: a section of docs/accuracy.md."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

Row = dict[str, Any]
FILE = Path(__file__).parent / "data" / "as_run.toml"

_HEAD = """## Rows that were edited after they were measured

The history of the files behind the worst rows was read. In these the paste is not what ran: either the file was edited later, and its
figure kept, or a line that decides was left out. Of 71 scripts of ms-swift the version was looked up that stood beside the figure when
it was written; it says something else of 17 than the newest, of some for the worse. The tables above hold all as they are given; here they
are beside what did run (`benchmarks/data/as_run.toml`).

| configuration | measured, GiB | said of the paste | said of what ran | why |
| --- | --: | --: | --: | --- |"""


def as_run(row: Row) -> Row | None:
    """The row with what ran; None where nothing else is known to have run.

    Raises ValueError where the row has not the words that are to be put right.
    """
    edit = _edit_of(row)
    if edit is None:
        return None
    paste = edit.get("before", "").lstrip() + row["paste"]
    for old, new in edit.get("instead", {}).items():
        if old not in paste:
            raise ValueError(f"{row['id']} has no {old}")
        paste = paste.replace(old, new)
    return {**row, "paste": paste, "answers": {**row["answers"], **edit.get("answers", {})}}


def section(pairs: Iterable[tuple[Any, Any]]) -> str:
    """``pairs``: what is said of a row as it is given, and of the same as it ran, each with ``row``, ``said`` in GiB and ``error``."""
    lines = [_HEAD]
    for given, ran in pairs:
        row, edit = given.row, _edit_of(given.row) or {}
        sources = ", ".join(f"[{number}]({url})" for number, url in enumerate(edit["sources"], 1))
        said = " | ".join(f"{one.said:.1f} ({one.error or 0:+.0%})" for one in (given, ran))
        lines.append(f"| [{row['id']}]({row['source']}) | {row['value_gib']:g} | {said} | {edit['why']} ({sources}) |")
    return "\n".join(lines)


def _edit_of(row: Row) -> dict[str, Any] | None:
    return next((edit for edit in _edits() if row["id"] in edit["rows"]), None)


@cache
def _edits() -> list[dict[str, Any]]:
    edits: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["edited"]
    return edits
