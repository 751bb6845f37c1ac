"""Bases to break things under. One of each kind is prepared once; every test gets a copy."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import POSTGRES, new_database
from tests.faults.ground import Base, Cluster, Redis, found, give_to_postgres
from tests.live import free_port, missing

PREPARE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)
call_command("load_content")
from kb.models import Document
few = Document.objects.filter(kind="cases").order_by("slug").values_list("pk", flat=True)[:30]
Document.objects.filter(kind="cases").exclude(pk__in=list(few)).delete()
from django.conf import settings
from config import static_files
static_files.gather(settings.STATIC_ROOT)
from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from kb.models import Member, Role
user = User.objects.create_user("ed")
Member.objects.create(user=user, role=Role.REVIEWER)
request = HttpRequest()
request.session = SessionStore()
login(request, user, "kb.accounts.Backend")
request.session.save()
print("session", request.session.session_key)
"""


def prepare(variables: dict[str, str]) -> Base:
    """Migrated, with thirty of the cases that ship, which are soon estimated, and a reviewer who is signed in."""
    base = Base(variables, "")
    dead = {"REDIS_URL": "redis://127.0.0.1:1/0"}  # the worker of no test is woken by this
    said = base.manage("shell", "-v0", "-c", PREPARE, **dead)
    assert "session " in said.stdout, said.stderr
    return Base(variables, said.stdout.split("session ")[1].strip())


@pytest.fixture(scope="session")
def prepared_sqlite() -> Iterator[Base]:
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        yield prepare({"HEADROOM_STATE": folder})


@pytest.fixture(scope="session")
def prepared_postgresql() -> Iterator[Base]:
    with new_database() as url, tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        yield prepare({"HEADROOM_STATE": folder, "DATABASE_URL": url})


@pytest.fixture
def sqlite(prepared_sqlite: Base, state_folder: Path) -> Base:
    shutil.copytree(prepared_sqlite.state, state_folder, dirs_exist_ok=True)
    return Base({"HEADROOM_STATE": str(state_folder)}, prepared_sqlite.session)


@pytest.fixture
def postgresql(prepared_postgresql: Base, state_folder: Path) -> Iterator[Base]:
    name, ready = f"headroom_{uuid.uuid4().hex[:12]}", prepared_postgresql.variables["DATABASE_URL"]
    shutil.copytree(prepared_postgresql.state, state_folder, dirs_exist_ok=True)
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{ready.rsplit("/", 1)[1]}"')
    url = f"{ready.rsplit('/', 1)[0]}/{name}"
    yield Base({"HEADROOM_STATE": str(state_folder), "DATABASE_URL": url}, prepared_postgresql.session)
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(params=["sqlite", "postgresql"])
def base(request: pytest.FixtureRequest) -> Base:
    """Each test with it runs on both."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Redis]:
    found("redis-server")
    server = Redis(free_port(), tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL that a test may stop."""
    found("initdb")
    with tempfile.TemporaryDirectory(prefix="headroom-pg-") as folder:
        give_to_postgres(Path(folder))
        server = Cluster(free_port(), Path(folder))
        try:
            server.make()
            server.start()
        except RuntimeError as misfit:
            missing("SERVICES", f"a PostgreSQL of the test's own does not start: {misfit}")
        yield server
        server.stop()
