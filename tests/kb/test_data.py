"""Pages as data: JSON with typed fields, and the Markdown byte for byte."""

from __future__ import annotations

import jsonschema
import pytest
from django.test import Client
from django.urls import reverse

from diagnose.knowledge import CONTENT, Knowledge
from kb import states
from kb.models import Document
from kb.urls.converters import CATALOGUE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]


@pytest.mark.parametrize("ending", ["json", "md"])
@pytest.mark.parametrize("state", [Document.DRAFT, Document.TRASH])
def test_what_a_visitor_may_not_see_is_not_given(client: Client, state: str, ending: str) -> None:
    case = Document.objects.cases()[0]
    Document.objects.filter(pk=case.pk).update(state=state)
    assert client.get(f"/cases/{case.slug}.{ending}").status_code == 404


@pytest.mark.parametrize("kind", CATALOGUE)
def test_each_record_of_the_catalogue_is_given_whole(client: Client, kind: str) -> None:
    listed = client.get(reverse("kb:data_list", args=[kind])).json()
    assert listed["total"] == len(listed["items"]) > 0
    for item in listed["items"][:5]:
        found = client.get(item["url"]).json()
        assert (found["type"], found["slug"], found["title"]) == (kind, item["slug"], item["title"])
        assert found["sources"]


def test_a_case_is_given_with_its_facts_fixes_and_claims(client: Client) -> None:
    case = Document.objects.cases().exclude(framework="")[0]
    found = client.get(reverse("kb:data", args=["cases", case.slug])).json()
    assert found["facts"] == case.facts
    assert {"schema_version", "revision", "updated", "state", "claims", "body"} <= found.keys()
    assert "fixes" in found or not case.suggested + case.worked + case.failed


def test_a_page_as_markdown_is_its_file_byte_for_byte(client: Client, knowledge: Knowledge) -> None:
    case = Document.objects.cases()[0]
    answer = client.get(reverse("kb:text", args=["cases", case.slug]))
    assert answer.content == (CONTENT / "cases" / f"{case.slug}.md").read_bytes()
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    lever = sorted(knowledge.levers)[0]
    assert client.get(f"/levers/{lever}.md").content == (CONTENT / "levers" / f"{lever}.md").read_bytes()


@pytest.mark.parametrize(
    "address", ["/cases/nothing.json", "/levers/nothing.md", "/frameworks/..json", "/nothing.json"]
)
def test_what_is_not_there_is_a_404(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    form = {"json": "application/json", "md": "text/plain; charset=utf-8"}[address.rpartition(".")[2]]
    assert answer.headers["Content-Type"] == form


def test_a_facet_of_the_list_leads_to_its_narrower_list(client: Client) -> None:
    whole = client.get(reverse("kb:data_list", args=["cases"])).json()
    choice = next(choice for choice in whole["facets"]["Kind"])
    narrow = client.get(choice["toggle_url"]).json()
    assert narrow["total"] == choice["count"] < whole["total"]
    on = next(one for one in narrow["facets"]["Kind"] if one["on"])
    assert client.get(on["toggle_url"]).json()["total"] == whole["total"]


def test_a_part_of_a_framework_is_named_and_given_as_it_is_written(client: Client, knowledge: Knowledge) -> None:
    framework = next(one for one in knowledge.frameworks.values() if one.parts)
    told = client.get(reverse("kb:data", args=["frameworks", framework.slug])).json()
    assert [part["title"] for part in told["parts"]] == [part.title for part in framework.parts[1:]]
    for given, part in zip(told["parts"], framework.parts[1:], strict=True):
        assert client.get(given["url"]).content == (CONTENT / "frameworks" / f"{part.slug}.md").read_bytes()
        assert set(given["sources"]) <= set(told["sources"])
    assert client.get(reverse("kb:part", args=[framework.slug, "nothing"])).status_code == 404


@pytest.mark.parametrize("ending", ["json", "md"])
def test_an_old_address_leads_to_the_new_one(client: Client, knowledge: Knowledge, ending: str) -> None:
    case = Document.objects.cases()[0]
    old = case.slug
    states.rename(case, "another-name", None, knowledge)
    answer = client.get(f"/cases/{old}.{ending}")
    assert (answer.status_code, answer.headers["Location"]) == (301, f"/cases/another-name.{ending}")


@pytest.mark.parametrize(
    "kind", ["cases", "guides", "levers", "advisories", "errors", "frameworks", "gpus", "models", "datasets", "logs"]
)
def test_answers_are_as_they_are_described(client: Client, kind: str) -> None:
    schemas = {"components": client.get(reverse("kb:openapi")).json()["components"]}
    listed = client.get(f"/{kind}.json").json()
    jsonschema.validate(listed, {**schemas, "$ref": "#/components/schemas/List"})
    for item in listed["items"][:5]:
        jsonschema.validate(client.get(item["url"]).json(), {**schemas, "$ref": "#/components/schemas/Page"})
