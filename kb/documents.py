"""One document → one row of ``Document``: checked, rendered once, its facts laid out for lists and facets."""

from __future__ import annotations

import hashlib

from diagnose.knowledge import Knowledge
from diagnose.knowledge.check import check_case
from diagnose.knowledge.loader import Problem, parse
from diagnose.knowledge.records import Case as Record
from kb import markdown
from kb.models import Document
from kb.sections import thread_name


class DocumentError(Exception):
    """The document cannot be kept; ``problems`` holds every reason with its cure."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


def digest(text: str) -> str:
    """Of a normalised document."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(slug: str, text: str, knowledge: Knowledge) -> Record:
    """The record in a normalised document; raises ``DocumentError`` with every misfit."""
    place = f"cases/{slug}.md"
    record, problems = parse("cases", slug, text)
    if isinstance(record, Record):
        problems += check_case(record, knowledge)
        problems += [Problem(f"{place}: body", refusal) for refusal in markdown.refusals(record.body)]
    if problems or not isinstance(record, Record):
        raise DocumentError(problems)
    return record


def write(case: Document, text: str, knowledge: Knowledge, shipped: bool = False) -> Record:
    """Puts a document into a row and saves it; raises ``DocumentError`` and changes nothing when it does not fit.

    ``shipped`` says that the text comes from the files, so that a later edit can be told from it.
    """
    text = markdown.normalise(text)
    record = read(case.slug, text, knowledge)
    case.text, case.digest = text, digest(text)
    if shipped:
        case.shipped_digest = case.digest
    derive(case, record)
    case.revision += 1
    case.save()
    return record


def derive(case: Document, record: Record) -> None:
    """Fills the fields that follow from the text."""
    case.renderer = markdown.RENDERER
    case.title, case.summary = record.title[:300], record.summary
    case.thread = thread_name(record.sources)[:120]
    case.html = markdown.render(record.body)
    case.facts = dict(record.facts)
    case.framework = str(record.facts.get("framework", ""))[:60]
    case.oom_kind = str(record.facts.get("oom_kind", ""))
    case.phase = str(record.facts.get("phase", ""))
    case.worked = sum(fix.worked is True for fix in record.fixes)
    case.failed = sum(fix.worked is False for fix in record.fixes)
    case.suggested = sum(fix.worked is None for fix in record.fixes)
    case.solved, case.happened = record.solved, record.date
