"""Environment variables are read strictly, and .env.example knows them all."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from tests.live import PATIENCE, ROOT, environment


@pytest.mark.parametrize(
    ("read", "value", "says"),
    [
        (lambda: env.flag("X"), "maybe", "X is “maybe”: write 1 for yes or 0 for no."),
        (lambda: env.whole("X", 1, 1, 64), "0", "X is “0”: write a whole number from 1 to 64."),
        (lambda: env.whole("X", 1, 1, 64), "-3", "X is “-3”"),
        (lambda: env.whole("X", 1, 1, 64), "2.5", "X is “2.5”"),
        (lambda: env.choice("X", "INFO", ("INFO",)), "loud", "X is “loud”: write one of INFO."),
        (lambda: env.zone("X", "UTC"), "China", "X is “China”: write a name of the IANA time zone database"),
        (lambda: env.zone("X", "UTC"), "../etc/passwd", "X is “../etc/passwd”: write a name of the IANA"),
        (lambda: env.hosts("X", []), "http://a.org", "X is “http://a.org”: write host names"),
        (lambda: env.hosts("X", []), "a.org:80", "X is “a.org:80”"),
        (lambda: env.origins("X"), "a.org", "X is “a.org”: write scheme and host name"),
        (lambda: env.origins("X"), "https://a.org/wiki", "X is “https://a.org/wiki”: write scheme and host name"),
        (lambda: env.origins("X"), "https://a b", "X is “https://a b”"),
        (lambda: env.origins("X"), "https://a.org:99999", "X is “https://a.org:99999”"),
        (lambda: env.origin("X", ""), "https://a.org,https://b.org", "write one address alone"),
        (lambda: env.redis("X"), "localhost:6379", "X is “localhost:6379”: write redis://"),
        (lambda: env.redis("X"), "redis://h:66666666", "the port is a number up to 65535"),
        (lambda: env.redis("X"), "redis://h:6379/jobs", "X is “redis://h:6379/jobs”: write redis://"),
        (lambda: env.redis("X"), "redis://[h", "X is “redis://[h”: write redis://"),
        (lambda: env.database("X", Path("/")), "sqlite:///x", "X is “sqlite:///x”: write postgres://"),
        (lambda: env.database("X", Path("/")), "postgres://host", "X is “postgres://host”"),
        (lambda: env.email("X"), "mail.example.org", "X is “mail.example.org”: write smtp+tls://"),
        (lambda: env.email("X"), "https://mail.example.org", "X is “https://mail.example.org”: write smtp+tls://"),
        (lambda: env.issuer("X"), "http://login.example.org", "X is “http://login.example.org”: write the issuer's"),
        (lambda: env.issuer("X"), "login.example.org", "X is “login.example.org”: write the issuer's"),
        (lambda: env.sender("X", ""), "headroom", "X is “headroom”: write an address"),
        (lambda: env.sender("X", ""), "a@example.org\nBcc: b@example.org", "write an address"),
        (lambda: env.token("X"), "two words", "X is “9 characters”: write letters, digits and signs"),
        (lambda: env.required("X", "Y"), "", "X is “”: Y is set and needs it."),
        (lambda: env.secret("X", Path("/")), "short", "X is “5 characters”: write at least 32"),
        (lambda: env.folder("X", Path("/")), "/proc/nothing/here", "X is “/proc/nothing/here”: name a folder"),
    ],
)
def test_it_refuses_a_bad_value_with_the_cure(monkeypatch: pytest.MonkeyPatch, read, value: str, says: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        read()
    assert says in str(refusal.value)


@pytest.mark.parametrize("user", ["me", "me@example.org"])
def test_it_does_not_repeat_a_password_in_a_refusal(monkeypatch: pytest.MonkeyPatch, user: str) -> None:
    monkeypatch.setenv("X", f"mysql://{user}:hun@ter2@host/db")
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.database("X", Path("/"))
    assert "hun" not in str(refusal.value)
    assert "ter2" not in str(refusal.value)


@pytest.mark.parametrize("password", ["pa/ss", "pa#ss", "1/2", "1#2", "p@ss/w", "[pass", "pa?ss"])
def test_a_sign_that_ends_a_password_early_is_refused_with_how_to_write_it(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    """Else the rest of it is taken for the name of a server, which a message about that server would print."""
    for read, address in (
        (lambda: env.database("X", Path("/")), f"postgres://me:{password}@db:5432/rooms"),
        (lambda: env.email("X"), f"smtp://me:{password}@mail:25"),
    ):
        monkeypatch.setenv("X", address)
        with pytest.raises(ImproperlyConfigured) as refusal:
            read()
        assert "signs of a password such as @ / # ? [ are written %40 %2F %23 %3F %5B" in str(refusal.value)
        assert password not in str(refusal.value)


def test_an_origin_as_a_browser_shows_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "https://headroom.example.org/, https://*.example.org:8443, http://[::1]:8000")
    assert env.origins("X") == ["https://headroom.example.org", "https://*.example.org:8443", "http://[::1]:8000"]


def test_a_sender_may_have_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "Headroom <headroom@example.org>")
    assert env.sender("X", "") == "Headroom <headroom@example.org>"


def test_a_single_sign_on_without_its_secret_is_refused(state_folder: Path) -> None:
    done = check(state_folder, OIDC_ISSUER="https://login.example.org", OIDC_CLIENT_ID="headroom")
    assert done.returncode != 0
    assert "OIDC_CLIENT_SECRET is “”: OIDC_ISSUER is set and needs it." in done.stderr


@pytest.mark.parametrize(
    ("value", "port", "ssl", "tls"),
    [
        ("smtp+tls://me:p%40ss@mail.example.org", 587, False, True),
        ("smtps://me:p%40ss@mail.example.org", 465, True, False),
        ("smtp://me:p%40ss@mail.example.org:2525", 2525, False, False),
    ],
)
def test_it_reads_a_mail_server_whole(
    monkeypatch: pytest.MonkeyPatch, value: str, port: int, ssl: bool, tls: bool
) -> None:
    monkeypatch.setenv("X", value)
    entry = env.email("X")
    assert (entry["EMAIL_HOST"], entry["EMAIL_HOST_USER"], entry["EMAIL_HOST_PASSWORD"]) == (
        "mail.example.org",
        "me",
        "p@ss",
    )
    assert (entry["EMAIL_PORT"], entry["EMAIL_USE_SSL"], entry["EMAIL_USE_TLS"]) == (port, ssl, tls)


def test_an_issuer_is_read_without_its_well_known_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "https://login.example.org/realms/team/.well-known/openid-configuration")
    assert env.issuer("X") == "https://login.example.org/realms/team"


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", " ")
    assert env.flag("X", default=True) is True
    assert env.whole("X", 7, 1, 9) == 7
    assert env.redis("X") == ""


def test_it_reads_a_postgresql_address_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "postgres://me:p%40ss@db.example.org:6543/rooms?sslmode=require")
    entry = env.database("X", Path("/"))
    assert entry["ENGINE"] == "django.db.backends.postgresql"
    assert (entry["USER"], entry["PASSWORD"], entry["HOST"], entry["PORT"]) == ("me", "p@ss", "db.example.org", "6543")
    assert (entry["NAME"], entry["OPTIONS"]["sslmode"]) == ("rooms", "require")


def test_a_postgresql_that_is_away_is_told_of_in_seconds_unless_somebody_waits_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("X", "postgres://me@db.example.org/rooms")
    assert env.database("X", Path("/"))["OPTIONS"]["connect_timeout"] == "5"
    monkeypatch.setenv("X", "postgres://me@db.example.org/rooms?connect_timeout=30")
    assert env.database("X", Path("/"))["OPTIONS"]["connect_timeout"] == "30"


def test_sqlite_begins_its_transactions_as_a_writer(monkeypatch: pytest.MonkeyPatch, state_folder: Path) -> None:
    monkeypatch.delenv("X", raising=False)
    entry = env.database("X", state_folder)
    assert entry["NAME"] == state_folder / "headroom.sqlite3"
    assert entry["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "WAL" in entry["OPTIONS"]["init_command"]


def test_the_secret_is_made_once_and_only_its_owner_reads_it(
    monkeypatch: pytest.MonkeyPatch, state_folder: Path
) -> None:
    monkeypatch.delenv("X", raising=False)
    first = env.secret("X", state_folder)
    assert env.secret("X", state_folder) == first
    assert len(first) >= 32
    assert stat.S_IMODE(os.stat(state_folder / "secret").st_mode) == 0o600
    assert [path.name for path in state_folder.iterdir()] == ["secret"]


def test_the_example_file_names_exactly_the_variables_that_are_read() -> None:
    read = set()
    for path in (ROOT / "config").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                owner, name = node.func.value, node.args[0]
                if isinstance(owner, ast.Name) and owner.id == "env" and isinstance(name, ast.Constant):
                    read.add(name.value)
    compose = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text()))
    assert set(example()) == read | compose
    assert compose - read == {"POSTGRES_PASSWORD", "PUBLISH"}


def test_every_line_of_the_example_file_works_as_it_stands(state_folder: Path) -> None:
    """A comment behind a value would become part of it."""
    variables = {**example(), "HEADROOM_STATE": str(state_folder)}
    done = check(state_folder, **variables)
    assert done.returncode == 0, done.stderr


def test_a_site_behind_a_proxy_passes_every_check_for_a_deployed_one(state_folder: Path) -> None:
    done = check(state_folder, "--deploy", "--fail-level", "WARNING", HTTPS="1", ALLOWED_HOSTS="headroom.example.org")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is “”: HTTPS is 1 and others reach the site: write the name"),
        ({"ALLOWED_HOSTS": "localhost,127.0.0.1,"}, "ALLOWED_HOSTS is “localhost,127.0.0.1,”: HTTPS is 1 and others"),
        ({"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS is “*”: any name would be believed"),
        ({"DEBUG": "1"}, "DEBUG is “1”: it shows the innards"),
        ({"SECRET_KEY": "ab" * 20}, "SECRET_KEY is “2 different characters”: leave it out and one is made"),
        ({"METRICS_TOKEN": "guess"}, "METRICS_TOKEN is “5 characters”: write at least 16"),
        ({"EMAIL_URL": "smtp://mail.example.org"}, "SITE_URL is “”: links in mails begin with it"),
    ],
)
def test_a_deployed_site_refuses_what_is_weak_or_missing_with_the_cure(
    state_folder: Path, variables: dict[str, str], says: str
) -> None:
    done = check(state_folder, **{"HTTPS": "1", "ALLOWED_HOSTS": "headroom.example.org", **variables})
    assert done.returncode != 0
    assert says in done.stderr


def test_the_containers_health_check_is_answered_whatever_the_site_is_called() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    asked = re.search(r"headers=\{'Host': '(\w+)'\}", compose)
    answered = re.search(r"ALLOWED_HOSTS: (\S+)", compose)
    assert asked
    assert answered
    assert asked[1] in answered[1].split(",")


def example() -> dict[str, str]:
    """The variables of ``.env.example`` with their values, those behind a ``#`` as well."""
    return dict(re.findall(r"^(?:# )?([A-Z_]+)=(.*)$", (ROOT / ".env.example").read_text(), flags=re.M))


def check(state: Path, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``manage.py check`` in an environment of its own."""
    command = [sys.executable, "manage.py", "check", *flags]
    return subprocess.run(
        command, cwd=ROOT, env=environment(state, **variables), capture_output=True, text=True, timeout=PATIENCE
    )
