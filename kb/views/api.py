"""The description of what programs may ask."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from kb import content, openapi
from kb.tokens import for_programs


@require_safe
@for_programs("read", cookies=True)
def description(request: HttpRequest) -> JsonResponse:
    """OpenAPI of this site."""
    return JsonResponse(openapi.description(request.build_absolute_uri("/"), content.version()))
