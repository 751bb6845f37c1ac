"""Variables that something else than a shell gives the run: a pod, a job of Ray or SkyPilot, a container.

Kubernetes lists them: ``- name: N`` with ``value: "4"`` below, or both in braces (kubernetes.io "Define Environment Variables for a
Container"), and in a command ``$(N)`` stands for the value. Others have them below a key (docs.ray.io "Runtime Environments": env_vars,
docs.docker.com compose "environment", docs.skypilot.co "envs").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from diagnose.ingest.lines import Row
from diagnose.types import Setting

_VARIABLE = r"[\"']?(?P<name>[A-Z_][A-Z0-9_]{1,80})[\"']?"
_GIVEN = r"(?P<quote>[\"']?)(?P<value>[^\"'{}\n]{1,400}?)(?P=quote)"
_NAME = re.compile(
    rf"(?P<indent>[ \t]*)(?:- name:[ ]+{_VARIABLE}|\"name\":[ ]*{_VARIABLE.replace('name', 'key')},)[ ]*$", re.A
)
_VALUE = re.compile(rf"(?P<indent>[ \t]*)(?:[ ]{{2}}value:[ ]+|\"value\":[ ]*){_GIVEN}[ ]*$", re.A)
_BOTH = re.compile(rf"\{{[ ]*\"?name\"?:[ ]*{_VARIABLE},[ ]*\"?value\"?:[ ]*{_GIVEN}[ ]*\}}", re.A)
_BELOW = re.compile(
    r"(?:.*\.)?(?:env_vars|envs?|environment|extraEnv)\.(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]{1,80})$", re.A
)

# what a unit of systemd sets (systemd.exec(5)), and an item of the list that docker inspect prints
_ASSIGNED = re.compile(
    r"[ \t]*(?:Environment=[\"']?|\")(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]{1,80})=(?P<value>[^\"'\n]{1,400})[\"']?,?[ \t]*$",
    re.A,
)


def plainly_named(settings: Sequence[Setting]) -> list[Setting]:
    """Each variable by its own name, where it stands below a key that holds the environment."""
    return [
        replace(one, key=found["name"], shape="env") if (found := _BELOW.match(one.key)) else one for one in settings
    ]


def read_environment(rows: Sequence[Row]) -> tuple[list[Setting], set[int]]:
    """The variables as settings, and the numbers of the lines that they stand on."""
    settings: list[Setting] = []
    used: set[int] = set()
    for row, after in pairwise([*rows, None]):
        if row is None or not any(mark in row.words for mark in ("name:", '"name"', "=")):
            continue
        if found := _ASSIGNED.match(row.words):
            settings.append(_setting(row, found["name"], found))
        elif both := list(_BOTH.finditer(row.words)):
            settings += [_setting(row, found["name"], found) for found in both]
            used |= {row.line.number} if row.words.lstrip()[:3] == "- {" else set()
        elif (name := _NAME.match(row.words)) and after is not None:
            found = _VALUE.match(after.words)
            if found and found["indent"] == name["indent"] and after.line.number == row.line.number + 1:
                settings.append(_setting(after, name["name"] or name["key"], found))
                used |= {row.line.number, after.line.number}
    return settings, used


def _setting(row: Row, name: str, found: re.Match[str]) -> Setting:
    return Setting(name, found["value"], "env", row.span(*found.span("value")))
