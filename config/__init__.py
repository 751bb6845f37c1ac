"""Settings, addresses, server. Importing the package makes the Celery application, so that every task binds to it."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
