"""Addresses in templates: worked out once, and still those of the site that asks."""

from __future__ import annotations

import pytest
from django.template import Context, Template
from django.urls import NoReverseMatch, set_script_prefix
from django.urls.base import clear_script_prefix


def written(text: str, **given: object) -> str:
    return Template(text).render(Context(given))


def test_it_refuses_a_page_that_does_not_exist() -> None:
    for _ in range(2):
        with pytest.raises(NoReverseMatch):
            written("{% url 'kb:no_such_page' %}")


def test_it_refuses_a_page_without_its_slug() -> None:
    with pytest.raises(NoReverseMatch):
        written("{% url 'kb:lever' slug %}", slug="")


def test_the_slug_counts() -> None:
    assert (
        written("{% for slug in slugs %}{% url 'kb:lever' slug %} {% endfor %}", slugs="ab") == "/levers/a/ /levers/b/ "
    )


def test_an_address_is_escaped_where_text_is() -> None:
    assert written("{% url 'kb:lever' slug %}", slug="a&b") == "/levers/a&amp;b/"
    assert written("{% autoescape off %}{% url 'kb:lever' slug %}{% endautoescape %}", slug="a&b") == "/levers/a&b/"


def test_it_can_be_kept_under_a_name() -> None:
    assert written("{% url 'kb:cases' as there %}[{{ there }}]") == "[/cases/]"


def test_a_site_below_a_path_keeps_its_own_addresses() -> None:
    assert written("{% url 'kb:cases' %}") == "/cases/"
    set_script_prefix("/memory/")
    try:
        assert written("{% url 'kb:cases' %}") == "/memory/cases/"
    finally:
        clear_script_prefix()
    assert written("{% url 'kb:cases' %}") == "/cases/"
