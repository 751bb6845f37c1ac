"""Environment variables, read strictly: a bad value is refused with the variable, the value and the cure."""

from __future__ import annotations

import os
import re
import secrets
from email.utils import parseaddr
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.exceptions import ImproperlyConfigured

_YES = ("1", "true", "yes", "on")
_NO = ("0", "false", "no", "off")
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST = re.compile(rf"\*|\[[0-9a-fA-F:]+\]|\.?{_LABEL}(\.{_LABEL})*")
_LAST_PORT = 65535
_ISSUER = "write the issuer's address, as https://login.example.org/realms/team"
_ESCAPED = f"the port is a number up to {_LAST_PORT}, and signs of a password such as @ / # ? [ are written %40 %2F %23 %3F %5B"
# A server that is away is told of in seconds: else the kernel waits minutes, with every thread of the web server.
_NOTICES_SILENCE = {
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}


def text(name: str, default: str = "") -> str:
    """The variable without the blanks around it; an empty one counts as not set."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool = False) -> bool:
    """A yes or a no."""
    value = text(name)
    if value.lower() in _YES:
        return True
    if value and value.lower() not in _NO:
        refuse(name, value, "write 1 for yes or 0 for no")
    return default if not value else False


def whole(name: str, default: int, low: int, high: int) -> int:
    """A whole number between ``low`` and ``high``, both included."""
    value = text(name)
    if not value:
        return default
    if not re.fullmatch(r"\d{1,9}", value) or not low <= int(value) <= high:
        refuse(name, value, f"write a whole number from {low} to {high}")
    return int(value)


def choice(name: str, default: str, words: tuple[str, ...]) -> str:
    """One of a few words, in any case."""
    value = text(name, default)
    if value.upper() not in words:
        refuse(name, value, f"write one of {', '.join(words)}")
    return value.upper()


def zone(name: str, default: str) -> str:
    """A time zone by its name in the IANA database, which the machine brings."""
    value = text(name, default)
    try:
        ZoneInfo(value)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        refuse(
            name, value, "write a name of the IANA time zone database, as Asia/Shanghai (Debian: apt install tzdata)"
        )
    return value


def hosts(name: str, default: list[str]) -> list[str]:
    """Host names between commas, without scheme or port."""
    values = [value.strip() for value in text(name).split(",") if value.strip()]
    for value in values:
        if not _HOST.fullmatch(value):
            refuse(name, value, "write host names between commas, without scheme or port, as headroom.example.org")
    return values or default


def origins(name: str) -> list[str]:
    """Origins between commas, each with its scheme; the slash that a browser shows behind one is taken off."""
    values = [value.strip().removesuffix("/") for value in text(name).split(",") if value.strip()]
    for value in values:
        scheme, _, place = value.partition("://")
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "0")
        if scheme not in ("http", "https") or not _HOST.fullmatch(host.removeprefix("*.")) or int(port) > _LAST_PORT:
            refuse(name, value, "write scheme and host name without a path, as https://headroom.example.org")
    return values


def origin(name: str, default: str) -> str:
    """One origin with its scheme."""
    values = origins(name)
    if len(values) > 1:
        refuse(name, ", ".join(values), "write one address alone, as https://headroom.example.org")
    return values[0] if values else default


def database(name: str, state: Path) -> dict[str, Any]:
    """Django's entry for the database: PostgreSQL when the variable says so, else SQLite in the state folder."""
    value = text(name)
    if not value:
        # Without IMMEDIATE, writers that began as readers lose their write to "database is locked" and no timeout helps.
        options = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"}
        file = {"ENGINE": "django.db.backends.sqlite3", "NAME": state / "headroom.sqlite3", "OPTIONS": options}
        return {**file, "CONN_MAX_AGE": 60}  # opening it costs as much as two queries
    cure = "write postgres://user:password@host:5432/name, or leave it out for SQLite"
    parts = _address(name, value, ("postgres", "postgresql"), cure)
    if not parts.path.strip("/"):
        refuse(name, _without_password(value), cure)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": {**_NOTICES_SILENCE, **dict(parse_qsl(parts.query))},
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def redis(name: str) -> str:
    """The address of a Redis server, or nothing."""
    value, cure = text(name), "write redis://host:6379/0, or leave it out"
    if not value:
        return ""
    parts = _address(name, value, ("redis", "rediss", "unix"), cure)
    if parts.scheme == "unix":
        return value if parts.path else refuse(name, value, cure)
    if not parts.hostname or not re.fullmatch(r"/?\d*", parts.path):
        refuse(name, _without_password(value), cure)
    return value


