"""People with each role, and a window of a browser for each of them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kb.models import Document, Member, Role
from tests.kb.conftest import created


def person(name: str, role: Role) -> User:
    """A member of the team."""
    user = User.objects.create_user(name, password="correct-horse-9")
    Member.objects.create(user=user, role=role)
    return User.objects.select_related("member").get(pk=user.pk)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def reader(db: None) -> User:
    return person("rea", Role.READER)


@pytest.fixture
def editor(db: None) -> User:
    """Lin, who writes."""
    return person("lin", Role.EDITOR)


@pytest.fixture
def other(db: None) -> User:
    """Mo, who writes too."""
    return person("mo", Role.EDITOR)


@pytest.fixture
def reviewer(db: None) -> User:
    return person("ana", Role.REVIEWER)


@pytest.fixture
def admin(db: None) -> User:
    return person("ida", Role.ADMIN)


@pytest.fixture
def case(db: None) -> Document:
    """A published case."""
    return created("first")
