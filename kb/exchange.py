"""Documents out to a folder of files or a zip, and in from either. What goes out comes back byte for byte."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import Problem
from kb import documents, markdown, saving
from kb.content import Loaded, rows_of
from kb.models import Document

MAX_FILES = 50_000
MAX_BYTES = (
    2 * markdown.MAX_BYTES
)  # of one file: what is larger than a document may be is refused with its reason, not read whole
WHY = "imported"
MAX_TOTAL = 1024 * 1024 * 1024
_NAME = re.compile(r"(?:[^/]+/)?(?:(cases|guides)/([^/]+)|(notes)/([^/]+/[^/]+))\.md")


class ExchangeError(Exception):
    """The folder or zip cannot be read at all."""


# What reading one may end in.
UNREADABLE = (ExchangeError, OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)


@dataclass
class Exported:
    """``strays`` stand in the folder and are no document any more; ``skipped`` are drafts and what lies in the trash."""

    written: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)


@dataclass
class Imported(Loaded):
    """``skipped`` are names that are no document's, each with the reason; ``by`` stands in the histories."""

    skipped: list[str] = field(default_factory=list)
    by: str = ""


class Unfit(documents.DocumentError):
    """Some files do not fit; ``done`` is what became of the others."""

    def __init__(self, problems: list[Problem], done: Imported) -> None:
        super().__init__(problems)
        self.done = done


def export(folder: Path) -> Exported:
    """Writes every published document as ``kind/slug.md`` under ``folder``."""
    done = Exported()
    for name, raw in _published(done):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    written = set(done.written)
    for kind, _ in Document.KINDS:
        there = {str(path.relative_to(folder).with_suffix("")) for path in (folder / kind).rglob("*.md")}
        done.strays += sorted(name for name in there if name not in written)
    return done


def export_zip(file: IO[bytes]) -> Exported:
    """The same as one zip."""
    done = Exported()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in _published(done):
            archive.writestr(name, raw)
    return done


def _published(done: Exported) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the published documents; ``done`` is told of all."""
    for row in Document.objects.order_by("kind", "slug").only("kind", "slug", "text", "state").iterator(chunk_size=500):
        name = f"{row.kind}/{row.slug}"
        if row.state == Document.PUBLISHED:
            done.written.append(name)
            yield f"{name}.md", row.text.encode()
        else:
            done.skipped.append(f"{name} ({row.get_state_display()})")


def take_in(
    source: Path | IO[bytes],
    knowledge: Knowledge,
    update: bool = False,
    by: str = "",
    most: int = 0,
) -> Imported:
    """Takes in every document of a folder or zip. One that differs from what stands here is left alone, or with ``update`` becomes a new
    revision; raises ``Unfit`` with the misfits of all files, after taking in the rest."""
    done, problems = Imported(by=by), []
    rows = {kind: rows_of(kind) for kind, _ in Document.KINDS}
    for name, raw in _files(source, most or MAX_FILES):
        found = _NAME.fullmatch(name)
        if not found or ".." in name.split("/"):
            done.skipped.append(f"{name} (no document’s name)")
        elif raw is None:
            done.skipped.append(f"{name} (a link)")
        else:
            kind, slug = (found[1], found[2]) if found[1] else (found[3], found[4])
            try:
                _take_one(kind, slug, raw, rows[kind].get(slug), knowledge, update, done)
            except documents.DocumentError as misfit:
                problems += misfit.problems
    if problems:
        raise Unfit(problems, done)
    return done


def _take_one(
    kind: str, slug: str, raw: bytes, row: Document | None, knowledge: Knowledge, update: bool, done: Imported
) -> None:
    name = f"{kind}/{slug}"
    text = markdown.normalise(documents.decoded(raw, f"{name}.md", MAX_BYTES))
    if row is None:
        saving.create(kind, slug, text, None, WHY, knowledge, author_name=done.by)
        done.created.append(name)
    elif row.digest == documents.digest(text):
        done.unchanged.append(name)
    elif not update or row.state == Document.TRASH:
        done.left_alone.append(name)
    else:
        saved = saving.load(row, text, WHY, done.by, knowledge)
        (done.updated if saved.revision else done.left_alone).append(name)


def _files(source: Path | IO[bytes], most: int) -> Iterator[tuple[str, bytes | None]]:
    """Names and bytes of the Markdown files; None for the bytes of a link, which is never followed."""
    if isinstance(source, Path) and source.is_dir():
        yield from _of_folder(source, most)
    elif zipfile.is_zipfile(source):
        yield from _of_zip(source, most)
    else:
        raise ExchangeError(f"{_called(source)} is neither a folder nor a zip")


def _called(source: Path | IO[bytes]) -> str:
    return str(source) if isinstance(source, Path) else "the file"


def _of_folder(folder: Path, most: int) -> Iterator[tuple[str, bytes | None]]:
    paths = sorted(path for path in folder.rglob("*.md") if not path.relative_to(folder).parts[0].startswith("."))
    if len(paths) > most:
        raise ExchangeError(f"{folder} holds {len(paths)} files, at most {most} are taken")
    for path in paths:
        name = path.relative_to(folder).as_posix()
        linked = any(part.is_symlink() for part in (path, *path.parents) if part != folder and folder in part.parents)
        if linked or path.is_symlink():
            yield name, None
        else:
            with path.open("rb") as file:
                yield name, file.read(MAX_BYTES)


def _of_zip(source: Path | IO[bytes], most: int) -> Iterator[tuple[str, bytes | None]]:
    """Nothing is unpacked to the disk, and no more is read of a file than a document may have."""
    with zipfile.ZipFile(source) as archive:
        infos = [info for info in archive.infolist() if info.filename.endswith(".md")]
        if len(infos) > most or len(archive.filelist) > 4 * most:
            raise ExchangeError(f"{_called(source)} holds {len(archive.filelist)} files, at most {most} are taken")
        left = MAX_TOTAL
        for info in sorted(infos, key=lambda info: info.filename):
            with archive.open(info) as file:
                raw = file.read(MAX_BYTES)
            left -= len(raw)
            if left < 0:
                raise ExchangeError(f"{_called(source)} holds more than {MAX_TOTAL} bytes")
            yield info.filename, raw
