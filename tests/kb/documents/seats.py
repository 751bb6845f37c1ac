"""Members of a running site and documents to write on, made in a process of its own: prints a session key for each member."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROLES = {"lin": 2, "mo": 2, "ana": 3, "ida": 4}
ACT = "window.pwned=1;alert(1)"
HOSTILE = (
    f"<script>{ACT}</script>",
    f'"><img src=x onerror="{ACT}">',
    f"<svg onload='{ACT}'>",
    f"[click](javascript:{ACT})",
    f"![x](javascript:{ACT})",
    f"</textarea><script>{ACT}</script>",
    f"</title><script>{ACT}</script>",
    f"<details open ontoggle={ACT}>",
    f'<a href="java\tscript:{ACT}">x</a>',
    f"<math><mtext><table><mglyph><style><img src=x onerror={ACT}>",
    f"<div hx-get=/ hx-trigger=load hx-on:click='{ACT}' data-x=1>x</div>",
    f"`<script>{ACT}</script>`",
    f"```<script>\n{ACT}\n```",
    "{{ 7|add:7 }}{% load static %}",
    "\u202egnp.exe \u2066",
)


def quoted(words: str) -> str:
    return json.dumps(words)


def case(words: str, title: str = "") -> str:
    """A case with hostile words in every field that takes words; a framework must be one of the catalogue."""
    one = quoted(words.replace("\n", " "))
    return f"""+++
title = {quoted(title) if title else one}
reviewed = 2026-11-01
sources = ["https://a.example/", {quoted("https://a.example/" + words)}]
summary = {one}

[facts]
oom_kind = "gpu_oom"
framework = "verl"
model = {one}
gpu_model = {one}

[[fix]]
lever = "batch.micro.down"
detail = {one}
by = "reporter"

[[claim]]
text = {one}
verdict = "confirmed"
ground = {one}
source = {quoted("https://a.example/" + words)}
+++
## Symptom

{words}
"""


def fill() -> None:
    from django.contrib.auth.models import User

    from diagnose.knowledge import current
    from kb import saving

    lin, mo = User.objects.get(username="lin"), User.objects.get(username="mo")
    lin.first_name = mo.last_name = HOSTILE[0]
    lin.save()
    for number, words in enumerate(HOSTILE):
        row = saving.create("cases", f"hostile-{number}", case(words, "plain"), lin, words, current()).document
        saving.save(row, case(words), 1, lin, words, current())
        head = f"title = {quoted(words.replace(chr(10), ' '))}\nreviewed = 2026-11-01"
        guide = f"+++\n{head}\nsources = [{quoted('https://a.example/' + words)}]\n+++\n{words}\n"
        saving.create("guides", f"hostile-{number}", guide, lin, words, current())
    saving.create("notes", "levers/batch.micro.down", "\n\n".join(HOSTILE), lin, HOSTILE[0], current())
    body = "\n\n".join(f"Paragraph {number}." for number in range(12))
    saving.create("cases", "shared", case(body).replace(quoted(body.replace("\n", " ")), '"plain"'), mo, "", current())


def sessions() -> dict[str, str]:
    from importlib import import_module

    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User

    from kb.models import Member

    keys = {}
    for name, role in ROLES.items():
        user = User.objects.create_user(name, password="correct-horse-9")
        Member.objects.create(user=user, role=role)
        session = import_module(settings.SESSION_ENGINE).SessionStore()
        session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        keys[name] = session.session_key
    return keys


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()
    keys = sessions()
    fill()
    print(json.dumps(keys))
