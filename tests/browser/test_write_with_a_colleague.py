"""Two browsers on one page: what both wrote is joined, what cannot be joined is shown, and whoever watches is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Seat

pytestmark = pytest.mark.browser
EDIT = "/cases/shared/edit/"


def replace(seat: Seat, before: str, after: str) -> None:
    text = seat.page.input_value("#doc")
    assert before in text
    seat.page.fill("#doc", text.replace(before, after, 1))


def save(seat: Seat) -> None:
    seat.page.click(".savebar .go")
    seat.page.wait_for_load_state()


def paragraph(seat: Seat, number: int) -> str:
    """The line as it stands now: other ways of coming have changed it before."""
    lines = [line for line in seat.page.input_value("#doc").split("\n") if line.startswith(f"Paragraph {number} ")]
    return lines[0]


def test_two_people_write_one_page_and_nothing_is_lost(seat: Callable[..., Seat]) -> None:
    lin, mo, rea = seat("lin"), seat("mo"), seat("rea")
    rea.go("/cases/shared/")
    if rea.page.get_by_role("button", name="Watch this page").count():
        rea.page.get_by_role("button", name="Watch this page").click()
    rea.page.get_by_role("button", name="Stop watching").wait_for()
    for one in (lin, mo):
        one.go(EDIT)
    mark = str(lin.way)
    replace(lin, paragraph(lin, 2), f"Paragraph 2 by Lin, {mark}.")
    replace(mo, paragraph(mo, 9), f"Paragraph 9 by Mo, {mark}.")
    for one in (lin, mo):
        save(one)
        one.page.wait_for_url("**/cases/shared/")
    for words in (f"Paragraph 2 by Lin, {mark}.", f"Paragraph 9 by Mo, {mark}."):
        assert words in mo.page.inner_text("main")

    for one in (lin, mo):
        one.go(EDIT)
    replace(lin, paragraph(lin, 5), f"Paragraph 5 by Lin, {mark}.")
    replace(mo, paragraph(mo, 5), f"Paragraph 5 by Mo, {mark}.")
    save(lin)
    lin.page.wait_for_url("**/cases/shared/")
    save(mo)
    mo.page.wait_for_selector("#clash")
    mo.look()
    assert f"Paragraph 5 by Lin, {mark}." in mo.page.inner_text(".pick")
    mo.page.check("input[value=both]")
    mo.page.click("text=Join and go on")
    mo.page.wait_for_selector("#clash", state="detached")
    save(mo)
    mo.page.wait_for_url("**/cases/shared/")
    for name in ("Lin", "Mo"):
        assert f"Paragraph 5 by {name}, {mark}." in mo.page.inner_text("main")

    mo.page.set_input_files("#attach", {"name": "a.png", "mimeType": "image/png", "buffer": b"x"})
    mo.look()
    mo.page.fill("#remark", f"Joined both, {mark}.")
    mo.page.get_by_role("button", name="Comment", exact=True).click()
    mo.page.get_by_text(f"Joined both, {mark}.").wait_for()
    mo.look()
    mo.go("/cases/shared/history/")
    mo.go("/cases/shared/diff/")
    rea.go("/notices/")
    assert "mo commented" in rea.page.inner_text(".found")
    assert "lin saved revision" in rea.page.inner_text(".found")
    rea.page.get_by_role("button", name="Mark all as read").click()
    rea.page.wait_for_load_state()
    assert rea.page.get_by_text("new", exact=True).count() == 0


def test_ones_own_two_windows_undo_nothing_of_each_other(seat: Callable[..., Seat]) -> None:
    one, two = seat("lin"), seat("lin")
    for window in (one, two):
        window.go(EDIT)
    mark = str(one.way)
    line = paragraph(one, 3)
    replace(one, line, f"Paragraph 3 of one, {mark}.")
    replace(one, paragraph(one, 11), f"{paragraph(one, 11)}\n\nWhat one added, {mark}.")
    save(one)
    one.page.wait_for_url("**/cases/shared/")
    replace(two, line, f"Paragraph 3 of two, {mark}.")
    save(two)
    two.page.wait_for_selector("#clash")
    two.look()
    assert "You saved revision" in two.page.inner_text("#clash")
    two.page.click("text=Join and go on")
    two.page.wait_for_selector("#clash", state="detached")
    save(two)
    two.page.wait_for_url("**/cases/shared/")
    assert f"Paragraph 3 of two, {mark}." in two.page.inner_text("main")
    assert f"What one added, {mark}." in two.page.inner_text("main")
