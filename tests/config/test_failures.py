"""What is said when something under the site fails, by what really lies under the exception."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import psycopg
import pytest
from django.db import DataError, InterfaceError, OperationalError, ProgrammingError
from django.test import Client, override_settings

from config import failures
from config.failures import BUSY, FULL, GONE, LOCKED, OURS, cause
from kb import sent


def under(error: Exception, driver: Exception) -> Exception:
    error.__cause__ = driver
    return error


def of_sqlite(path: Path, *statements: str) -> Exception:
    """What SQLite itself raises at the last of the statements."""
    database = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        for statement in statements:
            database.execute(statement)
    except sqlite3.Error as misfit:
        return under(OperationalError(str(misfit)), misfit)
    finally:
        database.close()
    raise AssertionError("nothing was raised")


def test_a_mistake_in_a_statement_is_ours_and_no_fault_of_the_base(tmp_path: Path) -> None:
    assert cause(of_sqlite(tmp_path / "a", "SELECT * FROM nothing")) == OURS
    assert cause(under(ProgrammingError(), psycopg.errors.UndefinedTable())) == OURS
    assert cause(under(DataError(), psycopg.errors.NumericValueOutOfRange())) == OURS
    assert cause(ValueError("5")) == OURS
    assert cause(None) == OURS


@pytest.mark.parametrize(
    ("driver", "failure"),
    [
        (psycopg.OperationalError("connection refused"), GONE),
        (psycopg.errors.AdminShutdown(), GONE),
        (psycopg.errors.DiskFull(), FULL),
        (psycopg.errors.TooManyConnections(), BUSY),
        (psycopg.errors.DeadlockDetected(), BUSY),
        (psycopg.errors.ReadOnlySqlTransaction(), LOCKED),
    ],
)
def test_it_tells_the_faults_of_postgresql_apart(driver: Exception, failure: failures.Failure) -> None:
    assert cause(under(OperationalError(), driver)) == failure
    assert cause(under(RuntimeError(), under(OperationalError(), driver))) == failure


def test_a_connection_that_was_closed_under_us_is_a_base_that_is_gone() -> None:
    assert cause(under(InterfaceError(), psycopg.InterfaceError("the connection is closed"))) == GONE


def test_it_tells_the_faults_of_sqlite_apart(tmp_path: Path) -> None:
    path = tmp_path / "base"
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("CREATE TABLE t (x)")
        holder.execute("BEGIN IMMEDIATE")
        assert cause(of_sqlite(path, "BEGIN IMMEDIATE")) == BUSY
    assert cause(of_sqlite(path, "PRAGMA max_page_count = 2", "INSERT INTO t VALUES (zeroblob(100000))")) == FULL
    assert cause(of_sqlite(path, "PRAGMA query_only = 1", "INSERT INTO t VALUES (1)")) == LOCKED


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_file_that_finds_no_room_is_a_full_disk(number: int) -> None:
    assert cause(OSError(number, "")) == FULL


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Client:
    """A site whose base is not there."""
    gone = under(OperationalError(), psycopg.OperationalError("connection refused"))
    monkeypatch.setattr("wizard.views.counts", lambda user: (_ for _ in ()).throw(gone))
    monkeypatch.setattr("wizard.views.cases_for", lambda user: ())
    return Client(raise_request_exception=False)


def test_a_program_is_told_in_json_and_a_terminal_in_words(broken: Client) -> None:
    told = broken.get("/", headers={"Accept": "application/json"})
    assert (told.status_code, told.json()["error"]) == (503, "database does not answer")
    assert told.json()["request"] == told.headers["X-Request-ID"]
    words = broken.get("/", headers={"Accept": "*/*"})
    assert words.headers["Content-Type"].startswith("text/plain")
    assert words.content.decode().startswith("The database does not answer.")


def test_a_page_that_cannot_be_made_either_is_told_in_words(broken: Client) -> None:
    manifest = {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"}
    with override_settings(STORAGES={"staticfiles": manifest}, STATIC_ROOT="/nowhere"):
        answer = broken.get("/", headers={"Accept": "text/html"})
    assert answer.status_code == 503
    assert "The database does not answer" in answer.content.decode()


def test_a_password_is_never_in_the_page_of_a_failure(broken: Client) -> None:
    from django.test import RequestFactory

    request = RequestFactory().post("/", {"username": "ed", "password1": "hunter2"})
    assert list(sent.fields(request)) == []
    request = RequestFactory().post("/", {"text": "an hour's <words>"})
    assert list(sent.fields(request)) == [("text", "an hour's <words>")]
