"""The audit log, for admins."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kb import audit as log
from kb.people_forms import AuditForm
from kb.permissions import needs

PER_PAGE = 50


@never_cache
@require_safe
@needs("audit")
def audit(request: HttpRequest) -> HttpResponse:
    """The newest lines first, narrowed by what, who and when."""
    form = AuditForm(request.GET or None)
    asked = form.cleaned_data if form.is_valid() else {}
    page = Paginator(log.find(**asked), PER_PAGE).get_page(request.GET.get("page"))
    narrowed = request.GET.copy()
    narrowed.pop("page", None)
    return render(request, "kb/audit.html", {"form": form, "page": page, "narrowed": narrowed.urlencode()})
