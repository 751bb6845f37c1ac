"""What programs may ask of this site, as OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0)."""

from __future__ import annotations

from typing import Any

from diagnose.vocabulary import FACTS
from kb.case_list import FIELDS
from kb.data import SCHEMA
from kb.tokens import SCOPES
from kb.urls.converters import CATALOGUE

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_PAGES = ["cases", "guides", *CATALOGUE]


def description(site: str, version: str) -> dict[str, Any]:
    """The whole description for the site at ``site``."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headroom", "version": version, "description": _about()},
        "servers": [{"url": site.rstrip("/")}],
        "security": [{}, {"token": []}],
        "paths": {
            "/diagnose": {"post": _diagnose()},
            "/fit.json": {"get": _fit()},
            "/{kind}.json": {"get": _listing()},
            "/{kind}/{slug}.json": {"get": _page()},
            "/{kind}/{slug}.md": {"get": _text(), "put": _put()},
            "/frameworks/{slug}/{part}.md": {"get": _part()},
            "/estimates.json": {"get": _read("How far the stored estimates agree with the reports.", _object())},
            "/changes.atom": {"get": _atom()},
        },
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Made under /me/tokens/."}
            },
            "schemas": {
                "Fit": _fit_schema(),
                "Page": _page_schema(),
                "List": _list_schema(),
                "Refusal": _refusal_schema(),
            },
        },
    }


def _about() -> str:
    scopes = "; ".join(f"{scope}: {words}" for scope, words in SCOPES.items())
    return (
        "Fields may be added at any time; one that changes its meaning or goes away raises schema_version. Absent means unknown. "
        f"Sizes are GiB. Scopes of a token: {scopes}."
    )


def _diagnose() -> dict[str, Any]:
    log = {
        "text/plain": {"schema": _TEXT},
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    }
    return {
        "summary": "Diagnose a log; nothing is stored. Scope: match.",
        "requestBody": {"required": True, "content": log},
        "parameters": [{"name": "format", "in": "query", "schema": {"enum": ["json"]}}],
        "responses": {
            "200": {
                "description": "The diagnosis; its fields are those of docs/batch-interface.md.",
                "content": {"application/json": {"schema": _object()}, "text/plain": {"schema": _TEXT}},
            },
            "413": {"description": "Too long."},
        },
    }


def _fit() -> dict[str, Any]:
    """Every setting is a parameter: the facts of the vocabulary that are neither of a failure nor of a log."""
    named = [fact for fact in FACTS.values() if fact.group not in ("failure", "measured")]
    refusal = {"application/json": {"schema": _ref("Refusal")}}
    return {
        "summary": "What a run would take, the largest of each setting that fits, cards against lengths. Scope: match.",
        "parameters": [{"name": one.id, "in": "query", "description": one.title, "schema": _TEXT} for one in named],
        "responses": {
            "200": {"description": "The estimate.", "content": {"application/json": {"schema": _ref("Fit")}}},
            "422": {"description": "A setting does not fit.", "content": refusal},
        },
    }


def _listing() -> dict[str, Any]:
    filters = [{"name": name, "in": "query", "schema": _TEXT} for name in ("q", "page", *FIELDS)]
    kind = {"name": "kind", "in": "path", "required": True, "schema": {"enum": _PAGES}}
    return {**_read("The pages of one kind; the filters are for cases.", _ref("List")), "parameters": [kind, *filters]}


def _page() -> dict[str, Any]:
    return {**_read("One page with its typed fields.", _ref("Page")), "parameters": _address(_PAGES)}


def _text() -> dict[str, Any]:
    found = {"description": "As it is written.", "content": {"text/markdown": {"schema": _TEXT}}}
    return {
        "summary": "One page as front matter and Markdown; its ETag is the revision. Scope: read.",
        "parameters": _address(_PAGES),
        "responses": {"200": found, "404": {"description": "Not there, or not for you."}},
    }


def _part() -> dict[str, Any]:
    names = [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in ("slug", "part")]
    return {
        **_text(),
        "summary": "A further file of a framework that stands in several. Scope: read.",
        "parameters": names,
    }


def _put() -> dict[str, Any]:
    refusal = {"application/json": {"schema": _ref("Refusal")}}
    statuses = {
        "403": "The role may not.",
        "409": "Others changed the same lines.",
        "422": "It does not fit.",
        "428": "An edit must name its revision.",
    }
    kept = {"description": "Kept.", "content": {"application/json": {"schema": _object(slug=_TEXT, revision=_NUMBER)}}}
    headers = [{"name": name, "in": "header", "schema": _TEXT} for name in ("If-Match", "X-Why")]
    return {
        "summary": "Write a case or a guide. Scope: write.",
        "security": [{"token": []}],
        "parameters": [*_address(["cases", "guides"]), *headers],
        "requestBody": {"required": True, "content": {"text/markdown": {"schema": _TEXT}}},
        "responses": {
            "200": kept,
            "201": kept,
            **{status: {"description": words, "content": refusal} for status, words in statuses.items()},
        },
    }


def _atom() -> dict[str, Any]:
    found = {"description": "An Atom feed.", "content": {"application/atom+xml": {"schema": _TEXT}}}
    return {"summary": "What changed lately. Scope: read.", "responses": {"200": found}}


def _read(summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    found = {"description": "Found.", "content": {"application/json": {"schema": schema}}}
    return {
        "summary": f"{summary} Scope: read.",
        "responses": {"200": found, "404": {"description": "Not there, or not for you."}},
    }


def _address(kinds: list[str]) -> list[dict[str, Any]]:
    kind = {"name": "kind", "in": "path", "required": True, "schema": {"enum": kinds}}
    return [kind, {"name": "slug", "in": "path", "required": True, "schema": _TEXT}]


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", **({"properties": properties, "required": list(properties)} if properties else {})}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _fit_schema() -> dict[str, Any]:
    verdict = {"enum": ["fits", "close", "out", "unknown"]}
    row = _object(setting=_TEXT, now={"type": ["number", "null"]}, best={"type": ["number", "null"]})
    row["properties"] |= {"unlimited": {"type": "boolean"}, "wanted": {"enum": ["largest", "fewest"]}}
    row["properties"]["stopped_by"] = {"type": ["object", "null"]}
    cell = _object(cards=_NUMBER, length=_NUMBER, peak_gib={"type": "number"}, peak_phase=_TEXT, verdict=verdict)
    return _object(
        schema_version={"const": SCHEMA},
        facts=_object(),
        estimate=_object(),
        verdict=verdict,
        together={"type": ["object", "null"]},
        largest={"type": "array", "items": row},
        table=_object(cards=_TEXT, length=_TEXT, cells={"type": "array", "items": cell}),
    )


def _page_schema() -> dict[str, Any]:
    return _object(
        schema_version={"const": SCHEMA},
        type={"enum": [*_PAGES, "notes"]},
        slug=_TEXT,
        url=_TEXT,
        title=_TEXT,
        body=_TEXT,
    )


def _list_schema() -> dict[str, Any]:
    item = _object(title=_TEXT, type={"enum": _PAGES}, slug=_TEXT, url=_TEXT)
    return _object(
        schema_version={"const": SCHEMA}, type={"enum": _PAGES}, total=_NUMBER, items={"type": "array", "items": item}
    )


def _refusal_schema() -> dict[str, Any]:
    problem = _object(place=_TEXT, says=_TEXT)
    return _object(error=_TEXT, problems={"type": "array", "items": problem})
