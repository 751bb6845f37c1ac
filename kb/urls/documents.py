"""Writing: create, edit, history, trash."""

from django.urls import path

from kb.urls import converters as converters
from kb.views import documents, guides, history, states

urlpatterns = [
    path("trash/", states.trash, name="trash"),
    path("drafts/", states.unfinished, name="drafts"),
    path("guides/", guides.guides, name="guides"),
    path("<written:kind>/new/", documents.new, name="document_new"),
    path("<written:kind>/preview/", documents.preview, name="preview"),
    path("<written:kind>/draft/", documents.draft_new, name="draft_new"),
    path("<written:kind>/<document:slug>/edit/", documents.edit, name="edit"),
    path("<written:kind>/<document:slug>/draft/", documents.draft, name="draft"),
    path("<written:kind>/<document:slug>/history/", history.history, name="history"),
    path("<written:kind>/<document:slug>/diff/", history.diff, name="diff"),
    path("<written:kind>/<document:slug>/restore/", history.restore, name="restore"),
    path("<written:kind>/<document:slug>/state/", states.state, name="state"),
    path("<written:kind>/<document:slug>/rename/", states.rename, name="rename"),
    path("guides/<str:slug>/", guides.guide, name="guide"),
]
