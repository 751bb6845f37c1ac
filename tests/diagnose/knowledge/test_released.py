"""What the records say of releases, against what was read from the frameworks' tags and packages."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diagnose.conditions import in_range, version
from diagnose.knowledge import current

DATA = Path(__file__).parents[2] / "data"
FIRST = tomllib.loads((DATA / "released_keys.toml").read_text(encoding="utf-8"))
THERE = tomllib.loads((DATA / "configured_keys.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("slug", "key", "first"), [(slug, *row) for slug, rows in FIRST.items() for row in rows.items()]
)
def test_a_key_is_of_no_release_before_the_first_that_has_it(slug: str, key: str, first: str) -> None:
    framework = current().frameworks[slug]
    rows = [one for one in framework.keys if one.key == key]
    before = [release for release in framework.releases if version(release) < version(first)]
    assert rows
    assert before
    assert not [one for one in rows for release in before if in_range(one.since, one.until, release)]
    assert [one for one in rows if in_range(one.since, one.until, first)]


@pytest.mark.parametrize(("slug", "key"), [(slug, key) for slug, rows in THERE.items() for key in rows])
def test_a_key_that_a_release_has_speaks_against_none_such(slug: str, key: str) -> None:
    framework = current().frameworks[slug]
    first, last = THERE[slug][key]
    ranges = [(one.since, one.until) for one in framework.keys if key in (one.key, *one.aliases)]
    releases = sorted(framework.releases, key=version)
    there = releases[releases.index(first) : releases.index(last) + 1]
    assert ranges
    assert not [release for release in there if not any(in_range(*bounds, release) for bounds in ranges)]
