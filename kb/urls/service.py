"""What machines ask for, and the estimates of all cases."""

from django.urls import path

from kb.views import api, estimates, health

urlpatterns = [
    path("estimates/", estimates.page, name="estimates"),
    path("estimates.json", estimates.as_data, name="estimates_data"),
    path("estimates/progress", estimates.progress, name="progress"),
    path("estimates/refresh", estimates.refresh, name="refresh"),
    path("estimates/stop", estimates.stop, name="refresh_stop"),
    path("openapi.json", api.description, name="openapi"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.figures, name="metrics"),
]
