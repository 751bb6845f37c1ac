"""The addresses of the django-wiki, as its documentation sets them up."""

from django.urls import include, path

urlpatterns = [path("notifications/", include("django_nyt.urls")), path("", include("wiki.urls"))]
