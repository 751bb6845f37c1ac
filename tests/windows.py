"""Windows of the browser that are handed on from test to test: a new one costs a second or two of processor time, a cleaned one little."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

SIZE = {"width": 1280, "height": 900}


@dataclass
class Windows:
    """``free`` holds those that nobody uses, by how they were opened."""

    browser: Any
    free: dict[str, list[Any]] = field(default_factory=dict)

    @contextmanager
    def opened(self, heard: Mapping[str, Callable[[Any], object]], **how: Any) -> Iterator[Any]:
        """A window without cookies, storage or rights; ``heard`` are events and who hears of them."""
        how = {"viewport": SIZE, **how}
        free = self.free.setdefault(json.dumps(how, sort_keys=True), [])
        page = free.pop() if free else self.browser.new_context(**how).new_page()
        for event, hears in heard.items():
            page.on(event, hears)
        yield page
        for event, hears in heard.items():
            page.remove_listener(event, hears)
        if _cleaned(page, how["viewport"]):
            free.append(page)
        else:
            page.context.close()


def _cleaned(page: Any, size: Mapping[str, int]) -> bool:
    """Leaves what is shown, whose scripts may still be at work, for an answer without any, and forgets all that was kept."""
    context = page.context
    for other in context.pages:
        if other != page:
            other.close()
    if page.is_closed() or not page.url.startswith("http"):
        return False
    context.clear_cookies()
    context.clear_permissions()
    page.set_viewport_size(size)
    page.goto(urljoin(page.url, "/healthz"))
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    return True
