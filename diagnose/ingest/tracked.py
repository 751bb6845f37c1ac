"""A configuration as a tracker of runs keeps it: parts of a key joined by slashes, a table of commas, or each value beside a description.

MLflow is given the first (verl/utils/tracking.py: _MlflowLoggingAdapter) and exports the second, Weights & Biases writes the third (its
config.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from diagnose.ingest.lines import Row
from diagnose.ingest.values import plain
from diagnose.types import Setting

_JOINED = re.compile(
    r"[ \t|]*(?P<key>[A-Za-z_]\w{0,80}(?:/[A-Za-z_]\w{0,80}){1,8})"
    r"(?:[ \t]*[:=|][ \t]+|\t+|[ ]{2,}|=)(?P<value>[^\s{}\[\]|][^{}|\n]{0,300}?)[ \t|]*$",
    re.A,
)
_LISTED = re.compile(
    r"[ \t]*\"?(?P<key>[a-z]\w*_\w{1,80}(?:\.\w{1,80}){0,8}|[a-z]\w{0,40}(?:\.\w{1,80}){1,8})\"?,[ \t]?"
    r"\"?(?P<value>[^,\s{}\[\]|\"]{1,300})\"?[ \t]*$",
    re.A,
)
_FEW = 3  # lines below each other that are no list of paths or metrics
_VALUE = ".value"


def read_joined(rows: Sequence[Row]) -> tuple[list[Setting], set[int]]:
    """The settings of lines below each other whose keys are joined by slashes or end at a comma, and the numbers of these lines."""
    settings: list[Setting] = []
    run: list[tuple[Row, re.Match[str]]] = []
    for row in (*rows, None):
        found = _match(row.words) if row is not None else None
        follows = not run or (row is not None and row.line.number == run[-1][0].line.number + 1)
        if run and not (found and follows):
            settings.extend(_settings(run))
            run = []
        if row is not None and found:
            run.append((row, found))
    return settings, {setting.span.line for setting in settings}


def _match(words: str) -> re.Match[str] | None:
    found = _JOINED.match(words) if "/" in words else None
    return found or (_LISTED.match(words) if "," in words else None)


def _settings(run: Sequence[tuple[Row, re.Match[str]]]) -> Iterable[Setting]:
    if len(run) < _FEW:
        return
    for row, found in run:
        value = plain(found["value"])
        if value:
            yield Setting(found["key"].replace("/", "."), value, "dump", row.span(*found.span("value")))


def without_wrapping(settings: Sequence[Setting]) -> list[Setting]:
    """Each setting by its own key, where its value stands below one called ``value``."""
    return [
        replace(setting, key=setting.key.removesuffix(_VALUE))
        if setting.shape in ("json", "yaml") and setting.key.endswith(_VALUE)
        else setting
        for setting in settings
    ]
