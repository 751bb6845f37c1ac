"""A document's front matter as form fields, and what of a posted form somebody changed. ``kb.front_edit`` writes it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnose.knowledge.loader import Problem
from diagnose.vocabulary import FACTS, FactSpec
from kb import front
from kb.models import Document

GROUPS = {
    "failure": "The failure",
    "machine": "Machine",
    "run": "Run",
    "sizes": "Batches and lengths",
    "memory": "Memory settings",
    "engine": "Rollout engine",
    "measured": "What the message measured",
}
_TRUE_FALSE = (("true", "yes"), ("false", "no"))
HEAD = {
    "title": ("Title", "text"),
    "summary": ("In one sentence", "text"),
    "date": ("Date of the report", "date"),
    "solved": ("Solved", "bool"),
    "reviewed": ("Facts checked on", "date"),
    "sources": ("Sources, one address a line", "lines"),
}
_OF_A_GUIDE = ("title", "summary", "reviewed", "sources")


@dataclass(frozen=True)
class Field:
    """One input. ``kind``: text, number, date, choice or lines; ``options`` value → words."""

    name: str
    title: str
    kind: str
    value: str
    unit: str = ""
    options: tuple[tuple[str, str], ...] = ()
    wrong: str = ""

    @property
    def known(self) -> bool:
        """Whether the value is one of the options."""
        return self.value in dict(self.options)


@dataclass(frozen=True)
class Group:
    title: str
    fields: tuple[Field, ...]
    told: int


def shown(kind: str, text: str, wrong: Mapping[str, str] | None = None) -> tuple[Group, ...]:
    """The fields of a document in groups; none for a note, nor where the front matter cannot be read."""
    data = front.read(text)
    if kind == Document.NOTES or data is None:
        return ()
    wrong = wrong or {}
    head = [_head_field(name, data, wrong) for name in (HEAD if kind == Document.CASES else _OF_A_GUIDE)]
    groups = [Group("About", tuple(head), sum(bool(field.value) for field in head))]
    if kind == Document.CASES:
        facts = data.get("facts")
        facts = facts if isinstance(facts, dict) else {}
        for group, title in GROUPS.items():
            fields = tuple(_fact_field(spec, facts, wrong) for spec in FACTS.values() if spec.group == group)
            groups.append(Group(title, fields, sum(bool(field.value) for field in fields)))
    return tuple(groups)


def as_rendered(groups: tuple[Group, ...]) -> str:
    """What the inputs show, to be sent back with them: what differs then was changed by hand."""
    return json.dumps({field.name: field.value for group in groups for field in group.fields if field.value})


def changed(posted: Mapping[str, str]) -> dict[str, str]:
    """The fields of a posted form that somebody changed, by the name of the field."""
    try:
        was = json.loads(posted.get("was", "") or "{}")
    except ValueError:
        return {}
    if not isinstance(was, dict) or "was" not in posted:
        return {}
    names = [*HEAD, *(f"facts.{id}" for id in FACTS)]
    sent = {name: posted[f"f.{name}"].replace("\r\n", "\n").strip() for name in names if f"f.{name}" in posted}
    return {name: value for name, value in sent.items() if value != str(was.get(name, "")).strip()}


def as_problems(place: str, wrong: Mapping[str, str]) -> list[Problem]:
    return [Problem(f"{place}: {name}", says) for name, says in wrong.items()]


def _head_field(name: str, data: Mapping[str, Any], wrong: Mapping[str, str]) -> Field:
    title, kind = HEAD[name]
    options = _TRUE_FALSE if kind == "bool" else ()
    return Field(name, title, "choice" if options else kind, _shown(data.get(name)), "", options, wrong.get(name, ""))


def _fact_field(spec: FactSpec, facts: Mapping[str, Any], wrong: Mapping[str, str]) -> Field:
    name = f"facts.{spec.id}"
    options = _TRUE_FALSE if spec.type == "bool" else spec.options
    kind = "choice" if options else "text" if spec.type == "text" else "number"
    return Field(name, spec.title, kind, _shown(facts.get(spec.id)), spec.unit, options, wrong.get(name, ""))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "\n".join(str(item) for item in value)
    return "" if value is None else str(value)
