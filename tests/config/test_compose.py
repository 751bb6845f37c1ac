"""What a team deploys: docker-compose.yml and the Dockerfile, read as Docker reads them, their commands run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import new_database
from tests.live import PATIENCE, ROOT, environment, free_port, missing

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("web", "worker", "beat")
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_watched_and_started_again(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert service["volumes"]


def test_every_volume_that_a_service_uses_is_declared_and_none_else() -> None:
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert used == set(COMPOSE["volumes"])


def test_the_site_is_one_image_and_the_servers_are_of_the_versions_that_are_promised() -> None:
    assert {SERVICES[name]["image"] for name in OURS} == {"headroom"}
    assert (SERVICES["db"]["image"], SERVICES["redis"]["image"]) == ("postgres:16", "redis:7")


def test_only_the_web_server_can_be_reached_and_only_from_this_machine_unless_somebody_says_so() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["web"]
    assert SERVICES["web"]["ports"] == ["${PUBLISH:-127.0.0.1:8000}:8000"]


def test_the_password_of_the_base_must_be_chosen_before_anything_starts() -> None:
    """PostgreSQL keeps the one of its first start: a web server that refuses it comes too late."""
    assert "${POSTGRES_PASSWORD:?" in SERVICES["db"]["environment"]["POSTGRES_PASSWORD"]
    assert re.search(r"^POSTGRES_PASSWORD=$", (ROOT / ".env.example").read_text(), flags=re.M)


def test_a_first_start_that_takes_long_keeps_worker_and_beat_waiting_and_does_not_fail() -> None:
    assert SERVICES["web"]["healthcheck"]["start_period"] == "30m"
    waiting = [name for name in OURS if "web" in SERVICES[name]["depends_on"]]
    assert waiting == ["worker", "beat"]


def test_the_image_is_slim_and_does_not_run_as_root() -> None:
    lines = DOCKERFILE.splitlines()
    assert lines[0].endswith("-slim")
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users
    assert "root" not in users


def test_the_documents_write_backups_where_the_containers_user_may_and_where_they_outlive_it() -> None:
    told = (ROOT / "docs/deployment.md").read_text()
    written = re.findall(r"docker compose exec .*manage\.py backup (\S+)", told)
    assert len(written) == 2
    assert {str(Path(path).parent) for path in written} == {COMPOSE["x-headroom"]["volumes"][0].split(":")[1]}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the Dockerfile copies, and nothing else."""
    folder = tmp_path_factory.mktemp("image")
    for line in re.findall(r"^COPY (.+)$", DOCKERFILE, flags=re.M):
        *sources, target = line.split()
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, folder / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, folder / target)
    return folder


@pytest.fixture(scope="module")
def ground(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What stands for the names inside the containers on this machine."""
    state = tmp_path_factory.mktemp("state")
    redis = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0").rsplit("/", 1)[0] + "/9"
    with new_database() as url:
        yield {"HEADROOM_STATE": str(state), "DATABASE_URL": url, "REDIS_URL": redis, "PORT": str(free_port())}


def variables(name: str, ground: dict[str, str]) -> dict[str, str]:
    """The environment of a service, its ``${…}`` filled in, with this machine's addresses."""
    chosen = {"POSTGRES_PASSWORD": "chosen", "ALLOWED_HOSTS": "headroom.example.org"}
    written = SERVICES[name]["environment"].items()
    text = {key: re.sub(r"\$\{(\w+)[^}]*\}", lambda hit: chosen[hit[1]], str(value)) for key, value in written}
    here = {key: ground[key] for key in text if key in ground}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    machine = {"PATH": path, "HOST": "127.0.0.1"}
    return {**environment(Path(ground["HEADROOM_STATE"])), **text, **here, **machine}


def healthy(name: str, image: Path, ground: dict[str, str]) -> bool:
    """Whether the health check of a service passes, as Docker runs it."""
    kind, *words = SERVICES[name]["healthcheck"]["test"]
    here = {"$$": "$", ":8000": f":{ground['PORT']}", "/state": ground["HEADROOM_STATE"]}
    for inside, outside in here.items():
        words = [word.replace(inside, outside) for word in words]
    command = words if kind == "CMD" else ["sh", "-c", words[0]]
    done = subprocess.run(command, cwd=image, env=variables(name, ground), capture_output=True, timeout=PATIENCE)
    return done.returncode == 0


@contextmanager
def running(name: str, image: Path, ground: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The service, once its health check has passed."""
    said = image / f"{name}.txt"
    command, around = SERVICES[name]["command"], variables(name, ground)
    with said.open("wb") as file:
        process = subprocess.Popen(command, cwd=image, env=around, stdout=file, stderr=file, start_new_session=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not healthy(name, image, ground):
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(1)  # a check is a process of its own, which takes longer than that
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.service
def test_each_service_runs_as_it_is_written_passes_its_check_and_ends_when_asked(
    image: Path, ground: dict[str, str]
) -> None:
    assert not healthy("web", image, ground), "a check that passes without the service checks nothing"
    with running("web", image, ground) as web:
        for name in ("worker", "beat"):
            with running(name, image, ground) as process:
                process.terminate()
                assert process.wait(PATIENCE) == 0, name
        web.terminate()
        assert web.wait(PATIENCE) == 0


@pytest.mark.service
@pytest.mark.parametrize(("name", "program"), [("db", "pg_isready"), ("redis", "redis-cli")])
def test_the_checks_of_the_servers_pass_here(name: str, program: str) -> None:
    if not shutil.which(program):
        missing("SERVICES", f"{program} is not installed: apt install postgresql-client redis-tools.")
    kind, *words = SERVICES[name]["healthcheck"]["test"]
    command = words if kind == "CMD" else ["sh", "-c", words[0]]
    here = {**os.environ, "PGHOST": "127.0.0.1"}
    assert subprocess.run(command, env=here, capture_output=True, timeout=PATIENCE).returncode == 0
