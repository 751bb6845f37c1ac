"""The corpus through every surface, in real Chromium on the real site.

The content policy is switched off: nothing but the escaping stands between words and script. One pass leaves it on, and then no
page may even try.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from tests.kb.hostile.corpus import ACT, CANARY, WORDS, case
from tests.live import ROOT, Site, environment, start_site

pytestmark = pytest.mark.browser

# What no words may ever become: markup of their own, or an address that runs.
TRACES = """() => {
  if (document.contentType !== 'text/html') return [];  // what Chromium builds to show a text or data
  const bad = [];
  const foreign = /^(SCRIPT|IFRAME|OBJECT|EMBED|BASE|STYLE|TEMPLATE|MATH|FOREIGNOBJECT)$/i;
  const kept = /^(https?:|mailto:)/, loads = /^(src|action|formaction)$/, leads = /^(href|src|action|formaction|xlink:href|poster)$/;
  for (const node of document.querySelectorAll('*')) {
    if (foreign.test(node.tagName) && !node.closest('head')) bad.push(node.tagName);
    for (const {name, value} of node.attributes) {
      if (/^on|^canary|^(data-)?hx-on|^style$|^ping$|^srcdoc$/.test(name)) bad.push(`${node.tagName} ${name}`);
      if (/^(data-)?hx-/.test(name) && node.closest('.prose')) bad.push(`${name} in prose`);
      if (!leads.test(name)) continue;
      const at = new URL(value, location.href);
      if (!kept.test(at.href) || (loads.test(name) && at.origin !== location.origin)) bad.push(value);
    }
  }
  return bad.slice(0, 5);
}"""


@dataclass
class Watched:
    """A window that counts whatever runs, asks or complains."""

    page: Any
    url: str
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.page
        page.set_default_timeout(60_000)
        page.expose_function("ran", lambda what: self.heard.append(f"ran {what}"))
        page.on("dialog", lambda dialog: (self.heard.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.heard.append(str(error)))
        page.on("console", lambda line: self.heard.append(line.text) if "Content Security" in line.text else None)
        page.on(
            "request", lambda asked: self.heard.append(asked.url) if urlsplit(asked.url).hostname == CANARY else None
        )

    def visit(self, path: str, status: tuple[int, ...] = (200,)) -> list[str]:
        """What was wrong with one page."""
        answer = self.page.goto(self.url + path)
        wrong = [] if answer.status in status else [f"status {answer.status}"]
        return [f"{path}: {what}" for what in (*wrong, *self.now())]

    def now(self) -> list[str]:
        found = [*self.page.evaluate(TRACES), *self.heard]
        self.heard.clear()
        return found


@dataclass
class Planted:
    site: Site
    session: str
    slugs: list[str]
    saved: list[str]


@pytest.fixture(scope="module")
def planted(prepared: Path) -> Iterator[Planted]:
    """A site of its own, hostile throughout."""
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        shutil.copytree(prepared, folder, dirs_exist_ok=True)
        script, env = Path(__file__).with_name("plant.py"), environment(Path(folder), PYTHONPATH=str(ROOT))
        done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        site = start_site(Path(folder))
        yield Planted(site, **json.loads(done.stdout.splitlines()[-1]))
        site.stop()


@pytest.fixture(params=[True, False], ids=["without the policy", "with the policy"])
def policy_off(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def watched(browser: Any, planted: Planted, policy_off: bool = True) -> Watched:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=policy_off)
    context.add_cookies([{"name": "sessionid", "value": planted.session, "url": planted.site.url}])
    return Watched(context.new_page(), planted.site.url)


@pytest.fixture
def window(browser: Any, planted: Planted) -> Iterator[Watched]:
    opened = watched(browser, planted)
    yield opened
    opened.page.context.close()


def test_the_watch_itself_hears_what_runs(window: Watched) -> None:
    window.visit("/sign-in/")
    window.page.set_content(f'<img src=x onerror="{ACT}" canary=1><iframe></iframe><a href="javascript:1">x</a>')
    window.page.wait_for_timeout(100)
    assert "ran 1" in window.heard
    assert len(window.now()) >= 5


def test_nothing_runs_on_a_page_of_a_case(planted: Planted, window: Watched) -> None:
    assert [wrong for slug in planted.slugs for wrong in window.visit(f"/cases/{slug}/")] == []


def test_nothing_runs_where_a_text_is_written_or_compared(planted: Planted, window: Watched) -> None:
    parts = ("edit/", "diff/?from=1&to=2&whole")
    paths = [f"/cases/{slug}/{parts[number % 2]}" for number, slug in enumerate(planted.slugs)]
    assert [wrong for path in paths for wrong in window.visit(path)] == []


def test_nothing_runs_in_any_list_or_around_any_page(browser: Any, planted: Planted, policy_off: bool) -> None:
    window = watched(browser, planted, policy_off)
    paths = [
        "/", "/cases/", "/cases/?page=2", "/cases/?model_size=x&q=script", "/guides/", "/guides/hostile/", "/levers/batch.micro.down/",
        "/changes/", "/changes/?page=2", "/notices/", "/members/", "/members/invitations/", "/audit/", "/exchange/", "/me/", "/me/tokens/",
        "/drafts/", "/trash/", "/estimates/", "/cases/hostile-0/", "/cases/hostile-1/history/", "/cases/hostile-13/history/",
        "/cases/hostile-0/comments/1/", "/notes/levers/batch.micro.down/edit/", "/search/?q=script", "/search/suggest?q=script",
        "/changes.atom", "/cases.atom", "/cases.json", "/cases/hostile-13.json", "/cases/hostile-13.md", "/estimates.json",
        *planted.saved,
    ]  # fmt: skip
    assert [wrong for path in paths for wrong in window.visit(path)] == []
    window.page.context.close()


def test_nothing_runs_of_what_stands_in_an_address(window: Watched) -> None:
    wrong = []
    for number, words in enumerate(WORDS):
        short = words[:280].replace("\n", " ")
        if number % 2:
            wrong += window.visit(f"/search/?{urlencode({'q': short})}")
        else:
            wrong += window.visit(f"/cases/{quote(short, safe='')}/", (404,))
    for words in WORDS[::9]:
        asked = {"q": words, "gpu": words, "kind": words, "framework": words}
        wrong += window.visit(f"/cases/?{urlencode(asked)}", (200, 404))
        wrong += window.visit(
            f"/result/?{urlencode({'model': words, 'gpu_model': words, 'n_gpus': words})}", (200, 400)
        )
        wrong += window.visit(f"/questions/?{urlencode({'model': words, 'asked': words, 'skip': words})}", (200, 400))
        wrong += window.visit(f"/sign-in/?{urlencode({'next': words})}", (200, 404))
        wrong += window.visit(f"/cases/new/?{urlencode({'slug': words})}", (200, 404))
    assert wrong == []


def test_nothing_runs_of_a_pasted_log(planted: Planted, window: Watched) -> None:
    wrong = []
    for at in range(0, len(WORDS), 25):
        window.visit("/")
        window.page.fill("#paste", "torch.OutOfMemoryError: CUDA out of memory.\n" + "\n".join(WORDS[at : at + 25]))
        window.page.click(".paste .btn.go")
        window.page.wait_for_selector(".verdict")
        wrong += window.now()
    assert wrong == []


def test_nothing_runs_while_it_is_typed_into_the_editor_or_the_search(planted: Planted, window: Watched) -> None:
    wrong = window.visit("/cases/new/")
    for words in WORDS[::6]:
        with window.page.expect_response(lambda answer: "/preview/" in answer.url):
            window.page.fill("#doc", case(words))
        window.page.wait_for_timeout(50)
        wrong += window.now()
    with window.page.expect_response(lambda answer: "/suggest" in answer.url):
        window.page.fill("#q", "script")
    window.page.wait_for_selector(".suggested a")
    assert wrong + window.now() == []


def test_a_planted_file_is_sent_as_a_download_or_refused_and_never_shown(planted: Planted, window: Watched) -> None:
    window.visit("/cases/hostile-0/")
    links = window.page.eval_on_selector_all(".files a", "links => links.map(link => link.href)")
    assert len(links) >= 10
    for link in links:
        answer = window.page.request.get(link)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
