"""A sent paste and the page that answers it."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from django.test import Client

from wizard.home import EXAMPLE

TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free."
)


class Form(HTMLParser):
    """The fields of a page: (name, value) of hidden inputs, and every id and address that it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.hidden: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attributes}
        if tag == "input" and named.get("type") == "hidden":
            self.hidden.append((named["name"], named.get("value", "")))
        if tag in ("h1", "h2", "h3"):
            self.headings.append(tag)
        self.ids += [named["id"]] if "id" in named else []
        self.links += [named["href"]] if tag == "a" else []


def post(client: Client, **fields: object) -> str:
    return client.post("/result/", fields).content.decode()


@pytest.fixture
def answer(client) -> str:
    return post(client, paste=EXAMPLE.read_text())
