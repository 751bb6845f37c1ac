"""The way to the single sign-on and back."""

from __future__ import annotations

from allauth.socialaccount.providers.openid_connect import views as openid
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from requests import RequestException


@login_not_required
@never_cache
@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sends the browser to the provider by a page of ours: under ``form-action 'self'`` a form may not be redirected elsewhere."""
    try:
        answer: HttpResponse = openid.login(request, provider_id)
    except RequestException:
        return render(request, "socialaccount/away.html", status=503)
    if not 300 <= answer.status_code < 400:
        return answer
    page = render(request, "socialaccount/going_on.html", {"address": answer.headers["Location"]})
    page.headers["Refresh"] = f"0; url={answer.headers['Location']}"
    return page


@login_not_required
@never_cache
@require_safe
def back(request: HttpRequest, provider_id: str) -> HttpResponse:
    answer: HttpResponse = openid.callback(request, provider_id)
    return answer


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def closed(request: HttpRequest) -> HttpResponse:
    """Where a new account would be made by anybody: there is no such way."""
    if request.user.is_authenticated:
        return redirect("kb:me")
    return render(request, "account/signup_closed.html")
