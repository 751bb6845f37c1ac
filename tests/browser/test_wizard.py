"""The wizard in a real browser against the real site."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from wizard.home import EXAMPLE

pytestmark = pytest.mark.browser
WIDTHS = (390, 1280)


def diagnose(page, live_site, paste=""):
    page.goto(live_site.url)
    page.fill("#paste", paste or EXAMPLE.read_text())
    page.click(".paste .btn.go")
    page.wait_for_selector(".verdict")
    page.wait_for_load_state("domcontentloaded")  # the keys are heard from then on


def wider_than_the_window(page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_paste_gives_an_answer_with_a_chart_and_a_patch(page, live_site):
    diagnose(page, live_site)
    assert page.inner_text("h1") == "GPU memory runs out in the actor update"
    assert page.is_visible("svg.wide")
    assert not page.is_visible("svg.slim")
    assert page.locator("#rx1").count() == 1


def test_the_paste_box_has_the_focus_and_ctrl_enter_sends_it(page, live_site):
    page.goto(live_site.url)
    page.keyboard.insert_text(EXAMPLE.read_text())
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".verdict")


def test_a_fact_is_corrected_in_place_and_the_answer_redrawn(page, live_site):
    diagnose(page, live_site)
    before = page.inner_text(".figures")
    page.click("#fact-rollout_n summary")
    page.fill('[name="rollout_n"][form="again"]', "1")
    page.click("#fact-rollout_n button")
    page.wait_for_selector("#fact-rollout_n .chip.you")
    assert page.inner_text(".figures") != before
    assert parse_qs(urlsplit(page.url).query)["rollout_n"] == ["1"]
    assert page.evaluate("document.activeElement.tagName") == "H1"
    assert page.evaluate("scrollY") == 0


def test_who_answers_sees_the_answer_and_who_passes_over_the_next_question(page, live_site):
    diagnose(page, live_site, "verl grpo Qwen2.5-7B on 8 x H100 80GB: CUDA out of memory. Tried to allocate 2.00 GiB.")
    first = page.inner_text("#askh")
    page.click("#ask [name=skip]")
    page.wait_for_selector("#askh:focus")
    assert page.inner_text("#askh") != first
    assert 0 <= page.evaluate("document.querySelector('#askh').getBoundingClientRect().top") < 300
    page.click("#ask .opt >> nth=0")
    page.click("#ask .go")
    page.wait_for_selector("h1:focus")
    assert page.evaluate("scrollY") == 0


def test_enter_in_a_field_sets_that_field_and_no_other(page, live_site):
    diagnose(page, live_site)
    page.click("#fact-n_gpus summary" if page.locator("#fact-n_gpus").count() else "#fact-gpus_per_node summary")
    page.keyboard.press("Tab")
    page.keyboard.insert_text("8")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip.you")
    assert page.locator(".chip.you").count() == 1


def test_a_wrong_value_keeps_the_words_and_says_the_cure(page, live_site):
    diagnose(page, live_site)
    page.click("#fact-rollout_n summary")
    page.fill('[name="rollout_n"][form="again"]', "many")
    page.click("#fact-rollout_n button")
    page.wait_for_selector("#err-rollout_n")
    assert page.is_visible("#err-rollout_n")
    assert page.input_value('[name="rollout_n"][form="again"]') == "many"


def test_another_phase_of_the_ledger_is_chosen_without_asking_the_server(page, live_site):
    diagnose(page, live_site)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.locator(".phases label").first.click()
    assert page.locator(".ledgers > .scroll").first.is_visible()
    assert page.locator(".ledgers > .scroll:visible").count() == 1
    static = "/static/"  # the page's icon: the browser fetches it when it likes
    assert [path for path in asked if not path.startswith(static)] == []


def test_nothing_of_the_paste_stays_in_the_storage_of_the_site(page, live_site):
    diagnose(page, live_site)
    correct(page, "16")
    kept = page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    assert "kk/instruct" not in kept
    assert "dp_actor" not in kept


def correct(page, number: str) -> None:
    page.click("#fact-rollout_n summary")
    page.fill('[name="rollout_n"][form="again"]', number)
    page.click("#fact-rollout_n button")
    page.wait_for_selector(f"#fact-rollout_n:has(.chip.you):has-text('{number}')")


def pasted_lines(page) -> str:
    return page.input_value('#again [name="reduced"]')


def answered(page, number: str) -> None:
    """The whole answer to the paste, with this number of samples, is on the page."""
    page.wait_for_selector(f"#fact-rollout_n summary:has-text('{number}')")
    page.wait_for_selector('#again [name="reduced"]', state="attached")
    assert "Tried to allocate" in pasted_lines(page)


def test_the_address_of_a_corrected_answer_holds_facts_alone(page, live_site):
    diagnose(page, live_site)
    correct(page, "16")
    beside = page.context.new_page()
    beside.goto(page.url)
    beside.wait_for_selector(".verdict")
    assert "From the facts in the link alone" in beside.inner_text(".verdict")


def test_going_back_from_a_link_of_the_answer_gives_the_answer_and_then_the_paste(page, live_site):
    diagnose(page, live_site)
    page.locator("main a[href^='/cases/']").first.click()
    page.wait_for_url("**/cases/**")
    page.go_back()
    assert page.inner_text("h1") == "GPU memory runs out in the actor update"
    answered(page, "32")
    page.go_back()
    assert page.input_value("#paste") == EXAMPLE.read_text()
    page.go_forward()
    answered(page, "32")


def test_a_cookie_that_changed_meanwhile_does_not_hide_the_answer(page, live_site):
    diagnose(page, live_site)
    page.goto(live_site.url + "/gpus/")
    page.context.add_cookies([{"name": "sessionid", "value": "another", "url": live_site.url}])
    page.go_back()
    answered(page, "32")


def test_going_back_over_corrections_gives_each_answer_with_its_paste(page, live_site):
    diagnose(page, live_site)
    correct(page, "16")
    correct(page, "4")
    page.goto(live_site.url + "/gpus/")
    page.go_back()
    answered(page, "4")
    assert page.locator(".chip.you").count() == 1
    page.go_back()
    answered(page, "16")
    page.go_back()
    answered(page, "32")
    assert page.locator(".chip.you").count() == 0
    page.go_back()
    assert page.input_value("#paste") == EXAMPLE.read_text()
    page.go_forward()
    answered(page, "32")


def test_going_back_to_a_line_of_the_answer_gives_the_answer(page, live_site):
    diagnose(page, live_site)
    page.locator("a.chip[href^='#L']").first.click()
    page.goto(live_site.url + "/gpus/")
    page.go_back()
    answered(page, "32")


def test_going_back_to_a_line_that_was_typed_into_the_address_gives_the_answer_and_so_does_what_was_before_it(
    page, live_site
):
    diagnose(page, live_site)
    page.goto(page.url + "#L4")
    page.wait_for_function("history.state?.sent")
    page.goto(live_site.url + "/gpus/")
    page.go_back()
    assert "#L4" in page.url
    answered(page, "32")
    assert page.locator("#L4").count() == 1
    page.go_back()
    assert "#L4" not in page.url
    answered(page, "32")
    page.go_back()
    assert page.input_value("#paste") == EXAMPLE.read_text()


def test_who_jumps_and_leaves_before_the_page_hears_of_the_jump_finds_the_answer_again(page, live_site):
    diagnose(page, live_site)
    busy = "const end = performance.now() + 2000; while (performance.now() < end);"
    page.evaluate(f"""setTimeout(() => {{ document.querySelector("a.chip[href^='#L']").click(); {busy} }})""")
    page.goto(live_site.url + "/gpus/")
    page.go_back()
    assert "#L" in page.url
    answered(page, "32")


def test_print_leaves_out_what_is_pressed_and_opens_what_is_folded(page, live_site):
    diagnose(page, live_site)
    shown = """() => Object.fromEntries([".top .nav", ".tools", ".ask", ".foot", ".patch .acts", ".share", ".phases", ".rx .patch .code",
      "details:not([open]) .code", "#facts"].map((one) => [one, !!document.querySelector(one)?.checkVisibility()]))"""
    on_screen = page.evaluate(shown)
    page.emulate_media(media="print", color_scheme="dark")
    on_paper = page.evaluate(shown)
    assert [one for one in on_paper if on_paper[one]] == [".rx .patch .code", "details:not([open]) .code", "#facts"]
    assert {one for one in on_screen if not on_screen[one]} == {"details:not([open]) .code"}
    assert page.locator("body").evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".rail .facts").evaluate("(one) => getComputedStyle(one).columnCount") == "2"
    number, row = page.locator(".rx .patch td.n:not(:empty)").first, page.locator(".rx .patch tr").nth(1)
    assert number.inner_text() == "11"
    assert row.evaluate("(one) => one.offsetHeight") < 30  # its number stands in one line
    wide = "(one) => one.getBoundingClientRect().left"
    assert page.locator("#facts").evaluate(wide) == page.locator(".verdict").evaluate(wide)  # one column


def test_buttons_are_dashed_while_an_answer_is_made_anew_and_a_site_that_does_not_answer_is_told_of(page, live_site):
    diagnose(page, live_site)
    border = "() => getComputedStyle(document.querySelector('#ask .btn')).borderTopStyle"
    held = []
    page.route("**/result/", lambda route: held.append(route))
    page.click("#ask [name=skip]")
    page.wait_for_selector("#again.htmx-request", state="attached")
    assert page.evaluate(border) == "dashed"
    held.pop().abort()
    page.wait_for_selector("#ask [name=skip] + [role=alert] >> text=The site did not answer")
    assert page.locator(".toast").count() == 0
    assert page.evaluate(border) == "solid"
    page.click("#ask [name=skip]")
    page.wait_for_selector("#again.htmx-request", state="attached")
    held.pop().continue_()
    page.wait_for_selector("#askh:focus")
    assert page.locator("[role=alert] >> text=The site did not answer").count() == 0
    assert page.evaluate(border) == "solid"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/questions/",
        "/questions/?oom_kind=gpu_oom&framework=search-r1&ask=micro_batch",
        "/result/?framework=trl&model=Qwen2.5-7B&n_gpus=8&gpu_model=H100&gpu_mem_gib=80",
    ],
)
def test_no_page_scrolls_sideways(page, live_site, width, path):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(live_site.url + path)
    assert wider_than_the_window(page) <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_an_answer_does_not_scroll_sideways(page, live_site, width):
    page.set_viewport_size({"width": width, "height": 800})
    diagnose(page, live_site)
    assert wider_than_the_window(page) <= 0
    assert page.is_visible("svg.slim" if width < 680 else "svg.wide")


def test_a_dropped_file_is_named_with_its_size(page, live_site):
    page.goto(live_site.url)
    page.set_input_files("#files", {"name": "train.log", "mimeType": "text/plain", "buffer": b"x" * 2_300_000})
    assert page.inner_text("[data-picked]") == "train.log, 2.3 MB"


def test_the_list_of_keys_opens_by_its_key_and_not_while_one_types(page, live_site):
    page.goto(live_site.url)
    page.press("textarea", "?")
    assert page.is_hidden("#shortcuts")
    page.locator("h1").click()
    page.keyboard.press("?")
    assert page.is_visible("#shortcuts")
    page.keyboard.press("Escape")
    assert page.is_hidden("#shortcuts")


def test_the_list_of_keys_opens_on_a_page_that_has_keys_of_its_own(page, live_site):
    page.goto(f"{live_site.url}/levers/batch.micro.down/")
    page.keyboard.press("?")
    assert page.is_visible("#shortcuts")


def test_the_patch_is_copied_as_it_stands(page, live_site):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    diagnose(page, live_site)
    page.keyboard.press("c")
    page.wait_for_selector(".toast")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "\n-" in copied
    assert "\n+" in copied


def test_a_diagnosis_is_saved_once_however_often_the_button_is_pressed(page, live_site):
    diagnose(page, live_site)
    sent = held(page, "**/saved/")
    page.click("text=Save for 90 days")
    page.click("text=Save for 90 days")
    sent[0].continue_()
    page.wait_for_url("**/saved/*/*/")
    assert len(sent) == 1


def test_a_form_is_sent_once_while_its_answer_is_on_its_way_and_says_so(page, live_site):
    page.goto(live_site.url)
    page.fill("#paste", "CUDA out of memory")
    sent = held(page, "**/result/")
    pressed = """async () => {
        const button = document.querySelector(".paste .btn.go"), wait = () => new Promise((go) => setTimeout(go, 300));
        button.click();
        await wait();
        button.click();
        await wait();
        return getComputedStyle(button).cursor;
    }"""
    assert page.evaluate(pressed) == "progress"
    sent[0].continue_()
    page.wait_for_selector(".verdict")
    assert len(sent) == 1
    page.go_back()
    page.wait_for_selector("form:not([aria-busy]) .btn.go")


def held(page, pattern):
    """What is sent there and does not go on yet."""
    sent = []
    page.route(pattern, lambda route: sent.append(route) if route.request.method == "POST" else route.continue_())
    return sent


def test_files_that_are_still_picked_after_going_back_are_named(page, live_site, tmp_path):
    log = tmp_path / "night.log"
    log.write_text("CUDA out of memory")
    page.goto(live_site.url)
    page.set_input_files(".paste input[type=file]", str(log))
    page.click(".paste .btn.go")
    page.wait_for_selector(".verdict")
    page.go_back()
    page.wait_for_selector("[data-picked]:text('night.log')")
    assert page.evaluate("document.querySelector('.paste input[type=file]').files.length") == 1


def test_what_was_measured_stands_in_the_width_of_a_phone(page, live_site):
    page.set_viewport_size({"width": 390, "height": 844})
    diagnose(page, live_site)
    table = "document.querySelector('.seen-t').parentElement"
    assert page.evaluate(f"{table}.scrollWidth - {table}.clientWidth") == 0


def test_a_question_of_an_answer_is_passed_over_for_the_next_one(page, live_site):
    page.goto(live_site.url)
    page.fill("#paste", "显存不够，7B GRPO 4 卡 4090 ms-swift")
    page.click(".paste .btn.go")
    page.wait_for_selector("#ask")
    asked = []
    for _ in range(3):
        asked.append(page.inner_text("#ask h2"))
        with page.expect_response(lambda response: "/result/" in response.url):
            page.click("#ask button[name=skip]")
        page.wait_for_function("asked => document.querySelector('#ask h2')?.textContent !== asked", arg=asked[-1])
    assert len(set(asked)) == 3


@pytest.mark.parametrize("width", WIDTHS)
def test_a_question_is_answered_by_keyboard_and_changed_from_the_rail(page, live_site, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(live_site.url + "/questions/?oom_kind=gpu_oom&framework=verl")
    page.focus('select[name="phase"]')
    page.select_option('select[name="phase"]', "optimizer_step")
    page.focus("text=Continue")
    page.keyboard.press("Enter")
    page.wait_for_url("**phase=optimizer_step**")
    assert wider_than_the_window(page) <= 0
    page.click(".rail a:has-text('optimizer step')")
    assert page.is_checked('input[value="optimizer_step"]')
    page.check('input[value="actor_update"]')
    page.click("text=Continue")
    page.click("text=See the answer so far")
    assert page.inner_text("h1") == "GPU memory runs out in the actor update"


@pytest.fixture
def plain_page(browser):
    """A window in which no script runs."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def test_without_scripts_a_paste_is_answered_and_corrected(plain_page, live_site):
    diagnose(plain_page, live_site)
    plain_page.click("#fact-rollout_n summary")
    plain_page.fill('[name="rollout_n"][form="again"]', "1")
    plain_page.click("#fact-rollout_n button")
    plain_page.wait_for_selector("#fact-rollout_n .chip.you")


