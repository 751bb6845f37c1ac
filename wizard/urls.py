"""Addresses of the wizard."""

from django.urls import path

from wizard import views

app_name = "wizard"
urlpatterns = [
    path("", views.start, name="start"),
    path("result/", views.result, name="result"),
    path("questions/", views.questions, name="questions"),
    path("diagnose", views.shell, name="shell"),
]
