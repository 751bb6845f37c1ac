"""What a scheduler or a container gives."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH --mem=0",
        "##SBATCH --mem=900G",
        "python train.py --mem 900",
        "requests:\n  memory: 256Gi",
        "limits:\n  memory: 200Mi",
        "$ cat /sys/fs/cgroup/memory.max\nmax",
        "$ cat /sys/fs/cgroup/memory/memory.limit_in_bytes\n9223372036854771712",
        "/sys/fs/cgroup/memory.max is what counts\n549755813888123456",
        "docker run --gpus all --shm-size 32g img",
        "docker run --gpus all img\npython train.py --memory 32g",
        "#SBATCH --mem-per-cpu=4G",
        "#SBATCH --mem-per-gpu=60G",
        "#PBS -l select=4:ncpus=32:mem=240gb",
        "=>> PBS: job killed: vmem 251912345kb exceeded limit 251658240kb",
        '            "Memory": 0,',
        "|   0  train.py     71.23GiB / 80.00GiB   94%",
        "       JobID      State     ReqMem\n------------ ---------- ----------\n88123        OUT_OF_ME+        4Gc",
        "MemFree: 12345678 kB",
        "scheduling_spec:\n  - task_type: worker\n    gpu: 1\n    mem: 32\n    cmd: python3 -m rpc_server",
        "Nodes: 2\nCores per node: 16\nMemory Efficiency: 98.40% of 192.00 GB (6.00 GB/core)",
        "requests: cpu: 16, memory: 256Gi",
    ],
)
def test_what_is_no_limit_tells_no_memory(values, text):
    assert "host_ram_gb" not in values(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("#SBATCH --mem=900G", 900),
        ("#SBATCH --mem 512000", 500),
        ("srun --mem=1T --gres=gpu:8 python train.py --bf16", 1024),
        ("    Limits:\n      memory:          512Gi\n    Requests:\n      memory:          256Gi", 512),
        ("resources:\n  limits:\n    memory: \"1Ti\"", 1024),
        ("resources:\n  limits:\n    memory: 500G", 465.7),
        ('"limits": {"memory": "64Gi", "nvidia.com/gpu": "1"}', 64),
        ("sidecar:\n  limits:\n    memory: 2Gi\nmain:\n  limits:\n    memory: 480Gi", 480),
        ("$ cat /sys/fs/cgroup/memory.max\n549755813888", 512),
        ("/sys/fs/cgroup/memory.max: 549755813888", 512),
        ("memory.limit_in_bytes 137438953472", 128),
        ("[Tue Jun  9 03:12:55 2026] memory: usage 536870912kB, limit 536870912kB, failcnt 1234", 512),
        ("docker run --gpus all --shm-size 32g -m 256g --ipc=host img", 256),
        ("MemTotal:       1056270524 kB", 1007.3),
        ("#SBATCH --cpus-per-task=32\n#SBATCH --mem-per-cpu=4G", 128),
        ("#SBATCH --mem-per-cpu 8000\n#SBATCH --ntasks-per-node=8\n#SBATCH -c 8", 500),
        ("#SBATCH --gpus=8\n#SBATCH --mem-per-gpu=60G\n#SBATCH -N 1", 480),
        ("#SBATCH --gpus-per-node=8 --cpus-per-gpu=12 --mem-per-cpu=5G", 480),
        (
            "       JobID      State     ReqMem    Elapsed\n------------ ---------- ---------- ----------\n"
            "88123        OUT_OF_ME+       256G   00:41:02",
            256,
        ),
        ("Memory Efficiency: 99.62% of 500.00 GB (500.00 GB/node)", 500),
        ("Nodes: 1\nCores per node: 16\nMemory Efficiency: 98.40% of 96.00 GB", 96),
        ("Limits: cpu: 16, memory: 256Gi", 256),
        ("earlyoom[655]: mem avail:  5120 of 257612 MiB ( 1.99%), swap free:    0 of 8191 MiB ( 0.00%)", 251.6),
        ("#BSUB -M 256G", 256),
        ('#BSUB -q gpu -M "128GB"', 128),
        ("#PBS -l select=1:ncpus=32:ngpus=8:mem=240gb", 240),
        ("#PBS -l mem=240gb", 240),
        ("#PBS -l nodes=1:ppn=32,mem=240gb", 240),
        ("=>> PBS: job killed: mem 251912345kb exceeded limit 251658240kb", 240),
        ('            "Memory": 137438953472,', 128),
        ("a1b2c3d4e5f6   trainer   812.3%    243.1GiB / 256GiB     94.96%    0B / 0B", 256),
        ("docker run --gpus all \\\n  --shm-size=16g \\\n  --memory=200g \\\n  img", 200),
        ("podman run --memory 256gb img", 256),
        ("services:\n  trainer:\n    mem_limit: 128g", 128),
        ("services:\n  trainer:\n    deploy:\n      resources:\n        limits:\n          memory: 128G", 128),
        ("[wsl2]\nmemory=24GB", 24),
        ("内存 limit 100G\nMem:           2015         230        1200         100         585        1700", 100),
        ("pod 内存 limit 800Gi\nMemTotal:       2113270524 kB", 800),
        ("内存 256G\nMem:           251         249           0           1           1           0", 251),
        ("MemTotal:       1056270524 kB\n#SBATCH --mem=200G", 200),
    ],
)  # fmt: skip
def test_it_reads_the_limit_of_host_memory(values, text, size):
    assert values(text)["host_ram_gb"] == size


def test_it_reads_cards_and_nodes_of_a_batch_script(values):
    found = values("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:a100:8\nsrun python train.py --bf16")
    assert (found["n_nodes"], found["gpus_per_node"], found["n_gpus"]) == (2, 8, 16)
    assert values("#SBATCH -N 4\n#SBATCH --gpus-per-node=8")["n_gpus"] == 32
    assert values("salloc -G 16")["n_gpus"] == 16


def test_it_reads_the_cards_of_a_pod(values):
    assert values("resources:\n  limits:\n    nvidia.com/gpu: 8")["gpus_per_node"] == 8


@pytest.mark.parametrize(
    ("text", "cards", "nodes"),
    [
        ("resources:\n  accelerators: H100:8\n", 8, 1),
        ('num_nodes: 2\nresources:\n  cloud: gcp\n  accelerators: "A100-80GB:4"\n', 4, 2),
        ("num_nodes: 3\nresources:\n  accelerators: {A100: 4}\n", 4, 3),
        ('num_nodes: 3\nresources:\n  accelerators: {"A100": 4}\n  disk_size: 200', 4, 3),
    ],
)
def test_it_reads_the_cards_of_a_skypilot_task(values, text, cards, nodes):
    found = values(text)
    assert (found["gpus_per_node"], found["n_nodes"]) == (cards, nodes)


def test_kinds_of_cards_to_choose_from_tell_no_number(values):
    assert "gpus_per_node" not in values("resources:\n  accelerators: {A100:8, H100:4}\n")


_SEFF = "{}State: TIMEOUT (exit code 0)\nNodes: {}\nCores per node: 112\nJob Wall-clock time: 12:00:10"


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (_SEFF.format("Job ID: 120033\nCluster: leo\n", 16), 16),
        (_SEFF.format("Job ID: 120033\nCluster: leo\n", 0), None),
        (_SEFF.format("", 16), None),
        ("Job ID: 120033\nNodes: 16 in the queue", None),
    ],
)
def test_the_report_of_a_job_tells_its_nodes(values, text, nodes):
    assert values(text).get("n_nodes") == nodes


LIMITS = """      resources:
        limits:
          nvidia.com/gpu: 8
          memory: 900Gi
"""
JOB = f"""kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
{LIMITS}    Worker:
      replicas: 3
{LIMITS}"""
CLUSTER = f"""kind: RayCluster
spec:
  headGroupSpec:
{LIMITS}  workerGroupSpecs:
    - replicas: 3
      groupName: workers
{LIMITS}"""
OTHER = """kind: Deployment
spec:
  replicas: 2
  template:
    resources:
      limits:
        memory: 64Gi
"""


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (JOB, 4),
        (CLUSTER, 4),
        (f"{LIMITS}always at the first save. 4 pods.", 4),
        (f"{LIMITS}replicas: 8. fsdp2", 8),
        (f"{LIMITS}1 of 4 pods died", 4),
        (f"{LIMITS}2 pods were OOMKilled", None),
        (f"{OTHER}8 x H100", None),
        ("replicas: 8", None),
    ],
)
def test_pods_of_which_each_has_cards_are_nodes(text: str, nodes: int | None, knowledge: Knowledge) -> None:
    found = diagnose(f"{text}\nverl GRPO of Qwen2.5-7B, OOMKilled", {}, knowledge, ()).facts.stated.get("n_nodes")
    assert (found.value if found and found.origin == "read" else None) == nodes