def test_without_scripts_the_questions_lead_to_an_answer(plain_page, live_site):
    plain_page.goto(live_site.url + "/questions/")
    plain_page.check('input[value="gpu_oom"]')
    plain_page.click("text=Continue")
    assert "oom_kind=gpu_oom" in plain_page.url
    plain_page.click("text=See the answer so far")
    plain_page.wait_for_selector(".verdict")


def test_without_scripts_the_whole_diagnosis_can_be_copied(plain_page, live_site):
    diagnose(plain_page, live_site)
    assert plain_page.input_value("#markdown").startswith("## GPU memory runs out")
    assert not any(button.is_visible() for button in plain_page.locator("[data-copy]").all())


def test_without_scripts_going_back_gives_the_answer_and_then_the_paste(plain_page, live_site):
    diagnose(plain_page, live_site)
    plain_page.goto(live_site.url + "/gpus/")
    plain_page.go_back()
    answered(plain_page, "32")
    plain_page.go_back()
    assert plain_page.input_value("#paste") == EXAMPLE.read_text()


LARGE = ("x" * 999 + "\n") * 23_000


def set_paste(page, text: str) -> None:
    page.evaluate("text => { document.querySelector('#paste').value = text; }", text)


def pasted_length(page) -> int:
    return page.evaluate("document.querySelector('#paste').value.length")


