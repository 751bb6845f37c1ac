"""Every page carries the policies, and no template needs what they forbid."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings as site
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, path

from config import urls
from config.security import CONTENT_SECURITY_POLICY, PERMISSIONS_POLICY, OriginCheck, Packed
from tests.live import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def addresses(patterns: list[Any], prefix: str = "/") -> Iterator[str]:
    """Every address of the site that needs no argument."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and "<" not in route:
            yield route


def pages() -> list[str]:
    return [*addresses(get_resolver().url_patterns), "/no/such/page"]


POLICIES = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS_POLICY,
}


def policies_of(response: HttpResponseBase) -> dict[str, str]:
    return {name: response.headers[name] for name in POLICIES}


@pytest.mark.django_db
@pytest.mark.parametrize("address", pages())
def test_every_page_carries_the_policies(client: Client, address: str) -> None:
    response = client.get(address)
    assert policies_of(response) == POLICIES
    assert response.headers["X-Frame-Options"] == "DENY"


@pytest.mark.django_db
def test_a_page_that_refuses_carries_them_too_and_says_what_to_do(client: Client) -> None:
    stranger = Client(enforce_csrf_checks=True)
    refused = {
        "ALLOWED_HOSTS": client.get("/", headers={"Host": "elsewhere.example"}),
        "too many fields": client.get("/result/?" + "a&" * 1001),
        "press Diagnose once more": stranger.post("/result/", {"paste": "x"}),
        "/no/such/page": client.get("/no/such/page"),
        "tail -400": client.generic("POST", "/result/", b"x", CONTENT_LENGTH=str(10**9)),
    }
    assert [response.status_code for response in refused.values()] == [400, 400, 403, 404, 413]
    for words, response in refused.items():
        assert policies_of(response) == POLICIES, words
        assert words in response.content.decode()


def test_an_error_of_ours_carries_them_too_and_shows_nothing_of_it(settings: Any) -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        raise RuntimeError("innards")

    settings.ROOT_URLCONF = ModuleType("addresses")
    settings.ROOT_URLCONF.urlpatterns = [path("", fail)]
    settings.ROOT_URLCONF.handler500 = urls.handler500
    response = Client(raise_request_exception=False).get("/")
    assert response.status_code == 500
    assert policies_of(response) == POLICIES
    assert "The error is ours" in response.content.decode()
    assert "innards" not in response.content.decode()


def test_the_policy_allows_nothing_by_default_and_nothing_inline() -> None:
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'")
    for word in ("unsafe", "data:", "http", "*"):
        assert word not in CONTENT_SECURITY_POLICY


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_template_has_inline_script_or_style_or_unescaped_output(path: Any) -> None:
    text = path.read_text()
    assert not re.search(r"<style\b", text, re.I)
    assert not re.search(r"\sstyle\s*=", text, re.I)
    assert not re.search(r"\son[a-z]+\s*=", text, re.I)
    assert not re.search(r"javascript:", text, re.I)
    assert not re.search(r"\|\s*safe\b|autoescape off", text)
    for tag in re.findall(r"<script\b[^>]*>", text, re.I):
        assert "src=" in tag


def test_a_form_of_the_site_itself_is_taken_without_a_referrer() -> None:
    """A page under no-referrer posts with ``Origin: null``; the token and Sec-Fetch-Site tell it from a stranger's."""
    assert _post(HTTP_ORIGIN="null", HTTP_SEC_FETCH_SITE="same-origin") == 200
    assert _post(HTTP_ORIGIN="null") == 200  # plain HTTP to another machine: browsers leave Sec-Fetch-Site out


@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_ORIGIN": "null", "HTTP_SEC_FETCH_SITE": "cross-site"},
        {"HTTP_ORIGIN": "null", "HTTP_SEC_FETCH_SITE": "same-site"},
        {"HTTP_ORIGIN": "https://evil.example", "HTTP_SEC_FETCH_SITE": "cross-site"},
        {"HTTP_ORIGIN": "null", "HTTPS": "on"},
    ],
)
def test_a_strangers_form_is_refused_even_with_the_token(headers: dict[str, str]) -> None:
    assert _post(**headers) == 403


def test_a_form_without_the_token_is_refused() -> None:
    assert _post(token="", HTTP_ORIGIN="null", HTTP_SEC_FETCH_SITE="same-origin") == 403


def _post(token: str = "a" * 32, **headers: str) -> int:
    """403 when the check refuses a form, else 200."""
    secure = headers.pop("HTTPS", "") == "on"
    request = RequestFactory(**headers).post("/", {"csrfmiddlewaretoken": token}, secure=secure)
    request.COOKIES[site.CSRF_COOKIE_NAME] = "a" * 32
    check = OriginCheck(lambda request: HttpResponse())
    check.process_request(request)
    answer = check.process_view(request, lambda request: HttpResponse(), (), {})
    return answer.status_code if answer else 200


@pytest.mark.django_db
def test_pages_and_data_are_compressed_for_those_who_take_it(client: Client) -> None:
    takes = {"Accept-Encoding": "gzip"}
    page = client.get("/", headers=takes)
    assert page.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(page.content).startswith(b"<!doctype html>")
    assert client.get("/openapi.json", headers=takes).headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/").headers


def test_a_file_is_not() -> None:
    packed = Packed(lambda request: HttpResponse(b"x" * 5000, content_type="application/octet-stream"))
    answer = packed(RequestFactory().get("/", headers={"Accept-Encoding": "gzip"}))
    assert "Content-Encoding" not in answer.headers
