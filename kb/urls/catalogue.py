"""Pages of the catalogue and the list of cases."""

from django.urls import path

from kb.views import cases, catalogue

urlpatterns = [
    path("cases/", cases.cases, name="cases"),
    path("cases/<str:slug>/", cases.case, name="case"),
    path("levers/", catalogue.levers, name="levers"),
    path("levers/<str:slug>/", catalogue.lever, name="lever"),
    path("advisories/", catalogue.advisories, name="advisories"),
    path("advisories/<str:slug>/", catalogue.advisory, name="advisory"),
    path("errors/", catalogue.errors, name="errors"),
    path("errors/<str:slug>/", catalogue.error, name="error"),
    path("frameworks/", catalogue.frameworks, name="frameworks"),
    path("frameworks/<str:slug>/", catalogue.framework, name="framework"),
    path("gpus/", catalogue.gpus, name="gpus"),
    path("gpus/<str:slug>/", catalogue.gpu, name="gpu"),
    path("models/", catalogue.models, name="models"),
    path("models/<str:slug>/", catalogue.model, name="model"),
    path("datasets/", catalogue.datasets, name="datasets"),
    path("datasets/<str:slug>/", catalogue.dataset, name="dataset"),
    path("logs/", catalogue.logs, name="logs"),
    path("logs/<str:slug>/", catalogue.log, name="log"),
]
