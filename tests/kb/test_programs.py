"""What programs read and write by tokens, and that the description says what the site does."""

from __future__ import annotations

import jsonschema
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve, reverse

from diagnose.knowledge import current
from kb import tokens
from kb.models import Document, Draft, Member, Role
from tests.kb.conftest import created, document, edited

pytestmark = pytest.mark.django_db


def program(role: Role, *scopes: str) -> Client:
    user = User.objects.create_user(role.label)
    Member.objects.create(user=user, role=role)
    return Client(HTTP_AUTHORIZATION=f"Bearer {tokens.make(user, 'nightly', list(scopes), 30)}")


def put(client: Client, slug: str, text: str, **headers: str) -> object:
    return client.put(f"/cases/{slug}.md", text, content_type="text/markdown", **headers)


def status(answer: object) -> int:
    return answer.status_code  # type: ignore[attr-defined]


def test_a_cookie_does_not_write(client: Client) -> None:
    user = User.objects.create_user("ed")
    Member.objects.create(user=user, role=Role.ADMIN)
    client.force_login(user)
    assert status(put(client, "new-one", document())) == 401
    assert not Document.objects.exists()


def test_neither_does_a_token_for_reading_nor_the_token_of_a_reader() -> None:
    assert status(put(program(Role.EDITOR, "read", "match"), "new-one", document())) == 403
    assert status(put(program(Role.READER, "write"), "new-one", document())) == 403
    assert not Document.objects.exists()


def test_the_reason_of_a_change_is_read_in_any_script() -> None:
    """A server hands a header on as one letter for each byte."""
    client = program(Role.EDITOR, "write")
    for slug, sent in (("in-utf-8", "修复显存".encode()), ("in-latin-1", b"caf\xe9")):
        assert status(put(client, slug, document(), HTTP_X_WHY=sent.decode("latin-1"))) == 201
    told = dict(Document.objects.values_list("slug", "revisions__why"))
    assert told == {"in-utf-8": "修复显存", "in-latin-1": "caf\N{REPLACEMENT CHARACTER}"}


def test_the_catalogue_is_not_written() -> None:
    lever = next(iter(current().levers))
    assert program(Role.ADMIN, "write").put(f"/levers/{lever}.md", "x", content_type="text/markdown").status_code == 405


def test_a_draft_of_somebody_else_is_not_there_to_be_edited() -> None:
    created("hidden")
    Document.objects.update(state=Document.DRAFT)
    answer = put(program(Role.EDITOR, "write"), "hidden", document(title="Mine"), HTTP_IF_MATCH='"1"')
    assert status(answer) == 422
    assert Document.objects.get().title == "Eight cards run out"


def test_a_misfit_is_told_with_place_and_cure() -> None:
    answer = put(program(Role.EDITOR, "write"), "new-one", document(lever="no.such.lever"))
    assert status(answer) == 422
    told = answer.json()  # type: ignore[attr-defined]
    assert told["problems"][0]["place"].endswith("fix[0].lever")
    jsonschema.validate(told, {**_schemas(), "$ref": "#/components/schemas/Refusal"})


def test_a_body_that_is_no_utf_8_is_refused() -> None:
    answer = put(program(Role.EDITOR, "write"), "new-one", document(title="显存不足").encode("gbk"))  # type: ignore[arg-type]
    assert status(answer) == 422
    assert "save the file as UTF-8" in answer.content.decode()  # type: ignore[attr-defined]
    assert not Document.objects.exists()


def test_an_edit_that_names_no_revision_is_refused_with_the_present_one() -> None:
    created("here")
    answer = put(program(Role.EDITOR, "write"), "here", document(title="Mine"))
    assert status(answer) == 428
    assert "present one is 1" in answer.json()["error"]  # type: ignore[attr-defined]


def test_an_edit_that_collides_is_kept_as_a_draft() -> None:
    case = created("here")
    client = program(Role.EDITOR, "write")
    edited(case, document(body="Theirs stands here."))
    answer = put(client, "here", document(body="Mine stands here."), HTTP_IF_MATCH='"1"')
    assert status(answer) == 409
    assert "Mine stands here." in Draft.objects.get().text


def test_a_document_is_created_read_and_edited() -> None:
    client = program(Role.EDITOR, "read", "write")
    assert status(put(client, "new-one", document())) == 201
    given = client.get("/cases/new-one.md")
    assert given.content.decode() == document()
    answer = put(
        client, "new-one", document(title="Nine cards"), HTTP_IF_MATCH=given.headers["ETag"], HTTP_X_WHY="counted"
    )
    assert status(answer) == 200
    case = Document.objects.get()
    assert (case.title, case.revision) == ("Nine cards", 2)
    assert (case.revisions.first().why, case.revisions.first().author_name) == ("counted", "editor")


def _schemas() -> dict[str, object]:
    return {"components": Client().get(reverse("kb:openapi")).json()["components"]}


def test_every_described_address_is_one_of_the_site() -> None:
    told = Client().get(reverse("kb:openapi")).json()
    for path, methods in told["paths"].items():
        for operation in methods.values():
            address = path
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    value = parameter["schema"].get("enum", ["x"])[0]
                    address = address.replace(f"{{{parameter['name']}}}", value)
            assert resolve(address)
