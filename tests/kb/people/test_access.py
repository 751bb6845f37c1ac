"""Role by address: what a visitor and each role get, on an open site and on one for members only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from kb.models import Role
from tests.kb.access import ROWS
from tests.kb.world import Row, World, names


def answers(world: World, name: str, row: Row) -> dict[str, int | str]:
    """What each role gets, each in a world that nobody before it has touched."""
    found = {}
    for role in Role:
        with transaction.atomic():
            found[role.label] = row.gets(name, world, role)
            transaction.set_rollback(True)
    return found


def test_every_address_has_a_row() -> None:
    assert sorted(set(names()) - set(ROWS)) == []


def test_every_row_has_an_address() -> None:
    assert sorted(set(ROWS) - set(names())) == []


@pytest.fixture(scope="module")
def world(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """One for all rows: each takes back what it did."""
    with (
        django_db_blocker.unblock(),
        transaction.atomic(),
        override_settings(MEDIA_ROOT=tmp_path_factory.mktemp("files")),
    ):
        yield World()
        transaction.set_rollback(True)


@pytest.mark.parametrize("members_only", [False, pytest.param(True, marks=pytest.mark.any_database)])
@pytest.mark.parametrize("name", ROWS)
def test_each_role_gets_what_the_rows_say(world: World, settings: Any, name: str, members_only: bool) -> None:
    settings.MEMBERS_ONLY = members_only
    for place, row in enumerate(ROWS[name]):
        says = {role.label: row.expects(role, members_only) for role in Role}
        assert answers(world, name, row) == says, f"row {place}"


def test_who_may_not_read_is_offered_no_page_that_asks_to_sign_in_again(db: None, settings: Any) -> None:
    settings.MEMBERS_ONLY = True
    page = Client().get(reverse("account_login")).content.decode()
    offered = {href for href in re.findall(r'href="(/[^"#?]*)', page) if not href.startswith("/static/")}
    assert offered == {reverse("wizard:start"), reverse("account_login"), reverse("account_reset_password")}
