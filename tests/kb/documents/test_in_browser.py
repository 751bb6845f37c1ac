"""Writing in real Chromium on the real server: two people on one page, and words that would like to run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kb.documents.seats import ACT, case
from tests.live import Site, environment, start_site

pytestmark = pytest.mark.browser
Window = Callable[..., Any]


@pytest.fixture(scope="module")
def site(prepared: Path) -> Iterator[Site]:
    """A site of its own: its documents are hostile."""
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        running = start_site(Path(shutil.copytree(prepared, folder, dirs_exist_ok=True)))
        yield running
        running.stop()


@pytest.fixture(scope="module")
def seats(site: Site) -> dict[str, str]:
    """A session for each member."""
    script = Path(__file__).with_name("seats.py")
    done = subprocess.run(
        [sys.executable, str(script)], env=environment(site.state), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def window(browser: Any, site: Site, seats: dict[str, str]) -> Iterator[Window]:
    """Opens a window for a member. The content policy is switched off: nothing but the escaping stands between words and script."""
    opened: list[Any] = []

    def open_for(name: str, **more: Any) -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True, **more)
        context.add_cookies([{"name": "sessionid", "value": seats[name], "url": site.url}])
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.ran = []
        page.on("dialog", lambda dialog: (page.ran.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: page.ran.append(str(error)))
        opened.append(context)
        return page

    yield open_for
    for context in opened:
        context.close()


def nothing_ran(page: Any) -> bool:
    page.wait_for_timeout(30)
    return page.ran == [] and not page.evaluate("!!window.pwned")


def test_a_conflict_full_of_hostile_words_runs_nothing_and_loses_nothing(site: Site, window: Window) -> None:
    lin, mo = window("lin"), window("mo")
    for page in (lin, mo):
        page.goto(site.url + "/cases/hostile-0/edit/")
    text = mo.input_value("#doc")
    lin.fill("#doc", text.replace("## Symptom\n", f"## Symptom\n\n<b onclick={ACT}>Lin</b>\n"))
    lin.click(".savebar .go")
    lin.wait_for_url("**/cases/hostile-0/")
    mo.fill("#doc", text.replace("## Symptom\n", f"## Symptom\n\n<img src=x onerror={ACT}>Mo\n"))
    mo.click(".savebar .go")
    mo.wait_for_selector("#clash")
    assert nothing_ran(mo)
    assert "Mo" in mo.input_value("#doc")
    assert "Lin" in mo.inner_text(".pick")
    mo.check("input[value=both]")
    mo.click("text=Join and go on")
    mo.wait_for_selector("#clash", state="detached")
    mo.click(".savebar .go")
    mo.wait_for_url("**/cases/hostile-0/")
    assert nothing_ran(mo)
    mo.goto(site.url + "/cases/hostile-0/edit/")
    assert all(
        f"{name}\n" in mo.input_value("#doc") or f"{name}</b>\n" in mo.input_value("#doc") for name in ("Lin", "Mo")
    )


def test_two_people_edit_one_page_and_both_are_told_and_both_are_kept(site: Site, window: Window) -> None:
    lin, mo = window("lin"), window("mo")
    for page in (lin, mo):
        page.goto(site.url + "/cases/shared/edit/")
        page.wait_for_selector("#doc")
    mo.fill("#doc", mo.input_value("#doc").replace("\nParagraph 9.", "\nParagraph nine, by Mo."))
    lin.fill("#doc", lin.input_value("#doc").replace("\nParagraph 2.", "\nParagraph two, by Lin."))
    lin.wait_for_selector("#kept >> text=mo is editing too")
    lin.fill("#why", "two in words")
    lin.press("#why", "Control+Enter")
    lin.wait_for_url("**/cases/shared/")
    mo.click(".savebar .go")
    mo.wait_for_url("**/cases/shared/")
    assert "joined with what was saved meanwhile" in mo.inner_text("#toasts")
    assert "Paragraph two, by Lin." in mo.inner_text("main")
    assert "Paragraph nine, by Mo." in mo.inner_text("main")


def test_what_was_typed_and_not_saved_is_there_on_return(site: Site, window: Window) -> None:
    page = window("ana")
    page.goto(site.url + "/cases/shared/edit/")
    page.fill("#doc", page.input_value("#doc").replace("\nParagraph 5.", "\nParagraph five, half wri"))
    page.wait_for_selector("#kept >> text=draft kept")
    page.goto(site.url + "/cases/")
    page.goto(site.url + "/cases/shared/edit/")
    assert "half wri" in page.input_value("#doc")
    assert "Not saved yet" in page.inner_text("main")
    page.click("text=Throw them away")
    page.wait_for_selector("text=Not saved yet", state="detached")
    assert "half wri" not in page.input_value("#doc")


def test_a_field_changes_the_text_and_the_text_changes_the_field(site: Site, window: Window) -> None:
    page = window("ana")
    page.goto(site.url + "/cases/shared/edit/")
    page.click("label[for=pane-form]")
    page.select_option("[name='f.facts.phase']", "rollout")
    page.wait_for_function("document.getElementById('doc').value.includes('phase = \"rollout\"')")
    page.click("label[for=pane-doc]")
    page.fill("#doc", page.input_value("#doc").replace('phase = "rollout"', 'phase = "init"'))
    page.wait_for_function("document.getElementsByName('f.facts.phase')[0].value === 'init'")
    assert 'phase = "init"' in page.input_value("#doc")
    page.fill("#doc", page.input_value("#doc").replace('phase = "init"', 'phase = "nowhere"'))
    page.wait_for_selector("#findings >> text=facts.phase")
    page.click("[data-line]")
    assert 'phase = "nowhere"' in page.evaluate(
        "document.getElementById('doc').value.split('\\n')[Number(document.querySelector('[data-line]').dataset.line) - 1]"
    )
    page.click("#editor .linkish >> nth=0", timeout=1_000, trial=True)


def test_without_scripts_a_case_is_previewed_mended_and_saved(site: Site, window: Window) -> None:
    page = window("ana", java_script_enabled=False)
    page.goto(site.url + "/cases/new/")
    page.fill("#doc", case("plain").replace("gpu_oom", "gpu_omm").replace('"plain"', '"plain words"', 1))
    page.click("text=Show the preview")
    assert "gpu_omm" in page.inner_text("#findings")
    page.click("text=Publish")
    assert "gpu_omm" in page.inner_text("#findings")
    page.fill("#doc", page.input_value("#doc").replace("gpu_omm", "gpu_oom"))
    page.fill("#slug", "by-hand")
    page.fill("#why", "first words")
    page.click("text=Publish")
    page.wait_for_url("**/cases/by-hand/")
    page.click("text=Edit")
    page.click("label[for=pane-form]")
    page.fill("[name='f.facts.n_gpus']", "8")
    page.click(".savebar .go")
    page.wait_for_url("**/cases/by-hand/")
    page.goto(site.url + "/cases/by-hand/diff/")
    assert "facts.n_gpus" in page.inner_text("main")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_of_writing_scrolls_sideways(site: Site, window: Window, width: int) -> None:
    page = window("ida")
    page.set_viewport_size({"width": width, "height": 800})
    for path in ("edit/", "history/", "diff/", ""):
        page.goto(site.url + "/cases/hostile-1/" + path)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, path
