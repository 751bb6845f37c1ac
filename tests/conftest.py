"""What tests share: real servers, the real site, a real browser. Where one is missing its tests skip with the reason.

``HEADROOM_REQUIRE_SERVICES=1`` and ``HEADROOM_REQUIRE_BROWSER=1`` turn such a skip into a failure.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.live import ROOT, Site, environment, missing, start_site

POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
TOGETHER = ("tests/faults/", "tests/browser/")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_configure() -> None:
    """Static files without a manifest, and a cheap password hash: neither is what the tests are about."""
    from django.conf import settings

    gc.disable()  # until all tests are there
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "whitenoise" not in name]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """``-m django_db`` finds every test that uses the database; files that start servers or browsers, the longest, come first."""
    for item in items:
        if "db" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("django_db"):
            item.add_marker("django_db")
    yield
    own = {"browser", "service", "state_folder", "prepared", "postgres_url"}
    slow = {item.path for item in items if own & {*getattr(item, "fixturenames", ()), *item.keywords}}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """The tests and the knowledge stay to the end: the garbage collector leaves them alone."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under ``--dist loadfile`` the files of ``TOGETHER`` go to one worker, which starts their browser, sites and bases once."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return ByFileOrFolder(config, log)


@contextmanager
def new_database() -> Iterator[str]:
    """A database of its own on a real PostgreSQL server, gone afterwards."""
    import psycopg

    name = f"headroom_{uuid.uuid4().hex[:12]}"
    try:
        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=15)
    except psycopg.OperationalError:
        missing("SERVICES", f"PostgreSQL does not answer at {POSTGRES}: start it or set TEST_POSTGRES_URL.")
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
        yield f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A database of the test's own, empty."""
    with new_database() as url:
        yield url


@pytest.fixture
def redis_url() -> Iterator[str]:
    """A database of its own on a real Redis server, empty before and after."""
    import redis

    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    url = f"{REDIS.rsplit('/', 1)[0]}/{1 + worker % 15}"
    server = redis.Redis.from_url(url, socket_connect_timeout=15)
    try:
        server.flushdb()
    except redis.RedisError:
        missing("SERVICES", f"Redis does not answer at {url}: start it or set TEST_REDIS_URL.")
    yield url
    server.flushdb()


@pytest.fixture
def state_folder() -> Iterator[Path]:
    """An empty state folder."""
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        yield Path(folder)


PREPARE = """
from config import serve
serve.prepare("http://127.0.0.1")
from kb import estimates
estimates.refresh()
"""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of a site that has been started and has made its estimates: made once for all workers of a run, to be copied."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, done = root / "prepared", root / "prepared.done"
    with (root / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            command = [sys.executable, "manage.py", "shell", "-v0", "-c", PREPARE]
            made = subprocess.run(
                command, cwd=ROOT, env=environment(folder), capture_output=True, text=True, timeout=600
            )
            assert made.returncode == 0, made.stderr
            done.touch()
    return folder


@pytest.fixture
def prepared_folder(prepared: Path, state_folder: Path) -> Path:
    """A state folder of the test's own in which the site has been started before."""
    return Path(shutil.copytree(prepared, state_folder, dirs_exist_ok=True))


@pytest.fixture(scope="session")
def live_site(prepared: Path) -> Iterator[Site]:
    """The real site on a free port, one for the whole run."""
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        site = start_site(Path(shutil.copytree(prepared, folder, dirs_exist_ok=True)))
        yield site
        site.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium as it is installed on this machine."""
    from playwright.sync_api import Error, sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        missing("BROWSER", "Chromium is not installed: apt install chromium.")
    # Playwright's own loop runs in this thread; Django then refuses the database although nothing here is asynchronous.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        except Error as misfit:
            missing("BROWSER", f"Chromium at {path} does not start: {str(misfit).splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh browser window without cookies; a page that breaks the content policy or throws fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    window = context.new_page()
    errors: list[str] = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
    yield window
    context.close()
    assert not errors, errors
