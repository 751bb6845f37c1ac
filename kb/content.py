"""The cases that ship → the database. Idempotent, and a team's edit is never overwritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import Problem
from kb import documents, markdown
from kb.models import Document


@dataclass
class Loaded:
    """What one run did, as slugs."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    left_alone: list[str] = field(default_factory=list)


def load_cases(folder: Path, knowledge: Knowledge) -> Loaded:
    """Loads every case file of ``folder``; raises ``DocumentError`` with the misfits of all files, after loading the rest."""
    rows = {
        case.slug: case
        for case in Document.objects.cases().only("slug", "digest", "shipped_digest", "renderer", "revision")
    }
    loaded, problems = Loaded(), []
    for path in sorted(folder.glob("*.md")):
        try:
            _load_one(path, rows.get(path.stem), knowledge, loaded)
        except documents.DocumentError as misfit:
            problems += misfit.problems
    _render_again(knowledge)
    if problems:
        raise documents.DocumentError(problems)
    return loaded


def _load_one(path: Path, row: Document | None, knowledge: Knowledge, loaded: Loaded) -> None:
    text = markdown.normalise(path.read_bytes())
    shipped = documents.digest(text)
    if row is None:
        documents.write(Document(slug=path.stem), text, knowledge, shipped=True)
        loaded.created.append(path.stem)
    elif row.digest == shipped:
        if row.shipped_digest != shipped:
            Document.objects.filter(pk=row.pk).update(shipped_digest=shipped)
        loaded.unchanged.append(path.stem)
    elif row.edited:
        loaded.left_alone.append(path.stem)
    else:
        documents.write(row, text, knowledge, shipped=True)
        loaded.updated.append(path.stem)


def _render_again(knowledge: Knowledge) -> None:
    """Pages that an older version of the renderer made, edited ones included; their text stays as it is."""
    for case in Document.objects.cases().exclude(renderer=markdown.RENDERER).iterator():
        try:
            documents.derive(case, documents.read(case.slug, case.text, knowledge))
        except documents.DocumentError as misfit:
            raise documents.DocumentError(
                [*misfit.problems, Problem(case.slug, "kept in the database: edit it there")]
            ) from None
        case.save()
