"""Addresses of the knowledge base, a file for each part of it."""

from kb.urls import around, catalogue, documents, people, search, service

app_name = "kb"
urlpatterns = [
    *search.urlpatterns,
    *people.urlpatterns,
    *documents.urlpatterns,
    *around.urlpatterns,
    *catalogue.urlpatterns,
    *service.urlpatterns,
]
