"""Writing: create, edit, history, trash."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
