"""Remarks below a page: Markdown as everywhere, short, and never really taken back: a deleted one keeps its place without its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from kb import markdown, saving, watching
from kb.models import Comment, Document, Role, role_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LONGEST = 10_000  # bytes of one remark


def refusals(text: str) -> list[str]:
    """Why this remark is not taken, each with the cure."""
    if not text.strip():
        return ["Write a word first."]
    size = len(text.encode())
    too_long = [f"It has {size:,} bytes, at most {LONGEST:,} are taken: what is longer belongs into the page."]
    return (too_long if size > LONGEST else []) + markdown.refusals(text)


def add(document: Document, text: str, author: User) -> Comment:
    """Keeps a remark that ``refusals`` let through, tells those who watch, and has its author watch too."""
    text = markdown.normalise(text)
    with transaction.atomic():
        name = saving.name_of(author)
        comment = Comment.objects.create(
            document=document, author=author, author_name=name, text=text, html=markdown.render(text)
        )
        watching.watch(document, author)
        watching.tell(document, author, f"{name} commented")
    return comment


def may_change(comment: Comment, user: User) -> bool:
    """Whoever wrote it changes it, as long as they may comment at all."""
    return comment.author_id == user.pk and role_of(user) >= Role.READER and not comment.deleted


def may_delete(comment: Comment, user: User) -> bool:
    """Its author and the reviewers."""
    return may_change(comment, user) or (role_of(user) >= Role.REVIEWER and not comment.deleted)


def change(comment: Comment, text: str) -> None:
    """New words in place of the old ones; that they were changed stays visible."""
    comment.text = markdown.normalise(text)
    comment.html = markdown.render(comment.text)
    comment.edited = timezone.now()
    comment.save(update_fields=["text", "html", "edited"])


def delete(comment: Comment) -> None:
    comment.text = comment.html = ""
    comment.deleted = True
    comment.save(update_fields=["text", "html", "deleted"])
