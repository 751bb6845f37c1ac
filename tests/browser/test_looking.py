"""What the tests of the browser rest on: a window that is handed on, and the look at a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Seat, Way
from tests.live import Site
from tests.windows import Windows

pytestmark = pytest.mark.browser
KEPT = "[localStorage.a ?? '', sessionStorage.a ?? '', document.cookie.includes('a=1')]"


def test_a_window_that_is_handed_on_keeps_nothing(windows: Windows, live_site: Site) -> None:
    heard: list[Any] = []
    with windows.opened({"console": lambda line: heard.append(line.text)}) as first:
        first.goto(live_site.url)
        first.evaluate("localStorage.a = sessionStorage.a = '1'; document.cookie = 'a=1'")
        assert first.evaluate(KEPT) == ["1", "1", True]
        first.context.new_page()
    with windows.opened({}) as second:
        assert second == first
        assert second.context.pages == [second]
        second.goto(live_site.url)
        assert second.evaluate(KEPT) == ["", "", False]
        second.evaluate("console.log('a')")
    assert heard == []


def test_what_keeps_somebody_out_is_found_on_a_page_that_was_looked_at_before(
    seat: Callable[..., Seat], way: Way
) -> None:
    visitor = seat()
    page = visitor.go("/gpus/")
    visitor.look()
    page.evaluate("for (const link of document.querySelectorAll('main a')) link.textContent = ''")
    if way.by_axe:
        with pytest.raises(AssertionError, match="link-name"):
            visitor.look()
    page.evaluate("document.body.style.minWidth = '3000px'")
    with pytest.raises(AssertionError, match="wider than the window"):
        visitor.look()
