"""The knowledge base: cases in the database, the catalogue from the files."""

from django.apps import AppConfig


class KbConfig(AppConfig):
    name = "kb"
    verbose_name = "Knowledge base"