def test_a_paste_that_is_too_large_is_told_beside_the_box_and_stays_in_it(page, live_site):
    page.goto(live_site.url)
    set_paste(page, LARGE)
    page.click(".paste .btn.go")
    assert page.inner_text("#paste-error").startswith("23.0 MB pasted; the box takes 16 MB.")
    assert pasted_length(page) == len(LARGE)
    assert page.url == live_site.url + "/"
    set_paste(page, LARGE[-8_000:])
    page.click(".paste .btn.go")
    page.wait_for_selector(".verdict")


def test_files_that_are_too_large_are_told_beside_the_box(page, live_site, tmp_path):
    log = tmp_path / "train.log"
    with log.open("wb") as file:
        file.truncate(101_000_000)
    page.goto(live_site.url)
    page.fill("#paste", "Killed")
    page.set_input_files("#files", log)
    page.click(".paste .btn.go")
    assert page.inner_text("#paste-error").startswith("101.0 MB in files; 100 MB are taken.")
    assert page.input_value("#paste") == "Killed"


def test_without_scripts_going_back_from_a_refusal_gives_the_whole_paste(plain_page, live_site):
    plain_page.goto(live_site.url)
    set_paste(plain_page, LARGE)
    plain_page.click(".paste .btn.go")
    plain_page.wait_for_selector("text=the box takes 16 MB")
    assert plain_page.input_value("#paste").endswith("x" * 999)
    plain_page.go_back()
    assert pasted_length(plain_page) == len(LARGE)
