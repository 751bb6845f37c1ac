"""What the editor shows: the text, its fields, the preview with every misfit, and what others did meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import Problem
from diagnose.knowledge.records import Case
from diagnose.vocabulary import KINDS
from kb import case_page, documents, fields, front_edit, markdown, notes, places, starters
from kb.documents import DocumentError
from kb.markdown import as_rendered, normalise
from kb.merge import Merge, merge
from kb.models import Document
from kb.saving import Conflict

WORDS = {Document.CASES: "case", Document.GUIDES: "guide", Document.NOTES: "note"}


@dataclass(frozen=True)
class Typed:
    """A posted editor: the text with the changed fields already written into it, and what is wrong with those that could not be."""

    text: str
    base: int
    why: str = ""
    slug: str = ""
    do: str = "save"
    wrong: Mapping[str, str] | None = None
    by_form: bool = False


def typed(post: QueryDict) -> Typed:
    """What somebody sent. The numbers that a browser hands back are read as 0 where they are none."""
    changes = fields.changed(post)
    text, wrong = front_edit.apply(normalise(post.get("text", "")), changes)
    base = post.get("base", "")
    return Typed(
        text=text,
        base=int(base) if base.isascii() and base.isdigit() and len(base) < 9 else 0,
        why=post.get("why", "")[:300],
        slug=post.get("slug", "").strip(),
        do=post.get("do", "save"),
        wrong=wrong,
        by_form=bool(changes),
    )


def page(
    kind: str, document: Document | None, now: Typed, problems: list[Problem] | None, knowledge: Knowledge
) -> dict[str, Any]:
    """What the editor's template needs; ``problems`` are those of a save, else the preview tells its own."""
    slug = document.slug if document else now.slug or "new"
    groups = fields.shown(kind, now.text, now.wrong)
    return {
        "section": kind,
        "kind": kind,
        "kind_word": WORDS[kind],
        "document": document,
        "address": notes.address(document) if document else "",
        "subject": notes.subject(slug, knowledge) if kind == Document.NOTES else None,
        "typed": now,
        "groups": groups,
        "was": fields.as_rendered(groups),
        "blocks": starters.BLOCKS if kind == Document.CASES else "",
        "next_number": document.revision + 1 if document else 1,
        **preview(kind, slug, now, knowledge, problems),
    }


def fragment(kind: str, now: Typed, was: str, knowledge: Knowledge) -> dict[str, Any]:
    """What is sent while somebody types: the preview, and whichever of text and fields did not know of the change yet."""
    groups = fields.shown(kind, now.text, now.wrong)
    shows = fields.as_rendered(groups)
    return {
        **preview(kind, now.slug or "new", now, knowledge),
        "kind": kind,
        "typed": now,
        "groups": groups,
        "was": shows,
        "new_text": now.by_form and not now.wrong,
        "new_fields": bool(groups) and not now.by_form and shows != was,
    }


def preview(
    kind: str, slug: str, now: Typed, knowledge: Knowledge, refused: list[Problem] | None = None
) -> dict[str, Any]:
    """The page as it would be, with every misfit; where it does not fit, as much of it as can be shown."""
    problems = fields.as_problems(f"{kind}/{slug}.md", now.wrong or {})
    record, html = None, ""
    try:
        prepared = documents.prepare(kind, slug, now.text, knowledge)
        record, html = prepared.record, prepared.html
    except DocumentError as misfit:
        problems += misfit.problems
        body = now.text if kind == Document.NOTES else documents.body_of(now.text)
        html = "" if markdown.refusals(body) else markdown.render(body)
    context: dict[str, Any] = {
        "record": record,
        "body": as_rendered(html),
        "findings": places.findings(now.text, [*problems, *(refused or [])]),
    }
    if isinstance(record, Case):
        context |= {
            "claims": case_page.claims_of(record),
            "trials": case_page.trials_of(record, knowledge),
            "facts": case_page.fact_groups(record.facts, knowledge),
            "told": len(record.facts),
            "failure": KINDS.get(str(record.facts.get("oom_kind", "")), "not settled"),
        }
    return context


def conflict(clash: Conflict, now: Typed) -> dict[str, Any]:
    """Both texts, and the lines that both changed; the lines of my text stand in the editor below."""
    return {
        "clash": clash,
        "regions": list(enumerate(clash.joined.regions)),
        "joined": clash.joined.joined,
        "clash_findings": places.findings(clash.joined.text(), clash.problems),
        "typed": now,
    }


def join(document: Document, now: Typed, post: QueryDict) -> Typed | None:
    """My text joined with the present one by the choices that were made; None where somebody has saved since they were."""
    if post.get("theirs") != str(document.revision) or len(now.text) > markdown.MAX_BYTES:
        return None
    base = document.revisions.filter(number=now.base).first()
    joined: Merge = merge(base.text if base else "", now.text, document.text)
    choices = {number: post.get(f"region-{number}", "") for number in range(len(joined.regions))}
    return replace(now, text=joined.text(choices), base=document.revision, do="preview")
