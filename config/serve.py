"""``python -m config.serve``: one command that prepares the site, serves it and leaves nothing behind.

It checks the port, migrates, loads the content, gathers static files, offers the link that makes the first admin, then
runs gunicorn and a Celery worker with the beat inside, until Ctrl-C, TERM, or the end of the web server.
"""

from __future__ import annotations

import argparse
import errno
import http.client
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.supervise import Child, Supervisor

# Of each web process. One that waits for a slow line costs next to nothing; each may hold a connection of PostgreSQL's 100.
THREADS = 16
_PREPARING = 0x4865_6164_726F_6F6D  # the lock of PostgreSQL that whoever prepares the database holds


class Refused(Exception):
    """The site cannot start; the message says why and what to do."""


def main() -> int:
    """Serves until it is told to stop; the exit status is 0 when somebody stopped it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    arguments = argparse.ArgumentParser(prog="python -m config.serve", description=__doc__)
    arguments.add_argument("--web-only", action="store_true", help="leave worker and beat to others")
    web_only = arguments.parse_args().web_only
    try:
        host = env.text("HOST", "127.0.0.1")
        port = env.whole("PORT", 8000, 1, 65535)
        workers = env.whole("WORKERS", 2, 1, 64)
        check_port(host, port)
        prepare(address(host, port))
    except (ImproperlyConfigured, Refused) as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    children = [Child("web server", web_command(host, port, workers), vital=True)]
    if not web_only:
        children.append(Child("worker", worker_command()))
    return Supervisor(children, ready=lambda: announce(host, port)).run()


def address(host: str, port: int) -> str:
    """The address to open in a browser on this machine."""
    name = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def check_port(host: str, port: int) -> None:
    """Raises ``Refused`` when nothing can listen there, before anything else takes time."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise Refused(f"HOST is “{host}”: no such address. Write 127.0.0.1, or 0.0.0.0 for every network.") from None
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(place)
        except OSError as misfit:
            if misfit.errno == errno.EADDRINUSE:
                cure = f"Port {port} on {host} is taken: stop what listens there, or choose another, as in PORT={port + 1} make run."
            elif misfit.errno == errno.EACCES:
                cure = f"Port {port} needs more rights than this user has: choose one above 1023, as in PORT=8000 make run."
            else:
                cure = f"HOST={host} PORT={port} cannot be listened on ({misfit.strerror}): write an address of this machine."
            raise Refused(cure) from None


def prepare(site: str) -> None:
    """Brings database, content and static files up to date and offers the first admin's link; a second time it is quick."""
    import django
    from django.core.management import CommandError, call_command
    from django.db import OperationalError, connections

    django.setup()
    from django.conf import settings

    from config import static_files

    with ExitStack() as preparing:
        try:
            preparing.enter_context(one_at_a_time())
            call_command("migrate", interactive=False, verbosity=0)
            call_command("createcachetable", verbosity=0)
        except OperationalError as misfit:
            place = settings.DATABASES["default"]
            raise Refused(
                f"The database {place['NAME']} at {place.get('HOST') or 'this machine'} does not answer: "
                f"start it, mend DATABASE_URL, or leave that out for SQLite. ({str(misfit).splitlines()[0]})"
            ) from None
        try:
            call_command("load_content")
        except CommandError as misfit:
            raise Refused(str(misfit)) from None
        call_command("admin_link", if_none=True, site=settings.SITE_URL if env.text("SITE_URL") else site)
    static_files.gather(settings.STATIC_ROOT)
    for counted in settings.METRICS_DIR.glob("*.db"):  # by processes of an earlier start
        counted.unlink()
    connections.close_all()
    warn_about_hosts(settings.ALLOWED_HOSTS)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Of several servers that start on one PostgreSQL the first prepares it; the others wait and find it done.

    The lock hangs on a transaction of its own, which poolers of connections keep together.
    """
    from django.db import connection

    if connection.vendor != "postgresql":
        yield
        return
    own = connection.copy()
    try:
        own.set_autocommit(False)
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_PREPARING])
        yield
    finally:
        own.close()


def warn_about_hosts(answered: list[str]) -> None:
    """Says so when the site listens to other machines but will answer none of them."""
    if env.text("HOST") in ("0.0.0.0", "::") and not env.text("ALLOWED_HOSTS"):
        print(
            f"Only {', '.join(answered)} are answered: set ALLOWED_HOSTS to the name that other machines use.",
            flush=True,
        )


def web_command(host: str, port: int, workers: int) -> list[str]:
    """gunicorn with threads: a slow upload must not hold a whole worker.

    The site is loaded once, before the processes part: they share what it knows, and one in the place of a dead one is there at once.
    """
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    settings = {
        "--bind": place,
        "--worker-class": "gthread",
        "--workers": str(workers),
        "--threads": str(THREADS),
        "--timeout": "60",
        "--graceful-timeout": "5",
        "--log-level": "warning",
        "--logger-class": "config.server_log.ServerLog",
    }
    flags = [word for pair in settings.items() for word in pair]
    return [sys.executable, "-m", "gunicorn", "config.wsgi", "--preload", "--no-control-socket", *flags]


def worker_command() -> list[str]:
    """A worker of one process; the beat inside it is enough for one machine."""
    flags = [
        "--beat",
        "--concurrency",
        "1",
        "--loglevel",
        "WARNING",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]
    quiet = ["-W", "ignore:You're running the worker"]  # as root, as in a container; said on twenty lines otherwise
    return [sys.executable, *quiet, "-m", "celery", "--app", "config", "--quiet", "worker", *flags]


def announce(host: str, port: int) -> bool:
    """Whether a page comes back yet; says so when it does.

    gunicorn listens before a process of its has loaded the site: a connection alone would be said to be a site that answers.
    """
    at = address(host, port)
    asking = http.client.HTTPConnection(at.split("//")[1].rsplit(":", 1)[0].strip("[]"), port, timeout=1)
    try:
        asking.request("GET", "/healthz", headers={"Connection": "close"})
        asking.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()
    print(f"Headroom is on {at} (Ctrl-C stops it)", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
