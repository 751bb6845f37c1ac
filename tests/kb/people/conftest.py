"""A member of each role and one thing of each kind."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache

from tests.kb.world import World


@pytest.fixture(autouse=True)
def nobody_was_counted_yet(db: None) -> None:
    """The limits of sign-in begin anew with each test."""
    cache.clear()


@pytest.fixture
def world(db: None, settings: Any, tmp_path: Any) -> World:
    settings.MEDIA_ROOT = tmp_path
    return World()
