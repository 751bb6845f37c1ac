"""Search and suggestions, and every page as data."""

from django.urls import path

from kb.urls import converters as converters
from kb.views import data, search

urlpatterns = [
    path("search/", search.search, name="search"),
    path("search/suggest", search.suggestions, name="suggestions"),
    path("<page:kind>.json", data.listing, name="data_list"),
    path("<page:kind>/<str:slug>.json", data.page, name="data"),
    path("<page:kind>/<str:slug>.md", data.text, name="text"),
    path("frameworks/<str:slug>/<str:part>.md", data.part, name="part"),
]
