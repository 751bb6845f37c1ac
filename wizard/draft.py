"""A diagnosis → the draft of a case: its facts filled in, what it cannot know left open with a word on what belongs there."""

from __future__ import annotations

import datetime
import json

from django.utils import timezone
from django.utils.dateformat import format
from django.utils.text import slugify

from diagnose import words
from diagnose.knowledge import Knowledge
from diagnose.types import Diagnosis
from diagnose.vocabulary import FACTS, Value
from diagnose.words.headline import headline
from wizard import state
from wizard.models import SavedDiagnosis


def text(diagnosis: Diagnosis, saved: SavedDiagnosis, source: str, knowledge: Knowledge, today: datetime.date) -> str:
    """The document of a case, without free words of the paste in its facts; ``source`` is the address of the saved diagnosis."""
    lines = [
        "+++",
        f"title = {_quoted(_title(diagnosis))}",
        f"reviewed = {today.isoformat()}",
        f"sources = [{_quoted(source)}]",
        f"date = {timezone.localdate(saved.made).isoformat()}",
        *(["solved = true"] if saved.outcome == "worked" else []),
        "",
        "[facts]",
        *(f"{id} = {_toml(value)}" for id, value in _facts(diagnosis, knowledge).items()),
        *_config(diagnosis),
        *_fix(saved, knowledge),
        "+++",
        "## Symptom",
        "",
        f"{headline(diagnosis)}. Say in your own words what happened, and when.",
        "",
        "## Why it ran out",
        "",
        words.lead(diagnosis) or "Say what is known, and what is only suspected.",
        "",
        *(["## What worked", "", saved.words, ""] if saved.words and saved.outcome == "worked" else []),
        "## Evidence",
        "",
        f"The source above, a saved diagnosis, is kept until {format(timezone.localtime(saved.expires), 'j F Y')}: "
        "put a link that stays in its place, or what it shows into files of this page.",
        "",
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def slug(diagnosis: Diagnosis, saved: SavedDiagnosis) -> str:
    """An address of its own, for where a case of the same title stands already."""
    return f"{slugify(_title(diagnosis))[:80].strip('-') or 'case'}-{saved.view[:6].lower().strip('-_')}"


def _title(diagnosis: Diagnosis) -> str:
    """The headline with the model and cards, where they are known."""
    return ": ".join(part for part in (" ".join(words.run_words(diagnosis.facts)), headline(diagnosis)) if part)[:200]


def _facts(diagnosis: Diagnosis, knowledge: Knowledge) -> dict[str, Value]:
    """The certain facts; a framework that the catalogue does not hold is left to the author."""
    facts = state.certain(diagnosis)
    if facts.get("framework") not in knowledge.frameworks:
        facts.pop("framework", None)
    if {"n_nodes", "gpus_per_node"} <= facts.keys():  # what lists and matches compare is their product
        facts["n_gpus"] = diagnosis.facts.values["n_gpus"]
    return {id: facts[id] for id in FACTS if id in facts}


def _config(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.facts.config:
        return []
    return ["", "[config]", *(f"{_quoted(key)} = {_quoted(value)}" for key, value in diagnosis.facts.config.items())]


def _fix(saved: SavedDiagnosis, knowledge: Knowledge) -> list[str]:
    if saved.lever not in knowledge.levers or not saved.outcome:
        return []
    detail = saved.words.split("\n")[0][:200] or knowledge.levers[saved.lever].title
    worked = "true" if saved.outcome == "worked" else "false"
    return [
        "",
        "[[fix]]",
        f"lever = {_quoted(saved.lever)}",
        f"detail = {_quoted(detail)}",
        'by = "reporter"',
        f"worked = {worked}",
    ]


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for the letter DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
