"""A case, members of the team, and a folder of its own for what they send."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from kb.models import Document, Member, Role
from tests.kb.conftest import created, document

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


@pytest.fixture(autouse=True)
def files_of_their_own(settings: object, tmp_path: object) -> None:
    settings.MEDIA_ROOT = tmp_path  # type: ignore[attr-defined]


@pytest.fixture
def case(db: None) -> Document:
    return created("here", document(title="Eight cards"))


def member(name: str, role: Role = Role.READER) -> User:
    user = User.objects.create_user(name, email=f"{name}@example.org")
    Member.objects.create(user=user, role=role)
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def at(view: str, case: Document, **more: object) -> str:
    return reverse(f"kb:{view}", kwargs={"kind": case.kind, "slug": case.slug, **more})


def upload(client: Client, case: Document, name: str, content: bytes, type: str = "image/png") -> int:
    return client.post(at("attach", case), {"files": SimpleUploadedFile(name, content, type)}).status_code
