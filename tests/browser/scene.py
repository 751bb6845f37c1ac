"""A team at work, made in a process of its own on the site's state: prints a session key for each member as JSON.

Lin and Mo are editors, Ana reviews, Ida runs the site, Rea reads.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROLES = {"rea": 1, "lin": 2, "mo": 2, "ana": 3, "ida": 4}
LONG = (
    "A reporter with eight cards, a vision model and images of every size sees the optimizer step fail at night, twice"
)
CASE = """+++
title = "{title}"
reviewed = 2026-11-01
sources = ["https://example.org/threads/{number}"]
summary = "{summary}"
date = 2026-10-{day:02}
solved = {solved}

[facts]
framework = "{framework}"
oom_kind = "{kind}"
phase = "{phase}"
model = "{model}"
gpu_model = "{gpu}"
gpu_mem_gib = 80
n_gpus = 8

[[fix]]
lever = "{lever}"
detail = "{detail}"
by = "reporter"
worked = {solved}

[[claim]]
text = "The cards were full of gradients."
verdict = "confirmed"
ground = "The traceback stands in the optimizer step."
source = "https://example.org/threads/{number}"
+++
## Symptom

{body}

## What was tried

| change | peak | after |
| --- | --- | --- |
| micro batch 4 to 2 | 79.1 GiB | 71.0 GiB |
| `gpu_memory_utilization` 0.6 to 0.4 | 79.1 GiB | 78.9 GiB |
"""
ROWS = [
    ("optimizer-step", "The optimizer step fails on eight cards", "gpu_oom", "actor_update", "Qwen2.5-7B", "A100"),
    ("gloo-host", "Host RAM fills during weight sync", "host_ram", "weight_sync", "Qwen2.5-32B", "H100"),
    ("long-night", LONG, "gpu_oom", "optimizer_step", "Qwen2.5-VL-7B", "H800"),
    ("xiancun", "推理时显存不足，换更小的批次后恢复", "gpu_oom", "rollout", "Qwen2.5-7B", "A100"),
    ("shared", "Two people write this page", "gpu_oom", "rollout", "Qwen2.5-7B", "A100"),
]

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from kb.models import Document


def case(slug: str, title: str, kind: str, phase: str, model: str, gpu: str) -> str:
    """A case document that fits."""
    from diagnose.knowledge import current

    levers, number = sorted(current().levers), len(title)
    return CASE.format(
        title=title, number=number, summary="What was seen, and what was done about it.", day=1 + number % 28,
        solved="true" if slug != "gloo-host" else "false", framework=sorted(current().frameworks)[number % 3],
        kind=kind, phase=phase, model=model, gpu=gpu, lever=levers[number % len(levers)], detail="halved it and it ran",
        body="\n\n".join(f"Paragraph {at} says what happened then, 主机内存 included." for at in range(12)),
    )  # fmt: skip


def people() -> dict[str, User]:
    from django.contrib.auth.models import User

    from kb.models import Member

    made = {}
    for name, role in ROLES.items():
        made[name] = User.objects.create_user(name, email=f"{name}@example.org", password="correct-horse-9")
        Member.objects.create(user=made[name], role=role)
    return made


def session_of(user: User) -> str:
    from importlib import import_module

    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def write(team: dict[str, User]) -> None:
    """Cases, a guide, a note, a draft, something in the trash."""
    from diagnose.knowledge import current
    from kb import saving, states
    from kb.models import Document

    lin, mo, knowledge = team["lin"], team["mo"], current()
    written: dict[str, Document] = {}
    for row in ROWS:
        written[row[0]] = saving.create("cases", row[0], case(*row), lin, "first words", knowledge).document
    first = written["optimizer-step"]
    changed = (
        case(*ROWS[0]).replace("Paragraph 3 says", "Paragraph three now says").replace("n_gpus = 8", "n_gpus = 16")
    )
    saving.save(first, changed, first.revision, mo, "sixteen cards, as the log says", knowledge)
    first.refresh_from_db()
    states.review(first, first.revision, team["ida"])
    guide = (
        '+++\ntitle = "Read an out-of-memory line"\nreviewed = 2026-11-01\nsources = ["https://example.org/a"]\n+++\n'
    )
    body = "## First\n\nRead `Tried to allocate`.\n\n- one\n- two\n\n## Then\n\nLook at the ceiling.\n"
    saving.create("guides", "read-a-line", guide + body, lin, "", knowledge)
    saving.create(
        "cases", "half-written", case("half", "Half written", *ROWS[0][2:]), lin, "", knowledge, Document.DRAFT
    )
    thrown = saving.create("cases", "thrown", case("thrown", "Thrown away", *ROWS[0][2:]), lin, "", knowledge).document
    states.delete(thrown, lin)
    lever = sorted(knowledge.levers)[0]
    saving.create("notes", f"levers/{lever}", "On our cards this cost **4 %** of speed.\n", lin, "", knowledge)
    around(team, first)


def around(team: dict[str, User], first: Document) -> None:
    """Comments, files, watching, tokens, invitations."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from kb import attachments, audit, comments, links, tokens, watching
    from kb.models import Role

    comments.add(first, "We saw **the same** on H800.\n\n`expandable_segments` did not help.", team["rea"])
    comments.add(first, "Second that.", team["mo"])
    attachments.add(
        first,
        SimpleUploadedFile("train-with-a-very-long-name-of-the-night-run-2026-10-03.log", b"x" * 5000),
        team["lin"],
    )
    watching.watch(first, team["rea"])
    watching.watch(first, team["lin"])
    watching.tell(first, team["mo"], "mo saved revision 2: sixteen cards, as the log says")
    tokens.make(team["lin"], "nightly export", ["read"], 30)
    links.make(Role.EDITOR, links.INVITATION_LIFETIME, made_by=team["ida"])
    audit.note(team["ida"], "changed a role", "lin", "reader to editor")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()
    team = people()
    write(team)
    print(json.dumps({name: session_of(user) for name, user in team.items()}))
