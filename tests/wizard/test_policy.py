"""What the budget asks of templates and static files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = sorted((ROOT / "static" / "css").glob("*.css"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_is_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 120


def test_all_styles_together_stay_below_their_budget():
    assert sum(path.stat().st_size for path in STYLES) < 40_000


def test_our_own_script_stays_small():
    assert (ROOT / "static" / "js" / "site.js").stat().st_size < 4_096


def test_styles_name_only_colours_of_the_tokens():
    for path in STYLES:
        if path.name not in ("tokens.css", "print.css"):
            assert not re.search(r"#[0-9a-f]{3,6}\b", path.read_text()), path.name