def required(name: str, because: str) -> str:
    """A variable that must be there because another one is."""
    value = text(name)
    if not value:
        refuse(name, "", f"{because} is set and needs it")
    return value


def issuer(name: str) -> str:
    """The address of an OpenID provider without its ``/.well-known/…``, or nothing. Passwords and tokens never go over plain HTTP."""
    value = text(name).removesuffix("/.well-known/openid-configuration").rstrip("/")
    if not value:
        return ""
    parts = _address(name, value, ("http", "https"), _ISSUER)
    near = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or parts.query or not (parts.scheme == "https" or near):
        refuse(name, _without_password(value), _ISSUER)
    return value


def email(name: str) -> dict[str, Any]:
    """Django's settings for outgoing mail: a server, or the terminal; without the variable nothing is sent."""
    value = text(name)
    if value in ("", "console:"):
        backend = "console" if value else "dummy"
        return {"EMAIL_BACKEND": f"django.core.mail.backends.{backend}.EmailBackend"}
    cure = "write smtp+tls://user:password@host:587, smtps://…:465, smtp://host:25 or console:"
    parts = _address(name, value, ("smtp", "smtps", "smtp+tls"), cure)
    if not parts.hostname:
        refuse(name, _without_password(value), cure)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or {"smtps": 465, "smtp+tls": 587}.get(parts.scheme, 25),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_TIMEOUT": 10,
    }


def sender(name: str, default: str) -> str:
    """What mails say that they come from: an address, with a name before it or not."""
    value = text(name, default)
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", parseaddr(value)[1]) or not value.isprintable():
        refuse(name, value, "write an address, as headroom@example.org or Headroom <headroom@example.org>")
    return value


def token(name: str) -> str:
    """What a program shows in a header, which carries neither blanks nor letters beyond ASCII."""
    value = text(name)
    if not re.fullmatch(r"[!-~]*", value):
        refuse(name, f"{len(value)} characters", "write letters, digits and signs of ASCII, without blanks")
    return value


def folder(name: str, default: Path) -> Path:
    """A folder that can be written, made when it is not there."""
    path = Path(text(name, str(default))).expanduser().resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as misfit:
        refuse(name, str(path), f"name a folder that can be written ({misfit.strerror})")
    if not os.access(path, os.W_OK | os.X_OK):
        refuse(name, str(path), "name a folder that this user can write")
    return path


def secret(name: str, state: Path) -> str:
    """The variable, else the key in the state folder, which is made on first use and read by its owner alone."""
    if value := text(name):
        if len(value) < 32:
            refuse(name, f"{len(value)} characters", "write at least 32, or leave it out and one is made")
        return value
    path = state / "secret"
    if not path.exists():
        draft = state / f"secret.{os.getpid()}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)  # whole or not at all, and the first of several processes wins
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    value = path.read_text().strip()
    if len(value) < 32:
        refuse(name, f"{path} holds {len(value)} characters", "delete the file and start again, or set the variable")
    return value


def refuse(name: str, value: str, cure: str) -> NoReturn:
    """Raises ``ImproperlyConfigured`` with variable, value and cure."""
    raise ImproperlyConfigured(f"{name} is “{value}”: {cure}.")


def _address(name: str, value: str, schemes: tuple[str, ...], cure: str) -> SplitResult:
    """The parts of an address whose port is one. A password ends where a sign of the address itself stands in it."""
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        refuse(name, _without_password(value), f"{cure}; {_ESCAPED}")
    if parts.scheme not in schemes:
        refuse(name, _without_password(value), cure)
    if port == 0 or "@" in parts.path + parts.fragment:
        refuse(name, _without_password(value), f"{cure}; {_ESCAPED}")
    return parts


def _without_password(url: str) -> str:
    """Whatever could be a part of the password is out; the name before it may be an e-mail address."""
    return re.sub(r"(//[^:/]*:).*@", r"\1***@", url)
