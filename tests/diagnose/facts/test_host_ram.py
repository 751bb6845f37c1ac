"""The RAM of a node in words, keys and limits, and what is none of it."""

import pytest

from tests.diagnose.facts.conftest import told


def test_ram_of_a_whole_cluster_is_not_that_of_one_machine(values):
    assert "host_ram_gb" not in values("64 GPUs with 6 TB of host memory")
    assert values("64 GPUs, 2 TB of RAM per node")["host_ram_gb"] == 2048


def test_a_terabyte_that_is_spelt_out_is_what_it_is_spelt_as(values):
    assert values("4 台机器，每台内存 1T（1000G）")["host_ram_gb"] == 1000


@pytest.mark.parametrize(
    "text",
    [
        "it uses 400 GB of RAM",
        "内存涨到 500GB 就挂",
        "rank 0 needs about 320 GB of RAM more",
        "[2026-02-02 03:04:06 TP1] Allocating 96.00 GB host memory for hierarchical KV cache.",
        "pinning 200 GB of host memory",
        "k8s requests memory: 100Gi",
        "srun --mem-per-gpu=64G",
        "docker run --shm-size 64g",
        "CPU OOM, we have 200GB of disk",
        "CUDA OOM, we have 640GB",
        "the node (80GB) is dead",
    ],
)
def test_a_use_of_host_ram_is_no_capacity(values, text):
    assert "host_ram_gb" not in values(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("物理内存 760GB", 760),
        ("显存用了 30G 左右，内存也够 512G", 512),
        ("内存够用，512G", 512),
        ("the node (1TB) is dead", 1024),
        ("CPU OOM (ray kills, we have 200GB)", 200),
        ("free -g shows 3 of 251 free", 251),
        ("free -h: 3G free of 503G", 503),
        ("ray OOM killer, node memory is 768G", 768),
        ("760GB 内存", 760),
        ("a node with 2TB RAM", 2048),
        ("CPU Memory\t: 1007.60 GB", 1007.6),
        ("64GB of system RAM", 64),
        ("内存只有256G", 256),
        ("RAM usage 480GB of 503GB", 503),
        ("RAM used 480GB / total 503GB", 503),
        ("using sbatch --mem=400G", 400),
        ("Slurm --mem 400G", 400),
        ("each node 8xA100 80GB and 1TB memory", 1024),
        ("2 nodes x 8 H800, each 1TB.", 1024),
        ("we use docker run --memory=256g", 256),
        ("docker -m 256g", 256),
        ("RAM 1TB but 256GB in the container", 256),
    ],
)
def test_it_reads_host_ram(values, text, size):
    assert values(text)["host_ram_gb"] == size


def test_gpu_memory_is_no_host_ram(values):
    assert "host_ram_gb" not in values("显存 80GB 一直爆")


def test_the_memory_of_a_card_is_no_ram_of_the_host(values):
    assert "host_ram_gb" not in values("Unsloth: Your GPU has CUDA compute capability 7.5 with VRAM = 14.74 GB.")


@pytest.mark.parametrize(
    "text",
    [
        "Our pods have 1.5TB of RAM requested but the limit is 750Gi.",
        "容器限制了 750G，机器内存 1.5T",
        "docker memory limited to 750GB",
        "KubeRay, 8 workers of 8xH100 each, memory limit 750Gi",
    ],
)
def test_a_limit_of_a_container_in_words_outranks_what_is_requested_or_there(values, text):
    assert values(text)["host_ram_gb"] == 750


def test_the_ram_of_a_node_may_stand_behind_a_card(values):
    assert values("verl 7B 8xA100, 512G 内存 killed")["host_ram_gb"] == 512
    assert values("verl 7B 8xA100 80G 512G 内存 killed")["host_ram_gb"] == 512


def test_ram_in_brackets_behind_a_card_is_the_host_s_where_they_call_it_so(values):
    assert values("free T4 (12.7 GB system RAM), session crashed")["host_ram_gb"] == 12.7
    assert "host_ram_gb" not in values("8xA100 80GB system memory OOM")
    assert "host_ram_gb" not in values("RTX 4090 (24GB) system RAM is full")


def test_a_limit_of_shared_memory_is_none_of_host_ram(values):
    assert "host_ram_gb" not in values("容器的 shm 共享内存限制 64G")


def test_a_limit_of_a_pod_in_chinese_is_the_ram_of_its_node(values):
    assert values("8xH100，pod 内存 limit 800Gi")["host_ram_gb"] == 800


def test_the_size_of_a_card_before_the_word_for_ram_is_not_the_ram(values):
    found = values("单机 8*A100 80G 内存 1T")
    assert (found["gpu_mem_gib"], found["host_ram_gb"]) == (80, 1024)


def test_a_use_of_memory_is_no_card_s_size(values):
    assert "gpu_mem_gib" not in values("单个环境约占用 10 GiB 显存，爆显存")


