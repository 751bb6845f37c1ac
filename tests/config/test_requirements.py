"""requirements.txt alone carries the site: what only the tests' packages bring is hidden, as it is where the site is deployed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.live import ROOT, environment

# What starts only where a variable says so is imported by name: Redis as the broker, PostgreSQL, single sign-on, figures.
START = """
import django
django.setup()
import config.wsgi, gunicorn.app.wsgiapp, gunicorn.workers.gthread, celery.bin.celery, celery.apps.beat, celery.apps.worker
import psycopg, allauth.socialaccount.providers.openid_connect.views, prometheus_client.multiprocess
from config.celery import app
app.connection_for_write("redis://127.0.0.1:1/0")
app.loader.import_default_modules()
"""


def wanted(requirement: Requirement, found: dict[str, set[str]]) -> None:
    """Adds the package and everything that it asks for, by the marks that hold here."""
    name = re.sub(r"[-_.]+", "-", requirement.name).lower()
    if name in found and requirement.extras <= found[name]:
        return
    found[name] = found.get(name, set()) | requirement.extras
    for line in distribution(name).requires or ():
        asked = Requirement(line)
        if any(asked.marker is None or asked.marker.evaluate({"extra": extra}) for extra in (*requirement.extras, "")):
            wanted(asked, found)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the packages of requirements.txt, and nothing else."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        wanted(Requirement(line), found)
    for name in found:
        for file in distribution(name).files or ():
            top, here = file.parts[0], tmp_path / file.parts[0]
            if top not in ("..", "__pycache__") and not here.exists():
                here.symlink_to(Path(str(distribution(name).locate_file(top))))
    return tmp_path


def test_the_site_starts_with_what_requirements_txt_names_and_nothing_else(packages: Path, state_folder: Path) -> None:
    variables = {
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "METRICS_TOKEN": "x" * 16,
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    start = environment(state_folder, PYTHONPATH=f"{packages}:{ROOT}", **variables)
    done = subprocess.run(
        [sys.executable, "-S", "-c", START], cwd=ROOT, env=start, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    hidden = subprocess.run([sys.executable, "-S", "-c", "import pytest"], env=start, capture_output=True, timeout=60)
    assert hidden.returncode == 1, "what the tests bring can be seen"
