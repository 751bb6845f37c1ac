"""Files → documents: what ships, loaded without ever overwriting a team's edit."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import Problem
from kb import audit, documents, markdown, saving
from kb.models import Document, OldSlug

SHIPPED = (Document.CASES, Document.GUIDES)
AUTHOR = "Headroom"


@dataclass
class Loaded:
    """What one run did, as ``kind/slug``."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    left_alone: list[str] = field(default_factory=list)

    def words(self, what: str) -> str:
        """What was done, in one line; everything that was left alone by name."""
        words = f"{what}: {len(self.created)} new, {len(self.updated)} updated, {len(self.unchanged)} unchanged"
        if self.left_alone:
            words += f"; changed here and left alone: {', '.join(self.left_alone)}"
        return words


@cache
def version() -> str:
    """This version of Headroom, as pyproject.toml names it."""
    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
    return str(tomllib.loads(project.read_text())["project"]["version"])


def load(folder: Path, knowledge: Knowledge, actor: str = audit.COMMAND_LINE) -> Loaded:
    """Loads every case and guide under ``folder``; raises ``DocumentError`` with the misfits of all files, after loading the rest."""
    loaded, problems = Loaded(), []
    for kind in SHIPPED:
        rows = rows_of(kind)
        for path in sorted((folder / kind).glob("*.md")):
            try:
                _load_one(kind, path, rows.get(path.stem), knowledge, loaded)
            except documents.DocumentError as misfit:
                problems += misfit.problems
    problems += _render_again(knowledge)
    if loaded.created or loaded.updated:
        audit.note(actor, "imported", f"what ships with {version()}", loaded.words("Cases and guides"))
    if problems:
        raise documents.DocumentError(problems)
    return loaded


def rows_of(kind: str) -> dict[str, Document]:
    """The documents of a kind by address; one that the team renamed stands under its old addresses too."""
    found = Document.objects.filter(kind=kind).defer("text", "html", "facts")
    rows = {row.pk: row for row in found}
    old = OldSlug.objects.filter(kind=kind).values_list("slug", "document_id")
    return {**{slug: rows[pk] for slug, pk in old if pk in rows}, **{row.slug: row for row in rows.values()}}


def _load_one(kind: str, path: Path, row: Document | None, knowledge: Knowledge, loaded: Loaded) -> None:
    text = markdown.normalise(path.read_bytes())
    shipped, name, why = documents.digest(text), f"{kind}/{path.stem}", f"shipped with {version()}"
    if row is None:
        saving.load(Document(kind=kind, slug=path.stem, shipped_digest=shipped), text, why, AUTHOR, knowledge)
        loaded.created.append(name)
    elif row.digest == shipped:
        if row.shipped_digest != shipped:
            Document.objects.filter(pk=row.pk).update(shipped_digest=shipped)
        loaded.unchanged.append(name)
    elif row.edited or row.state == Document.TRASH:
        loaded.left_alone.append(name)
    else:
        row.shipped_digest = shipped
        done = saving.load(row, text, why, AUTHOR, knowledge)
        (loaded.updated if done.revision else loaded.left_alone).append(name)


def _render_again(knowledge: Knowledge) -> Iterator[Problem]:
    """Pages that an older version of the renderer made, edited ones included; their text stays as it is, and so does ``updated``."""
    for row in Document.objects.exclude(renderer=markdown.RENDERER).iterator(chunk_size=100):
        try:
            documents.fill(row, documents.prepare(row.kind, row.slug, row.text, knowledge), knowledge)
        except documents.DocumentError as misfit:
            yield from (*misfit.problems, Problem(f"{row.kind}/{row.slug}.md", "kept in the database: edit it there"))
        else:
            kept = Document.objects.filter(pk=row.pk, digest=row.digest)
            kept.update(**{name: getattr(row, name) for name in documents.DERIVED})
