"""A site with a team at work on it, windows of its members, and what every page must hold in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.live import ROOT, Site, environment, start_site

GRAVE = ("serious", "critical")
MARKUP = re.compile(r"</(?:a|div|dl|h\d|li|p|section|span|svg|table|td|ul)>")


MET: set[tuple[Way, str]] = set()


@dataclass(frozen=True)
class Way:
    """How somebody comes: with scripts or without, on a phone or at a desk, by day or at night."""

    scripts: bool
    width: int
    scheme: str

    @property
    def by_axe(self) -> bool:
        """axe is a script of the page; both widths and both schemes are seen by two ways."""
        return self.scripts

    def __str__(self) -> str:
        return f"{'scripts' if self.scripts else 'no scripts'}, {self.width}, {self.scheme}"


# Each of scripts, width and scheme meets each of the others: what breaks, breaks by one of them or by two together.
WAYS = [Way(True, 390, "dark"), Way(True, 1280, "light"), Way(False, 390, "light"), Way(False, 1280, "dark")]


@dataclass
class Seat:
    """One person's window. ``look`` holds the page to what every page must hold to."""

    page: Any
    url: str
    way: Way
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._hear)

    def _hear(self, line: Any) -> None:
        """Errors of the console, but for a form that comes back on purpose: the browser calls its status an error."""
        if line.type == "error" and not re.search(r"status of (401|403|409|422)", line.text):
            self.wrong.append(line.text)

    def go(self, path: str) -> Any:
        answer = self.page.goto(self.url + path)
        assert answer.status == 200, f"{path}: {answer.status}"
        self.look()
        return self.page

    def look(self) -> None:
        """No sideways scroll, nothing on the console, no tag read as words, nothing that keeps somebody out."""
        self.page.wait_for_load_state()
        where = self.page.url.removeprefix(self.url)
        wider = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{where} is {wider} px wider than the window"
        assert self.wrong == [], where
        told = self.page.locator("body").inner_text()
        assert not MARKUP.search(told), f"{where} shows its own markup as words: {MARKUP.search(told)}"
        if self.way.by_axe and self._is_new():
            found = Axe().run(self.page, options={"resultTypes": ["violations"]}).response["violations"]
            grave = [
                f"{where}: {one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary'][:300]}"
                for one in found
                if one["impact"] in GRAVE
            ]
            assert grave == []

    def _is_new(self) -> bool:
        """Whether axe has not met this very page, but for its tokens, in this way yet."""
        page = self.way, re.sub(r'value="\w{64}"', "", self.page.content())
        is_new = page not in MET
        MET.add(page)
        return is_new


@pytest.fixture(scope="session")
def team_site(prepared: Path) -> Iterator[tuple[Site, dict[str, str]]]:
    """A site of its own with a team, and a session for each of its members."""
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        shutil.copytree(prepared, folder, dirs_exist_ok=True)
        script, env = Path(__file__).with_name("scene.py"), environment(Path(folder), PYTHONPATH=str(ROOT))
        done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        site = start_site(Path(folder))
        yield site, dict(json.loads(done.stdout.splitlines()[-1]))
        site.stop()


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def seat(browser: Any, team_site: tuple[Site, dict[str, str]], way: Way) -> Iterator[Callable[..., Seat]]:
    """Opens a window for a member, or for a visitor."""
    site, sessions = team_site
    opened: list[Any] = []

    def sit(name: str = "") -> Seat:
        size = {"width": way.width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=way.scheme, java_script_enabled=way.scripts)
        if name:
            context.add_cookies([{"name": "sessionid", "value": sessions[name], "url": site.url}])
        opened.append(context)
        return Seat(context.new_page(), site.url, way)

    yield sit
    for context in opened:
        context.close()
