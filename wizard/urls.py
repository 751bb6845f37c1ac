"""Addresses of the wizard."""

from django.urls import path

from wizard import fit_views, saved_views, views

app_name = "wizard"
urlpatterns = [
    path("", views.start, name="start"),
    path("result/", views.result, name="result"),
    path("questions/", views.questions, name="questions"),
    path("fit/", fit_views.calculator, name="fit"),
    path("fit.json", fit_views.as_data, name="fit_data"),
    path("diagnose", views.shell, name="shell"),
    path("saved/", saved_views.save, name="save"),
    path("saved/<str:view>/", saved_views.show, name="saved"),
    path("saved/<str:view>/<str:key>/", saved_views.own, name="saved_own"),
    path("saved/<str:view>/<str:key>/outcome", saved_views.outcome, name="saved_outcome"),
    path("saved/<str:view>/<str:key>/delete", saved_views.delete, name="saved_delete"),
    path("saved/<str:view>/<str:key>/case", saved_views.to_case, name="saved_case"),
]
