"""Comments, watching, notices and files."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
