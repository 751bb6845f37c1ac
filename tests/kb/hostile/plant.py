"""Writes the corpus into every place of a site that takes words, in a process of its own: prints a session key of an admin, the
addresses of all documents and those of a saved diagnosis."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def people() -> list[Any]:
    """An admin, then members whose names are hostile: single sign-on may bring any name."""
    from django.contrib.auth.models import User

    from kb.models import Member, Role
    from tests.kb.hostile.corpus import WORDS

    made = []
    for number, name in enumerate(["ida", *WORDS]):
        user = User(
            username=f"{number}{name}"[:150] if number else name, email=f"u{number}@example.org", first_name=name[:150]
        )
        user.set_unusable_password()
        user.save()
        Member.objects.create(user=user, role=Role.ADMIN if number < 2 else Role.EDITOR)
        made.append(user)
    return made


def documents(team: list[Any]) -> list[str]:
    """A case for each of them, twice saved, and guides; those of the trash and the drafts are hostile too."""
    from diagnose.knowledge import current
    from kb import saving, states
    from kb.models import Document
    from tests.kb.hostile.corpus import SHAPES, WORDS, case, guide

    slugs, knowledge = [], current()
    for number, (author, words) in enumerate(zip(team[1:], WORDS, strict=True)):
        slug = f"hostile-{number}"
        row = saving.create("cases", slug, case(words, body="Plain."), author, words[:300], knowledge).document
        saving.save(row, case(words), 1, author, words[:300], knowledge)
        slugs.append(slug)
    saving.create("guides", "hostile", guide("\n\n".join(WORDS[:30])), team[1], "", knowledge)
    saving.create("notes", "levers/batch.micro.down", "\n\n".join(SHAPES), team[1], SHAPES[0], knowledge)
    for slug, state in (("drafted", Document.DRAFT), ("thrown", Document.PUBLISHED)):
        row = saving.create("cases", slug, case(SHAPES[0]), team[1], "", knowledge, state).document
        if slug == "thrown":
            states.delete(row, team[1])
    return slugs


def around(team: list[Any]) -> None:
    """Comments, files, notices, tokens, invitations, lines of the audit log, reasons of failed estimates."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from diagnose.knowledge import current
    from kb import attachments, audit, comments, links, tokens, watching
    from kb.estimates import engine_digest
    from kb.models import CaseEstimate, Document, Notice, OneTimeLink, Role
    from tests.kb.hostile.corpus import WORDS

    page = Document.objects.get(kind="cases", slug="hostile-0")
    watching.watch(page, team[0])
    comments.add(page, WORDS[6], team[0])
    for number, (author, words) in enumerate(zip(team[1:], WORDS, strict=True)):
        comments.add(page, words, author)
        audit.note(author, "deleted", words, words)
        tokens.make(team[0], words[:100], ["read"], 30)
        if number < attachments.MOST:
            attachments.add(page, SimpleUploadedFile(f"{number}{words}", words.encode() + b" "), author)
        links.make(Role.EDITOR, links.INVITATION_LIFETIME, made_by=author)
    Notice.objects.update(why=WORDS[0])
    OneTimeLink.objects.filter(user=None).update(email=WORDS[13])
    digests = {"engine_digest": engine_digest(), "knowledge_digest": current().digest}
    for case, words in zip(Document.objects.filter(kind="cases", slug__startswith="hostile"), WORDS, strict=False):
        CaseEstimate.objects.create(case=case, case_digest=case.digest, **digests, status="failed", why=words)


def diagnosis() -> list[str]:
    """A saved one whose log, answers and words are hostile; its two addresses."""
    from django.contrib.auth.models import AnonymousUser

    from diagnose.knowledge import current
    from diagnose.pipeline import diagnose
    from tests.kb.hostile.corpus import WORDS
    from wizard import saved, state

    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB.\n" + "\n".join(WORDS)
    answers = state.read_answers([("model", WORDS[12]), ("gpu_model", WORDS[0]), ("framework", WORDS[13])])
    row, key = saved.save(diagnose(text, answers.values, current(), ()), answers, AnonymousUser())
    saved.tell_outcome(row, "worked", "batch.micro.down", "\n".join(WORDS)[:1900], current())
    return [f"/saved/{row.view}/", f"/saved/{row.view}/{key}/"]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()

    from tests.browser.scene import session_of

    team = people()
    slugs = documents(team)
    around(team)
    print(json.dumps({"session": session_of(team[0]), "slugs": slugs, "saved": diagnosis()}))
