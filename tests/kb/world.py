"""Somebody of each role, one thing of each kind, and what a row of ``tests/kb/access.py`` says about an address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from diagnose.knowledge import current
from kb import comments, links, saving, states, tokens
from kb.models import Attachment, Comment, Document, Member, OneTimeLink, Role, Token
from tests.kb.conftest import document

ASKS = "asks to sign in"  # a redirect to the sign-in page, or what was sent with a way to it; other answers are told by their status


def member(role: Role, name: str = "") -> User:
    """A member who comes by single sign-on: without a password, so that nothing asks for one again."""
    user = User(username=name or role.label)
    user.set_unusable_password()
    user.save()
    Member.objects.create(user=user, role=role)
    return user


def written(kind: str, slug: str, author: User, state: str = Document.PUBLISHED, text: str = "") -> Document:
    return saving.create(kind, slug, text or document(slug), author, "", current(), state).document


@dataclass
class World:
    """``shown`` is published; ``hidden`` is the draft of an editor who is none of ``people``; ``thrown`` is what an admin threw away."""

    people: dict[Role, User] = field(init=False)
    shown: Document = field(init=False)
    hidden: Document = field(init=False)
    thrown: Document = field(init=False)
    comment: Comment = field(init=False)
    file: Attachment = field(init=False)
    token: Token = field(init=False)
    invitation: str = field(init=False)
    way_in: str = field(init=False)

    def __post_init__(self) -> None:
        self.people = {role: member(role) for role in Role if role > Role.NOBODY}
        admin, author = self.people[Role.ADMIN], member(Role.EDITOR, "author")
        self.shown = written("cases", "shown", author)
        self.hidden = written("cases", "hidden", author, Document.DRAFT)
        self.thrown = written("cases", "thrown", author)
        states.delete(self.thrown, admin)
        self.comment = comments.add(self.shown, "As here.", self.people[Role.READER])
        self.file = Attachment(document=self.shown, name="log.txt", type="application/octet-stream", size=1, by=author)
        self.file.file.save("log.txt", ContentFile(b"x"))
        tokens.make(self.people[Role.READER], "nightly", ["read"], 30)
        self.token = Token.objects.get()
        self.invitation = links.make(Role.EDITOR, links.INVITATION_LIFETIME, made_by=admin)
        self.way_in = links.make(Role.READER, links.WAY_IN_LIFETIME, user=self.people[Role.READER])

    @property
    def open_invitation(self) -> OneTimeLink:
        return OneTimeLink.objects.get(user=None)

    def first(self, kind: str) -> dict[str, Any]:
        """The address of some page of the catalogue."""
        return {"slug": next(iter(getattr(current(), kind)))}

    def part(self) -> dict[str, Any]:
        """The address of a part of some framework."""
        slug = next(one.parts[1].slug for one in current().frameworks.values() if one.parts)
        return dict(zip(("slug", "part"), slug.split("/"), strict=True))


Making = Callable[[World], dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """One way to ask at an address, and what comes of it.

    ``least``: the lowest role that gets ``ok``; ``below``: what members under it get; ``visitor``: what visitors get who are under it.
    ``signed_in``: what members get where it is not ``ok``. On a site for members visitors are asked to sign in, but for a
    ``door``; a ``program`` is answered 401, and with ``token_only`` everybody is who shows no token. With ``scope`` the members
    come with a token for it in place of a cookie.
    """

    least: Role
    at: Making = lambda world: {}
    method: str = "get"
    send: Making = lambda world: {}
    ok: int = 200
    signed_in: int | None = None
    below: int = 403
    visitor: int | str = ASKS
    door: bool = False
    program: bool = False
    token_only: bool = False
    scope: str = ""

    def expects(self, role: Role, members_only: bool) -> int | str:
        if members_only and (self.token_only or (self.program and role == Role.NOBODY)):
            return 401
        if role == Role.NOBODY:
            if members_only and not self.door:
                return ASKS
            return self.ok if self.least == Role.NOBODY else self.visitor
        if role < self.least:
            return self.below
        return self.ok if self.signed_in is None else self.signed_in

    def gets(self, name: str, world: World, role: Role) -> int | str:
        client, headers = Client(), {}
        if role > Role.NOBODY and self.scope:
            headers["Authorization"] = f"Bearer {tokens.make(world.people[role], 'row', [self.scope], 30)}"
        elif role > Role.NOBODY:
            client.force_login(world.people[role])
        ask = getattr(client, self.method)
        response = ask(reverse(name, kwargs=self.at(world)), self.send(world), headers=headers)
        asked = response.status_code == 302 and response.headers["Location"].startswith(reverse("account_login"))
        kept = response.status_code == 401 and "kb/ended.html" in [template.name for template in response.templates]
        return ASKS if asked or kept else response.status_code


def names(patterns: list[Any] | None = None, namespace: str = "") -> Iterator[str]:
    """Every name of the URLconf."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from names(pattern.url_patterns, inner)
        elif isinstance(pattern, URLPattern):
            yield f"{namespace}{pattern.name}"
