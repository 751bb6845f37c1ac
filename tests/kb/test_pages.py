"""The pages of the knowledge base, on the content that ships."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from django.utils.text import slugify
from pytest_django import DjangoAssertNumQueries

from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose
from diagnose.vocabulary.measured import COUNTERS
from kb import case_list
from kb.models import Document
from kb.notes import PAGES
from kb.templatetags.keys import as_time, breakable
from tests.kb.conftest import created, document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]

LISTS = ("cases", "levers", "advisories", "errors", "frameworks", "gpus", "models", "datasets", "logs")
KINDS = {"errors": "signatures"}  # where a list is not named by its records


@pytest.mark.any_database
@pytest.mark.parametrize("name", [*LISTS, "healthz"])
def test_it_rejects_post(client: Client, name: str) -> None:
    assert client.post(reverse(f"kb:{name}")).status_code == 405


@pytest.mark.parametrize("name", ["case", "lever", "advisory", "error", "framework", "gpu", "model", "dataset", "log"])
def test_it_answers_404_for_what_is_not_there(client: Client, name: str) -> None:
    assert client.get(reverse(f"kb:{name}", args=["nothing.like-this"])).status_code == 404


def test_an_unpublished_case_is_nowhere(client: Client) -> None:
    case = Document.objects.all()[0]
    Document.objects.filter(pk=case.pk).update(state=Document.TRASH)
    assert client.get(reverse("kb:case", args=[case.slug])).status_code == 404
    assert case.title not in client.get(reverse("kb:cases")).content.decode()
    told = client.get(reverse("kb:data_list", args=["cases"])).json()
    assert case.slug not in [item["slug"] for item in told["items"]]
    assert sum(choice["count"] for choice in told["facets"]["Kind"]) == Document.objects.cases().count() - 1


@pytest.mark.parametrize("name", LISTS)
def test_each_list_names_its_records(client: Client, knowledge: Knowledge, name: str) -> None:
    kind = KINDS.get(name, name)
    records = getattr(knowledge, kind).values()
    turns = -(-len(records) // case_list.PAGE) if name == "cases" else 1
    pages = [client.get(reverse(f"kb:{name}"), {"page": turn + 1}) for turn in range(turns)]
    listed = "".join(page.content.decode() for page in pages)
    for record in records:
        assert reverse(f"kb:{PAGES.get(kind, 'case')}", args=[record.slug]) in listed


def test_every_kind_of_page_has_its_list() -> None:
    assert {KINDS.get(name, name) for name in LISTS} == {*PAGES, "cases"}


@pytest.mark.parametrize("name", LISTS)
def test_every_page_opens_a_link_within_it_leads_somewhere_and_no_place_is_named_twice(
    client: Client, knowledge: Knowledge, name: str
) -> None:
    kind = KINDS.get(name, name)
    pages = [reverse(f"kb:{PAGES.get(kind, 'case')}", args=[slug]) for slug in getattr(knowledge, kind)]
    for address in (reverse(f"kb:{name}"), *pages):
        answer = client.get(address)
        page = answer.content.decode()
        assert answer.status_code == 200, address
        places = re.findall(r'\bid="([^"]+)"', page)
        assert sorted(set(places)) == sorted(places), address
        assert set(re.findall(r'href="#([^"]+)"', page)) <= set(places), address


def test_a_long_list_and_a_long_page_begin_with_what_is_on_them(client: Client) -> None:
    for address, place in (("/models/", "qwen2"), ("/frameworks/verl/", "keys"), ("/frameworks/verl/", "memory")):
        assert f'<a href="#{place}">' in client.get(address).content.decode(), address
    assert '<li><a href="#when">Advised when</a></li>' in client.get("/levers/batch.micro.down/").content.decode()


def test_no_two_sections_of_a_case_have_one_heading(client: Client, knowledge: Knowledge) -> None:
    for slug in knowledge.cases:
        page = client.get(reverse("kb:case", args=[slug])).content.decode()
        headings = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
        assert sorted(set(headings)) == sorted(headings), slug


def test_the_cases_of_a_card_are_listed_newest_first(client: Client) -> None:
    dates = [case.date for case in client.get("/gpus/h100/").context["cases"]]
    told = [date for date in dates if date]
    assert told == sorted(told, reverse=True)
    assert dates == told + [None] * (len(dates) - len(told))
    assert len(told) > 3


def test_a_condition_names_a_framework_by_its_title(client: Client) -> None:
    page = client.get("/advisories/accelerate-keeps-dataloaders/").content.decode()
    assert "<li>Framework: TRL or ms-swift</li>" in page


def test_capacities_are_told_to_one_precision(client: Client) -> None:
    page = client.get("/gpus/h100/").content.decode()
    assert '<td class="r">79.10</td>' in page
    assert '<td class="r">94.99</td>' in page


@pytest.mark.parametrize(
    ("address", "query"), [("/gpus/h100/", "gpu_model=H100"), ("/models/qwen2.5-7b/", "model=Qwen2.5-7B")]
)
def test_a_card_and_a_model_lead_to_the_calculator(client: Client, address: str, query: str) -> None:
    assert f'href="/fit/?{query}"' in client.get(address).content.decode()
    assert client.get(f"/fit/?{query}").status_code == 200


def test_every_case_shows_its_claims_with_verdicts_and_its_fixes(client: Client, knowledge: Knowledge) -> None:
    for case in knowledge.cases.values():
        page = client.get(reverse("kb:case", args=[case.slug]))
        words = page.context["claims"]
        assert page.status_code == 200
        assert [judged.claim for judged in words] == list(case.claims)
        assert [trial.fix for trial in page.context["trials"]] == list(case.fixes)
        assert all(trial.marks[0].words.startswith("1 ") for trial in page.context["trials"])
        assert "Estimate against report" in page.content.decode()


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.04, "0.0\u00a0s"), (119, "119\u00a0s"), (120, "2\u00a0min"), (32116, "9\u00a0h")]
)
def test_a_time_is_told_in_the_unit_that_fits(seconds: float, words: str) -> None:
    assert as_time(seconds) == words


def test_a_log_page_says_what_each_figure_is_and_shows_a_line_of_it(client: Client, knowledge: Knowledge) -> None:
    log = next(log for log in knowledge.logs.values() if any(measure.counter for measure in log.measures))
    page = client.get(reverse("kb:log", args=[log.slug])).content.decode()
    counter = next(measure.counter for measure in log.measures if measure.counter)
    assert escape(COUNTERS[counter]) in page
    assert escape(log.examples[0].text.strip().splitlines()[0]) in page
    assert log.title in client.get(reverse("kb:logs")).content.decode()


def test_a_lever_page_counts_the_cases_that_tell_of_it(client: Client, knowledge: Knowledge) -> None:
    slug, case = next((fix.lever, case) for case in knowledge.cases.values() for fix in case.fixes)
    page = client.get(reverse("kb:lever", args=[slug])).content.decode()
    assert reverse("kb:case", args=[case.slug]) in page


def test_a_lever_page_names_the_key_of_each_framework(client: Client, knowledge: Knowledge) -> None:
    lever = next(lever for lever in knowledge.levers.values() if lever.changes)
    fact = lever.changes[0].fact
    page = client.get(reverse("kb:lever", args=[lever.slug])).content.decode()
    for framework in knowledge.frameworks.values():
        keys = [key.key for key in framework.keys if key.fact == fact and not key.dead and not key.hidden]
        assert all(f"<code>{breakable(key)}</code>" in page for key in keys)


def test_a_message_that_is_no_memory_failure_says_so(client: Client, knowledge: Knowledge) -> None:
    told = [record for record in knowledge.signatures.values() if record.not_memory]
    assert {record.apart for record in told} == {True, False}
    for record in told:
        page = client.get(reverse("kb:error", args=[record.slug])).content.decode()
        assert ("NO MEMORY FAILURE" in page) is not record.apart
        assert ("MEMORY OF A PROCESS BESIDE THE TRAINING" in page) is record.apart
        assert escape(record.not_memory) in page
        assert "cases of this kind" not in page


def test_a_framework_page_shows_its_forks_and_what_a_key_without_a_fact_changes(
    client: Client, knowledge: Knowledge
) -> None:
    framework = next(one for one in knowledge.frameworks.values() if one.forks and not one.fallback)
    page = client.get(reverse("kb:framework", args=[framework.slug])).content.decode()
    assert all(escape(fork.title) in page and escape(fork.says) in page for fork in framework.forks)
    assert all(escape(key.note) in page for key in framework.keys)


def test_a_framework_in_several_files_shows_text_keys_sources_and_day_of_each(
    client: Client, knowledge: Knowledge
) -> None:
    framework = next(one for one in knowledge.frameworks.values() if any(part.keys for part in one.parts[1:]))
    answer = client.get(reverse("kb:framework", args=[framework.slug]))
    page = answer.content.decode()
    for part in framework.parts[1:]:
        assert f'<a href="#{slugify(part.title)}">{part.title}</a>: {part.reviewed:%-d %B %Y}' in page
        assert f'id="{slugify(part.title)}"><h2>{part.title}</h2>' in page
        assert all(escape(source) in page for source in part.sources)
        assert (part.title in {group.title for group in answer.context["keys"]}) == bool(part.keys)
    telling = {key.key for key in framework.keys if key.fact or key.dead or key.note or any(key.values.values())}
    assert {key for group in answer.context["keys"] for key, _ in group.keys} == telling


def test_a_key_of_a_framework_is_found_by_a_part_of_it_or_by_what_it_means(client: Client) -> None:
    address = reverse("kb:framework", args=["trl"])
    for sought, found in (("num_gen", {"num_generations"}), ("samples per PROMPT", {"num_generations", "rloo_k"})):
        answer = client.get(address, {"key": sought})
        assert {key for group in answer.context["keys"] for key, _ in group.keys} == found
        assert '<details class="fold key-group" open>' in answer.content.decode()
    assert "no key that is read" in client.get(address, {"key": "<zzz>"}).content.decode()
    assert "<zzz>" not in client.get(address, {"key": "<zzz>"}).content.decode()


def test_a_facet_narrows_the_list_and_counts_what_is_left(client: Client) -> None:
    case = Document.objects.exclude(framework="")[0]
    page = client.get(reverse("kb:cases"), {"framework": case.framework})
    assert {row.case.framework for row in page.context["rows"]} == {case.framework}
    kinds = next(facet for facet in page.context["facets"] if facet.title == "Kind")
    of_it = Document.objects.cases().published().filter(framework=case.framework).count()
    assert sum(choice.count for choice in kinds.choices) == of_it < Document.objects.cases().published().count()


def test_a_narrowing_that_leaves_nothing_says_what_to_drop(client: Client) -> None:
    page = client.get(reverse("kb:cases"), {"framework": "<b>", "kind": "host_ram"}).content.decode()
    assert "No case has all of this at once" in page
    assert "Drop framework" in page
    assert "Drop kind" not in page  # the framework alone leaves nothing either
    assert "<b>:" not in page
    left = Document.objects.cases().published().filter(oom_kind="host_ram").count()
    assert f'&lt;b&gt;</a> <span class="num">{left}</span> cases' in page


def test_words_that_no_case_has_lead_to_the_search_of_all_pages(client: Client) -> None:
    page = client.get(reverse("kb:cases"), {"q": "zzq qqz"}).content.decode()
    assert "No case has this" in page
    assert f'href="{reverse("kb:search")}?q=zzq%20qqz"' in page


def test_cases_that_do_not_tell_their_phase_can_be_chosen(client: Client, knowledge: Knowledge) -> None:
    created("untold", document())
    page = client.get(reverse("kb:cases"), {"phase": "none"})
    assert "untold" in {row.case.slug for row in page.context["rows"]}
    assert {row.case.phase for row in page.context["rows"]} == {""}


@pytest.mark.parametrize("page", ["0", "999", "x"])
def test_a_page_number_out_of_range_is_no_error(client: Client, page: str) -> None:
    assert client.get(reverse("kb:cases"), {"page": page}).status_code == 200


def test_an_advisory_says_which_models_have_it(client: Client, knowledge: Knowledge) -> None:
    advisory = next(one for one in knowledge.advisories.values() if one.families)
    page = client.get(reverse("kb:advisory", args=[advisory.slug])).content.decode()
    assert f"a model of {advisory.families[0]}" in page


def test_an_advisory_says_which_versions_what_to_do_and_who_tried_it(client: Client, knowledge: Knowledge) -> None:
    name, case = next((fix.advisory, case) for case in knowledge.cases.values() for fix in case.fixes if fix.advisory)
    advisory = knowledge.advisories[name]
    page = client.get(reverse("kb:advisory", args=[name])).content.decode()
    for words in (advisory.package, advisory.target.version, case.title, reverse("kb:lever", args=[advisory.lever])):
        assert escape(words) in page
    assert reverse("kb:advisory", args=[name]) in client.get(reverse("kb:case", args=[case.slug])).content.decode()
    assert (
        reverse("kb:advisory", args=[name]) in client.get(reverse("kb:lever", args=[advisory.lever])).content.decode()
    )


@pytest.mark.parametrize("name", ["kb:cases", "kb:levers", "kb:frameworks"])
def test_the_queries_do_not_grow_with_the_base(
    client: Client, knowledge: Knowledge, django_assert_max_num_queries: DjangoAssertNumQueries, name: str
) -> None:
    for number in range(30):
        created(f"more-{number}", document())
    client.get(reverse(name))  # reads the texts once
    with django_assert_max_num_queries(7):
        client.get(reverse(name))


def test_a_hostile_case_renders_no_script(client: Client, knowledge: Knowledge) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>"
    created("hostile", document(title="</title><script>alert(2)</script>", body=hostile))
    for address in (reverse("kb:case", args=["hostile"]), reverse("kb:cases")):
        page = client.get(address).content.decode()
        assert "<script>alert" not in page
        assert "onerror=" not in page
        assert 'href="javascript' not in page


def remedies_on(page: str) -> list[str]:
    """The levers under “What to change”, in their order."""
    part = page.partition('id="change"')[2].partition("</section>")[0]
    return re.findall(r'href="/levers/([^/"]+)/"', part)


def test_an_error_page_advises_what_a_diagnosis_of_the_message_does(client: Client, knowledge: Knowledge) -> None:
    said = {"oom_kind": "host_shm"}
    record = next(
        one for one in knowledge.signatures.values() if one.kind == "host_shm" and not one.phase and not one.gives
    )
    advised = [item.lever.slug for item in diagnose("", said, knowledge, ()).prescriptions]
    page = client.get(reverse("kb:error", args=[record.slug])).content.decode()
    assert advised
    assert remedies_on(page) == list(dict.fromkeys(advised))[:5]
    assert client.get(f"{reverse('wizard:result')}?oom_kind=host_shm").status_code == 200


def test_an_error_of_memory_is_no_dead_end_and_one_of_none_advises_nothing(
    client: Client, knowledge: Knowledge
) -> None:
    for record in knowledge.signatures.values():
        page = client.get(reverse("kb:error", args=[record.slug])).content.decode()
        tells = (record.kind != "other" or record.phase) and "NO FAILURE" not in page and not record.not_memory
        assert bool(remedies_on(page)) == bool(tells), record.slug


def test_the_faults_of_versions_are_linked_from_their_framework_and_their_message(
    client: Client, knowledge: Knowledge
) -> None:
    for advisory in knowledge.advisories.values():
        pages = [reverse("kb:error", args=[slug]) for slug in advisory.signatures]
        pages += [reverse("kb:framework", args=[advisory.package])] if advisory.package in knowledge.frameworks else []
        for address in pages:
            page = client.get(address).content.decode()
            assert reverse("kb:advisory", args=[advisory.slug]) in page, (address, advisory.slug)


def test_a_levers_page_tells_its_bounds_and_what_it_sets_where_nothing_is_set(client: Client) -> None:
    page = client.get("/levers/image.pixels.down/").content.decode()
    assert "Pixels of an image × 0.5, at least 50,176, or 602,112 where nothing sets it" in page


def test_a_remedy_says_in_which_phase_a_roles_own_setting_is_meant(client: Client) -> None:
    page = client.get("/levers/batch.logprob_micro.down/").content.decode()
    assert "Values micro batch × 0.5, at least 1, where the values pass fails" in page
