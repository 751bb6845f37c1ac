"""Role by address: what a visitor and each role get, on an open site and on one for members only."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

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


@pytest.mark.parametrize("name", ROWS)
def test_each_role_gets_what_the_rows_say(world: World, settings: Any, name: str) -> None:
    for place, row in enumerate(ROWS[name]):
        for members_only in (False, True):
            settings.MEMBERS_ONLY = members_only
            says = {role.label: row.expects(role, members_only) for role in Role}
            assert answers(world, name, row) == says, f"row {place}, members only: {members_only}"
