"""What the budget asks of templates, and of what each page links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import transaction
from django.template.loader import get_template
from django.test import Client
from django.urls import reverse

from kb.models import Role
from tests.kb.world import World, written
from wizard.fit_settings import START
from wizard.home import EXAMPLE

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = {path.name: path.read_text() for path in (ROOT / "static" / "css").glob("*.css")}
PAGES = (
    *("/", f"/fit/?{START}"),
    *("/questions/", "/cases/", "/cases/shown/", "/cases/shown/edit/", "/cases/shown/history/", "/cases/shown/diff/"),
    *("/cases/new/", "/guides/", "/guides/read/", "/levers/", "/levers/batch.micro.down/", "/errors/", "/errors/said-gpu-oom/"),
    *("/frameworks/", "/frameworks/verl/", "/gpus/", "/gpus/h100/", "/models/", "/models/qwen2.5-7b/", "/search/?q=optimizer"),
    *("/search/?q=Tried to allocate", "/changes/", "/notices/", "/drafts/", "/trash/", "/members/", "/members/invitations/"),
    *("/audit/", "/me/", "/me/tokens/", "/me/tokens/new/", "/me/codes/", "/estimates/", "/nowhere/"),
)  # fmt: skip
ALLOWED = {
    "/frameworks/verl/": 250_000,
    "an answer": 110_000,
}  # every key of a framework; the chart twice with eight prescriptions


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_is_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 120


@pytest.fixture(scope="module")
def pages(django_db_setup, django_db_blocker):
    """The address of every page and its HTML, as an admin sees it, and an answer of the wizard."""
    with django_db_blocker.unblock(), transaction.atomic():
        world = World()
        written("guides", "read", world.people[Role.ADMIN], text=GUIDE)
        client = Client()
        client.force_login(world.people[Role.ADMIN])
        found = {path: client.get(path).content.decode() for path in PAGES}
        found["an answer"] = client.post(reverse("wizard:result"), {"paste": EXAMPLE.read_text()}).content.decode()
        transaction.set_rollback(True)
    return found


GUIDE = '+++\ntitle = "Read"\nreviewed = 2026-11-01\nsources = ["https://a.example/"]\n+++\nWords.\n'


def linked(html: str) -> set[str]:
    return set(re.findall(r'<link rel="stylesheet" href="[^"]*/css/([a-z]+\.css)', html))


def classes_of(*styles: str) -> set[str]:
    return {
        name for style in styles for name in re.findall(r"\.([a-z][\w-]*)", re.sub(r"/\*.*?\*/", "", STYLES[style]))
    }


@pytest.mark.django_db
def test_no_page_links_more_styles_than_the_budget_has(pages):
    weights = {path: sum(len(STYLES[name].encode()) for name in linked(html)) for path, html in pages.items()}
    assert {path: weight for path, weight in weights.items() if not 0 < weight < 40_000} == {}


@pytest.mark.django_db
def test_no_page_weighs_more_than_the_budget_has(pages):
    weights = {path: len(html.encode()) for path, html in pages.items()}
    assert {path: weight for path, weight in weights.items() if weight >= ALLOWED.get(path, 100_000)} == {}


@pytest.mark.django_db
def test_every_page_links_the_styles_of_what_stands_on_it(pages):
    everywhere, missing = classes_of(*STYLES), {}
    for path, html in pages.items():
        used = {name for value in re.findall(r'class="([^"]*)"', html) for name in value.split()}
        missing[path] = (used & everywhere) - classes_of(*linked(html))
    assert {path: names for path, names in missing.items() if names} == {}


@pytest.mark.django_db
def test_every_stylesheet_is_linked_by_some_page(pages):
    assert set(STYLES) == {name for html in pages.values() for name in linked(html)}


def test_a_page_for_the_time_when_nothing_works_needs_what_it_links():
    html = get_template("_bare.html").render()
    used = {name for value in re.findall(r'class="([^"]*)"', html) for name in value.split()}
    assert linked(html)
    assert (used & classes_of(*STYLES)) - classes_of(*linked(html)) == set()


def test_our_own_scripts_stay_small():
    """A page links that of every page and at most one more."""
    sizes = {path.name: path.stat().st_size for path in (ROOT / "static" / "js").glob("*.js")}
    assert sizes.pop("site.js") + max(sizes.values()) < 9_216


def test_styles_name_only_colours_of_the_tokens():
    for name, style in STYLES.items():
        if name not in ("tokens.css", "print.css"):
            assert not re.search(r"#[0-9a-f]{3,6}\b", style), name
