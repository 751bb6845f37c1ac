"""What a message alone advises: the first remedies for it, and the known faults that end in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from diagnose.facts.failing.signature import is_mark
from diagnose.knowledge import Knowledge
from diagnose.knowledge.advisory import Advisory
from diagnose.knowledge.records import Case, Lever, Signature
from diagnose.pipeline import diagnose
from diagnose.vocabulary import Value
from kb.evidence import Mark, counted, outcomes
from kb.sections import first_sentence

SHOWN = 5


@dataclass(frozen=True)
class Remedy:
    """A lever, what it does, and who tried it."""

    lever: Lever
    does: str
    marks: tuple[Mark, ...]


def remedies(signature: Signature, knowledge: Knowledge, cases: Sequence[Case]) -> list[Remedy]:
    """What a diagnosis of nothing but this message advises first; empty where it tells no failure, or neither kind nor phase of one."""
    if is_mark(signature) or (signature.kind == "other" and not signature.phase):
        return []
    advised = dict.fromkeys(item.lever.slug for item in diagnose("", facts(signature), knowledge, cases).prescriptions)
    levers = [knowledge.levers[slug] for slug in list(advised)[:SHOWN]]
    return [Remedy(one, first_sentence(one.body), counted(outcomes(one.slug, cases))) for one in levers]


def facts(signature: Signature) -> dict[str, Value]:
    """What the message makes known."""
    phase = {"phase": signature.phase} if signature.phase else {}
    return {**signature.gives, "oom_kind": signature.kind, **phase}


def answer_href(signature: Signature) -> str:
    """The answer to this message alone, where more can be told."""
    return f"{reverse('wizard:result')}?{urlencode(facts(signature))}"


def faults(signature: Signature, knowledge: Knowledge) -> list[Advisory]:
    """The memory faults of versions that end in this message."""
    return [one for one in knowledge.advisories.values() if signature.slug in one.signatures]
