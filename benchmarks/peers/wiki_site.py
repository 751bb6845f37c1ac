"""A django-wiki as its own documentation sets one up, on SQLite in ``PEERS_STATE``: its settings.

``python wiki_site.py`` fills it from ``documents.jsonl`` there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

STATE = Path(os.environ["PEERS_STATE"])
os.environ["DJANGO_SETTINGS_MODULE"] = "wiki_site"

SECRET_KEY = "measured on this machine alone"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
SITE_ID = 1
USE_TZ = True
ROOT_URLCONF = "wiki_urls"
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = [
    "django.contrib.sites",
    "django.contrib.humanize.apps.HumanizeConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_nyt.apps.DjangoNytConfig",
    "mptt",
    "sekizai",
    "sorl.thumbnail",
    "wiki.apps.WikiConfig",
    "wiki.plugins.attachments.apps.AttachmentsConfig",
    "wiki.plugins.notifications.apps.NotificationsConfig",
    "wiki.plugins.images.apps.ImagesConfig",
    "wiki.plugins.macros.apps.MacrosConfig",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
_PROCESSORS = (
    "django.contrib.auth.context_processors.auth",
    *(f"django.template.context_processors.{name}" for name in ("debug", "i18n", "media", "request", "static", "tz")),
    "django.contrib.messages.context_processors.messages",
    "sekizai.context_processors.sekizai",
)
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": _PROCESSORS},
    }
]
# As the site beside it is set.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": STATE / "wiki.sqlite3",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"},
        "CONN_MAX_AGE": None,
    }
}


def fill() -> None:
    """One article a document, its front matter as a block of code so that the page shows the same words."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import transaction
    from wiki.models import URLPath

    call_command("migrate", verbosity=0)
    root = URLPath.create_root(title="Documents", content="All of them.")
    with transaction.atomic(), (STATE / "documents.jsonl").open() as lines:
        for row in map(json.loads, lines):
            _, front, body = row["text"].split("+++\n", 2)
            content = f"```toml\n{front}```\n\n{body}"
            URLPath.create_urlpath(root, row["slug"], title=row["title"], content=content)


if __name__ == "__main__":
    fill()
