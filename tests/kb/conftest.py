"""A small base of cases with the real catalogue behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from diagnose.knowledge import CONTENT, Knowledge, current
from kb import content, estimates, kept, saving
from kb.models import Document

CASE = """+++
title = "{title}"
reviewed = 2026-11-01
sources = ["https://github.com/example/project/issues/7"]
summary = "The short of it."
date = 2026-10-05
solved = true

[facts]
framework = "{framework}"
oom_kind = "{kind}"
model = "Qwen2.5-7B"
gpu_model = "A100"
gpu_mem_gib = 80
n_gpus = 8

[[fix]]
lever = "{lever}"
detail = "halved it and it ran"
by = "reporter"
worked = true

[[claim]]
text = "The card was full."
verdict = "confirmed"
ground = "The log says so."
source = "https://github.com/example/project/issues/7"
+++
## Symptom

{body}
"""


def document(title: str = "Eight cards run out", body: str = "It stopped at step 3.", **words: str) -> str:
    """A case document that fits."""
    lever = sorted(current().levers)[0]
    given = {"framework": sorted(current().frameworks)[0], "kind": "gpu_oom", "lever": lever, **words}
    return CASE.format(title=title, body=body, **given)


def created(slug: str, text: str = "") -> Document:
    """A case that somebody wrote."""
    return saving.create("cases", slug, text or document(), None, "", current()).document


def edited(case: Document, text: str) -> Document:
    """An edit of the present text."""
    return saving.save(case, text, case.revision, None, "", current()).document


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Each test looks at pages that were made in it."""
    kept.forget()


@pytest.fixture
def knowledge() -> Knowledge:
    return current()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one case file."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/first.md").write_text(document())
    return tmp_path


@pytest.fixture(scope="module")
def shipped(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What ships, with its estimates, loaded once for a whole file that uses it; each test takes back what it did itself."""
    with django_db_blocker.unblock():
        everything = transaction.atomic()
        everything.__enter__()
        content.load(CONTENT, current())
        estimates.refresh()
    yield
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        everything.__exit__(None, None, None)