def test_the_memory_on_an_npu_is_no_host_ram(values):
    found = values("单 NPU 的片上内存为 64GB，跑 7B OOM")
    assert "host_ram_gb" not in found
    assert found["oom_kind"] == "gpu_oom"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("free -h says Mem: 125Gi total", 125),
        ("free -g: 503 total, 420 used", 503),
        ("free -h: total 125Gi used 120Gi", 125),
        ("free -g shows 420 used", None),
    ],
)
def test_what_somebody_tells_of_the_ram_that_free_prints_is_read(values, text, size):
    assert values(f"verl, killed by signal 9. {text}").get("host_ram_gb") == size


def test_what_ray_counts_against_outranks_the_rounded_size_that_people_tell(values):
    node = (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory. Memory on the node (IP: 10.0.0.3, ID: a1) "
        "where the task (task ID: f, name=main_task, pid=1, memory used=6.11GB) was running was 480.20GB / 503.49GB (0.95)"
    )
    assert values(f"8 卡，内存 512G\n{node}")["host_ram_gb"] == 503.49
    assert values(f"8 卡，容器内存限制 200G\n{node}")["host_ram_gb"] == 200


def test_a_disk_of_each_node_is_no_ram(values):
    assert "host_ram_gb" not in values("2 nodes x 8 H800, each 1TB NVMe")


@pytest.mark.parametrize(
    ("said", "ram"),
    [
        ("WSL2, 64GB RAM (32GB for WSL), 4090: Killed", 32),
        ("64GB RAM, 24 GB of it goes to WSL2: Killed", 24),
        ("WSL (memory=24GB in .wslconfig), 64GB RAM: Killed", 24),
    ],
)
def test_what_is_given_to_wsl_is_what_there_is(values, said, ram):
    assert values(said)["host_ram_gb"] == ram


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        ("Ray killed the worker. Node has 1.5 TB.", 1536),
        ("Each server has 768 GB and its worker is killed by the kernel", 768),
        ("2 机 16 卡，内存每台 2TB", 2048),
    ],
)
def test_what_a_machine_has_may_be_told_without_a_word_for_ram(values, text, gib):
    assert values(text)["host_ram_gb"] == gib


def test_what_a_machine_s_cards_have_is_not_its_ram(values):
    assert "host_ram_gb" not in values("each node has 141GB H200 cards")


@pytest.mark.parametrize(
    "text",
    [
        "两台机器，每台内存 1TB，docker run 的 --memory 是 800g",
        "each node has 1 TB of RAM\ndocker run --memory=800g img",
    ],
)
def test_the_limit_of_a_container_is_lower_than_what_its_machine_has(values, text):
    assert values(text)["host_ram_gb"] == 800


@pytest.mark.parametrize(("text", "gib"), [("主机内存爆了，服务器有 2T", 2048), ("主机内存爆了，机器有 2T 硬盘", None)])
def test_a_terabyte_of_a_machine_is_its_ram_and_that_of_a_disk_is_not(values, text, gib):
    assert values(text).get("host_ram_gb") == gib


SWAPS = "vllm serve Qwen/Qwen3-14B --tensor-parallel-size 2 --swap-space 16\n{failed}\n{says}\n"


def test_a_small_machine_is_read_where_the_host_failed(values):
    killed = "oom-kill:constraint=CONSTRAINT_NONE,task=python,pid=9\nOut of memory: Killed process 9 (python)"
    assert values(SWAPS.format(failed=killed, says="The node has 64 GB."))["host_ram_gb"] == 64
    cuda = "torch.OutOfMemoryError: CUDA out of memory."
    assert "host_ram_gb" not in values(SWAPS.format(failed=cuda, says="The node has 64 GB."))


def test_swap_space_that_a_command_asks_for_is_named_first():
    killed = "oom-kill:constraint=CONSTRAINT_NONE,task=python,pid=9\nOut of memory: Killed process 9 (python)"
    first = told(SWAPS.format(failed=killed, says="")).prescriptions[0]
    assert first.lever.slug == "rollout.swap_space.down"


@pytest.mark.parametrize("words", ["we need more RAM in our boxes (256 GB each)", "nodes have RAM: 256 GB each"])
def test_what_each_machine_has_is_no_size_of_a_card(values, words):
    found = values(f"{words}, verl OOM")
    assert (found.get("host_ram_gb"), found.get("gpu_mem_gib")) == (256, None)


def test_machines_without_a_word_of_ram_tell_neither(values):
    assert not {"host_ram_gb", "gpu_mem_gib"} & values("verl OOM on our boxes (256 GB each)").keys()


@pytest.mark.parametrize(
    "told_so",
    [
        "docker container with 256GB of memory limit, host has 2T",
        "宿主机 2T 内存，docker 只给了 256G",
        "the pod has a 256GB RAM cap, the machine has 2TB of RAM",
    ],
)
def test_a_limit_comes_before_what_the_machine_has(values, told_so):
    assert values(told_so)["host_ram_gb"] == 256
