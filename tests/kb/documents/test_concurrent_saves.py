"""Fifty people who all began from the same revision save at the same moment, in five processes, on real databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kb.documents.fifty_saves import PEOPLE, SAME_LINE, WORD
from tests.live import environment

pytestmark = pytest.mark.service
SCRIPT = Path(__file__).with_name("fifty_saves.py")


def run(state: Path, more: dict[str, str], what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), what],
        env=environment(state, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read(more: dict[str, str], state: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows as the database holds them, past Django."""
    if "DATABASE_URL" in more:
        import psycopg

        with psycopg.connect(more["DATABASE_URL"]) as server:
            return list(server.execute(query).fetchall())
    import sqlite3

    with sqlite3.connect(next(state.glob("*.sqlite3"))) as file:
        return list(file.execute(query).fetchall())


@pytest.fixture(params=["sqlite", "postgresql"])
def base(request: pytest.FixtureRequest, state_folder: Path) -> tuple[Path, dict[str, str]]:
    """A state folder, and the environment that leads to its database."""
    more = {"DATABASE_URL": request.getfixturevalue("postgres_url")} if request.param == "postgresql" else {}
    started = run(state_folder, more, "start")
    said, _ = started.communicate(timeout=120)
    assert started.returncode == 0, said
    return state_folder, more


def test_every_word_of_fifty_concurrent_saves_is_kept(base: tuple[Path, dict[str, str]]) -> None:
    state, more = base
    saving = run(state, more, "save")
    said, _ = saving.communicate(timeout=600)
    assert (saving.returncode, "Traceback" in said) == (0, False), said
    revisions = read(more, state, "SELECT number, text, why FROM kb_revision ORDER BY number")
    drafts = read(more, state, "SELECT text FROM kb_draft")
    newest = revisions[-1][1]
    assert [number for number, _, _ in revisions] == list(range(1, len(revisions) + 1))
    for number in range(PEOPLE - SAME_LINE):
        assert WORD.format(number) in newest
    first = [WORD.format(number) for number in range(PEOPLE - SAME_LINE, PEOPLE)]
    assert sum(word in newest for word in first) == 1
    assert len(drafts) == SAME_LINE - 1
    for word in first:
        assert word in newest or any(word in text for (text,) in drafts)
    assert len(revisions) == 1 + PEOPLE - SAME_LINE + 1
