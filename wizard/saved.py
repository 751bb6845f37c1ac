"""Saving a diagnosis, opening it by its two links, and forgetting it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.utils import timezone

from diagnose.knowledge import Knowledge
from diagnose.types import Diagnosis
from diagnose.words.headline import headline
from wizard import state
from wizard.models import SavedDiagnosis
from wizard.state import Answers

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

MOST_WORDS = 2000  # letters of what the owner says of the outcome


def save(diagnosis: Diagnosis, answers: Answers, user: AbstractBaseUser | AnonymousUser) -> tuple[SavedDiagnosis, str]:
    """Keeps what the diagnosis is made of; the row, and the owner's key, which is shown this once."""
    key = secrets.token_urlsafe(24)
    row = SavedDiagnosis.objects.create(
        view=secrets.token_urlsafe(12),
        own=_digest(key),
        text=diagnosis.paste.text,
        answers={id: state.as_text(value) for id, value in answers.values.items()},
        skipped=list(answers.skipped),
        headline=headline(diagnosis)[:300],
        by=user if user.is_authenticated else None,  # type: ignore[misc]
    )
    return row, key


def living() -> QuerySet[SavedDiagnosis]:
    """Those that have not expired, whether or not the purge has come by."""
    return SavedDiagnosis.objects.filter(expires__gt=timezone.now())


def owns(row: SavedDiagnosis, key: str) -> bool:
    """Whether this is the key of the owner's link."""
    return hmac.compare_digest(row.own, _digest(key))


def answers_of(row: SavedDiagnosis) -> Answers:
    """The answers as they were given, read by today's vocabulary."""
    pairs = [*row.answers.items(), *(("skip", id) for id in row.skipped)]
    return state.read_answers(pairs)


def tell_outcome(row: SavedDiagnosis, outcome: str, lever: str, said: str, knowledge: Knowledge) -> None:
    """What the owner says of how it went; a lever that the catalogue does not hold is left out."""
    row.outcome = outcome if outcome in dict(SavedDiagnosis.OUTCOMES) else ""
    row.lever = lever if lever in knowledge.levers else ""
    row.words = said.strip()[:MOST_WORDS]
    row.save(update_fields=["outcome", "lever", "words"])


def purge() -> int:
    """Deletes what has expired; how many."""
    return SavedDiagnosis.objects.filter(expires__lte=timezone.now()).delete()[0]


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
