"""Every address of the site."""

from django.urls import include, path

urlpatterns = [
    path("", include("wizard.urls")),
    path("", include("kb.urls.accounts")),
    path("", include("kb.urls")),
]
handler404 = "config.failures.not_found"
handler500 = "config.failures.failed"
