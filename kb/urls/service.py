"""What machines ask for."""

from django.urls import path

from kb.views import health

urlpatterns = [path("healthz", health.healthz, name="healthz")]
