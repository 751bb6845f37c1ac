"""The size of /dev/shm as it is told, and that no smaller one is advised."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.words import lead

BUS = (
    "\nRuntimeError: DataLoader worker (pid 2112) is killed by signal: Bus error. It is possible that dataloader's workers are out of "
    "shared memory. Please try to raise your shared memory limit.\n"
)


def told(text: str) -> Diagnosis:
    return diagnose(text + BUS, {}, current(), ())


@pytest.mark.parametrize(
    "text",
    [
        "/dev/shm needs 64G, I think",
        "Should I use --shm-size=64g?",
        "I would try shm 64G",
        "shm uses 64G",
        "/dev/shm 60G / 64G",
        "docker run --gpus all --ipc=host --shm-size=64g verl",
        "tmpfs           504G  1.2G  503G   1% /dev",
        "shm 16G on one node, shm 32G on the other",
        "buy 64G of RAM",
    ],
)
def test_it_takes_a_need_a_use_or_a_proposal_for_no_size(text: str) -> None:
    assert "shm_gib" not in told(text).facts.values


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        ("/dev/shm is 64G already", 64),
        ("Our shm is set to 16 GB", 16),
        ("64GB of shared memory, still dies", 64),
        ("/dev/shm 已经给了 64G，还是报", 64),
        ("共享内存有32G", 32),
        ("raised shm from 64M to 16G", 16),
        ("The SHMEM allocation limit is set to the default of 64MB.", 0.062),
        ("docker run --gpus all --shm-size=64g -it verl bash", 64),
        ("docker run --gpus all \\\n  --shm-size 512m \\\n  verl", 0.5),
        ("docker run --shm-size=34359738368 verl", 32),
        ("    shm_size: '16gb'", 16),
        ("ran the container with --shm-size=8g", 8),
        ("shm              64G   64G     0 100% /dev/shm", 64),
        ("tmpfs  65536  65536  0 100% /dev/shm", 0.062),
    ],
)
def test_it_reads_the_size(text: str, gib: float) -> None:
    assert told(text).facts.values.get("shm_gib") == gib


def test_what_df_prints_outranks_what_the_container_was_started_with() -> None:
    found = told("docker run --shm-size=64g verl\nshm              32G   32G     0 100% /dev/shm")
    assert found.facts.values["shm_gib"] == 32


def test_it_advises_more_than_there_is() -> None:
    why = {one.lever.slug: one.why for one in told("/dev/shm is 64G, torchrun SFT with verl").prescriptions}
    assert "--shm-size=128g" in why["host.shm.up"]
    assert "=64g" not in why["host.shm.up"]
    assert "No saving is computed without" not in " ".join(why.values())


def test_a_small_one_grows_to_what_is_usual() -> None:
    (why,) = [
        one.why for one in told("docker run --shm-size=512m verl").prescriptions if one.lever.slug == "host.shm.up"
    ]
    assert "has 0.5 GiB" in why
    assert "--shm-size=64g" in why


def test_the_default_of_a_container_is_said_only_where_no_size_is_told() -> None:
    assert "64 MiB" in lead(told("verl in docker"))
    assert lead(told("/dev/shm is 64G")).endswith("Here it has 64 GiB.")


def test_a_size_of_shm_is_no_word_of_the_object_store() -> None:
    found = told("verl PPO with ray, /dev/shm 已经给了 64G，还是报")
    assert "ray.object_store.down" not in [one.lever.slug for one in found.not_advised if one.reason == "tried"]


def test_ray_tells_what_there_is_and_a_size_to_pass_that_is_none() -> None:
    warning = (
        "WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 8589934592 bytes available. This will "
        "harm performance! If you are inside a Docker container, you can increase /dev/shm size by passing '--shm-size=10.24gb' to "
        "'docker run'"
    )
    assert told(warning).facts.values["shm_gib"] == 8
    assert (
        "shm_gib" not in told(warning.replace("because /dev/shm has only 8589934592 bytes available", "")).facts.values
    )


@pytest.mark.parametrize(
    "volume",
    [
        "    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)\n    Medium:     Memory\n    SizeLimit:  200Gi",
        "    emptyDir:\n      medium: Memory\n      sizeLimit: 200Gi",
        "    emptyDir: {medium: Memory, sizeLimit: 200Gi}",
    ],
    ids=["described", "manifest", "one-line"],
)
def test_a_pods_volume_in_memory_has_a_limit(values, volume):
    mounted = "    Mounts:\n      /dev/shm from dshm (rw)\nVolumes:\n  dshm:\n"
    assert values(f"{mounted}{volume}\n")["shm_gib"] == 200
    assert "shm_gib" not in values(f"{mounted}{volume.replace('Memory', 'HugePages')}\n")
