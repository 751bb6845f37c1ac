"""One document's text → what is kept of it: checked, rendered once, its facts laid out for lists and facets."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from django.utils.text import slugify

from diagnose.knowledge import Knowledge
from diagnose.knowledge.check import check_case
from diagnose.knowledge.check_words import fact_misfits
from diagnose.knowledge.loader import Problem, parse
from diagnose.knowledge.record import Record
from diagnose.knowledge.records import Case
from kb import facets, front, markdown, notes
from kb.models import Document
from kb.sections import thread_name

RESERVED = {
    "new",
    "preview",
    "draft",
    "trash",
    "feed",
    "search",
    "export",
    "import",
}  # words that stand where a slug may stand
DERIVED = (
    "renderer", "html", "title", "summary", "thread", "facts", "framework", "oom_kind", "phase", "gpu_model", "model_size", "outcome",
    "worked", "failed", "suggested", "solved", "happened",
)  # fmt: skip
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")


class DocumentError(Exception):
    """The document cannot be kept; ``problems`` holds every reason with its cure."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class Prepared:
    """A text that fits, with what follows from it; ``record`` is None for a note."""

    text: str
    digest: str
    title: str
    summary: str
    html: str
    record: Record | None


def decoded(raw: bytes, place: str, longest: int) -> str:
    """The text of a file of which at most ``longest`` bytes were read; raises ``DocumentError`` where it is no UTF-8 but, say, GBK."""
    try:
        return raw.decode()
    except UnicodeDecodeError as misfit:
        if len(raw) == longest and misfit.end == longest:  # cut inside a letter: refused for its length
            return raw[: misfit.start].decode()
        line = raw.count(b"\n", 0, misfit.start) + 1
        raise DocumentError([Problem(place, f"line {line} is no UTF-8: save the file as UTF-8")]) from None


def digest(text: str) -> str:
    """Of a normalised document."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(kind: str, slug: str, text: str, knowledge: Knowledge) -> Record:
    """The record in a normalised case or guide; raises ``DocumentError`` with every misfit."""
    place = f"{kind}/{slug}.md"
    if problems := front.refusals(text, place) if len(text) <= markdown.MAX_BYTES else []:
        raise DocumentError(problems)
    record, problems = parse(kind, slug, text)
    body = record.body if record else body_of(text)
    above = text[: len(text) - len(body)].count("\n")
    if len(text.encode()) <= markdown.MAX_BYTES:  # else it was said
        problems += [Problem(f"{place}: body", refusal) for refusal in markdown.refusals(body, above)]
    if isinstance(record, Case):
        problems += check_case(record, knowledge)
    elif record is None and kind == Document.CASES:
        problems += _facts_apart(place, text)
    elif record and not body.strip():
        problems.append(Problem(f"{place}: body", "is empty: write below the second line +++"))
    if problems or record is None:
        raise DocumentError(problems)
    return record


def _facts_apart(place: str, text: str) -> list[Problem]:
    """What does not fit of the facts of a case that is no record for something else: all misfits are told at once."""
    facts = (front.read(text) or {}).get("facts")
    return list(fact_misfits(place, "facts", facts)) if isinstance(facts, dict) else []


def prepare(kind: str, slug: str, text: str, knowledge: Knowledge) -> Prepared:
    """A text checked and rendered; raises ``DocumentError`` with every misfit."""
    text = markdown.normalise(text)
    if (lines := text.count("\n")) > markdown.MAX_LINES:
        says = f"has {lines} lines, at most {markdown.MAX_LINES} are taken: shorten it"
        raise DocumentError([Problem(f"{kind}/{slug}.md", says)])
    if kind == Document.NOTES:
        return _note(slug, text, knowledge)
    record = read(kind, slug, text, knowledge)
    summary = getattr(record, "summary", "")
    return Prepared(text, digest(text), record.title, summary, markdown.render(record.body), record)


def fill(document: Document, prepared: Prepared, knowledge: Knowledge) -> None:
    """Puts a prepared text and everything that follows from it into the row."""
    document.text, document.digest = prepared.text, prepared.digest
    document.renderer, document.html = markdown.RENDERER, prepared.html
    document.title, document.summary = prepared.title, prepared.summary
    if isinstance(record := prepared.record, Case):
        document.thread = thread_name(record.sources)[:120]
        document.facts = dict(record.facts)
        document.framework = str(record.facts.get("framework", ""))[:60]
        document.oom_kind = str(record.facts.get("oom_kind", ""))
        document.phase = str(record.facts.get("phase", ""))
        document.gpu_model = facets.gpu_model(record.facts, knowledge)
        document.model_size = facets.model_size(record.facts, knowledge)
        document.outcome = facets.outcome(record)
        document.worked = sum(fix.worked is True for fix in record.fixes)
        document.failed = sum(fix.worked is False for fix in record.fixes)
        document.suggested = sum(fix.worked is None for fix in record.fixes)
        document.solved, document.happened = record.solved, record.date


def slug_for(kind: str, title: str, text: str) -> str:
    """An address made of a title; with some of the text's digest where letters of it are no Latin ones, so that what is left misleads."""
    latin, mark = slugify(title)[:80].strip("-"), digest(text)[:8]
    if not latin:
        return f"{kind.removesuffix('s')}-{mark}"
    lost = any(letter.isalpha() and not letter.isascii() for letter in unicodedata.normalize("NFKD", title))
    return f"{latin}-{mark}" if lost else latin


def slug_problems(kind: str, slug: str, knowledge: Knowledge) -> list[Problem]:
    """Why a document cannot have this address."""
    if kind == Document.NOTES:
        known = notes.subject(slug, knowledge)
        return [] if known else [Problem(f"{kind}/{slug}.md: slug", "the catalogue has no such page")]
    if slug in RESERVED or slug.endswith((".json", ".md", ".atom")) or not _SLUG.fullmatch(slug):
        cure = "write small Latin letters, digits, “-”, “.” or “_”, at most 100, and no word that the site uses itself"
        return [Problem(f"{kind}/{slug}.md: slug", f"“{slug[:100]}” is no address: {cure}")]
    return []


def _note(slug: str, text: str, knowledge: Knowledge) -> Prepared:
    place = f"notes/{slug}.md"
    about = notes.subject(slug, knowledge)
    problems = [Problem(f"{place}: body", refusal) for refusal in markdown.refusals(text)]
    if not text.strip():
        problems.append(Problem(f"{place}: body", "is empty: write a word, or throw the note away"))
    if about is None:
        problems += slug_problems(Document.NOTES, slug, knowledge)
    if problems or about is None:
        raise DocumentError(problems)
    return Prepared(text, digest(text), about.title[:300], "", markdown.render(text), None)


def body_of(text: str) -> str:
    """What stands below the front matter of a text that is no record."""
    parts = re.split(r"^\+\+\+[ \t]*$", text, maxsplit=2, flags=re.M)
    return parts[2].lstrip("\n") if len(parts) == 3 else ""
