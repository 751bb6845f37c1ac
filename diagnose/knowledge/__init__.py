"""The knowledge under ``content/``: read once a process, frozen, handed to every stage but ingest."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from diagnose.knowledge import parts
from diagnose.knowledge.advisory import Advisory
from diagnose.knowledge.dataset import Dataset
from diagnose.knowledge.hardware import Gpu, Model, Models
from diagnose.knowledge.loader import Problem, parse
from diagnose.knowledge.log import Log
from diagnose.knowledge.record import Record
from diagnose.knowledge.records import FRONT_MATTER_KINDS, Case, Framework, Guide, Lever, Option, Question, Signature

CONTENT = Path(__file__).resolve().parents[2] / "content"


class ContentError(Exception):
    """The content does not fit; ``problems`` holds every misfit."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class Knowledge:
    """All records by kind and slug. ``cases`` are those that ship; a site hands its own to ``diagnose`` instead."""

    frameworks: Mapping[str, Framework] = field(default_factory=dict)
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    logs: Mapping[str, Log] = field(default_factory=dict)
    levers: Mapping[str, Lever] = field(default_factory=dict)
    advisories: Mapping[str, Advisory] = field(default_factory=dict)
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    cases: Mapping[str, Case] = field(default_factory=dict)
    guides: Mapping[str, Guide] = field(default_factory=dict)
    digest: str = ""

    @cached_property
    def catalogue(self) -> Models:
        """Every model."""
        return Models(self.models.values())

    @property
    def engines(self) -> tuple[str, ...]:
        """Commands that start an engine for anybody."""
        return self.fallback.detect.serves if self.fallback else ()

    @property
    def idle(self) -> tuple[str, ...]:
        """Commands of anybody's that train nothing and serve nobody."""
        return self.fallback.detect.idle if self.fallback else ()

    @cached_property
    def fallback(self) -> Framework | None:
        """The plan for a framework that the catalogue does not hold."""
        return next((framework for framework in self.frameworks.values() if framework.fallback), None)


def read_content(folder: Path) -> tuple[dict[str, dict[str, Record]], list[Problem], str]:
    """Every record under ``folder``, every misfit, and a digest of all bytes that were read."""
    records: dict[str, dict[str, Record]] = {kind: {} for kind in FRONT_MATTER_KINDS}
    problems: list[Problem] = []
    digest = hashlib.sha256()
    for kind in FRONT_MATTER_KINDS:
        for slug, raw in _files(folder / kind, "*.md"):
            digest.update(f"{kind}/{slug}.md\0".encode() + raw)
            record, misfits = parse(kind, slug, raw.decode("utf-8", errors="replace"))
            problems += misfits
            if record:
                records[kind][slug] = record
    texts: dict[str, str] = {}
    for slug, raw in _files(folder / parts.KIND, "*/*.md"):
        digest.update(f"{parts.KIND}/{slug}.md\0".encode() + raw)
        texts[slug] = raw.decode("utf-8", errors="replace")
    problems += parts.join_all(records[parts.KIND], texts, [path.stem for path in (folder / parts.KIND).glob("*.md")])
    return records, problems, digest.hexdigest()[:16]


def _files(folder: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The files of a folder in the order of their names, each named by its path below the folder without its ending."""
    for path in sorted(folder.glob(pattern)):
        yield path.relative_to(folder).as_posix().removesuffix(".md"), path.read_bytes()


def _with_every_framework(records: Mapping[str, Mapping[str, Record]]) -> dict[str, Record]:
    """The question for the framework, with those that it does not name by their titles, before the one that stands for all others."""
    question, frameworks = records["questions"].get("framework"), records["frameworks"]
    if not isinstance(question, Question):
        return {}
    named = {option.value for option in question.options}
    options = (
        *question.options,
        *(Option(value=slug, title=one.title) for slug, one in frameworks.items() if slug not in named),
    )
    others = {slug for slug, one in frameworks.items() if isinstance(one, Framework) and one.fallback}
    return {question.slug: replace(question, options=tuple(sorted(options, key=lambda option: option.value in others)))}


def load(folder: Path = CONTENT) -> Knowledge:
    """The knowledge in ``folder``; raises ``ContentError`` with every misfit at once."""
    from diagnose.knowledge.check import cross_check

    records, problems, digest = read_content(folder)
    records["questions"] |= _with_every_framework(records)
    knowledge = Knowledge(**records, digest=digest)  # type: ignore[arg-type]
    problems += cross_check(knowledge)
    if problems:
        raise ContentError(problems)
    return knowledge


_read: list[Knowledge] = []
_reading = threading.Lock()


def current() -> Knowledge:
    """The knowledge of this process, read on first use: by one thread, while the others wait for it."""
    if not _read:
        with _reading:
            if not _read:
                _read.append(load())
    return _read[0]
