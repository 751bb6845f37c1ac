"""A card's size behind what is used of it."""

import pytest


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("nvidia-smi shows 76G/80G, then CUDA out of memory, GRPO of Qwen2.5-7B", 80),
        ("显存占用 76G/80G，跑到更新就 OOM", 80),
        ("每张卡 22.1/24GB，CUDA out of memory", 24),
    ],
)
def test_what_a_card_is_called_to_have_is_its_size(values, text, size):
    assert values(text)["gpu_mem_gib"] == size


@pytest.mark.parametrize(
    "text",
    [
        "/dev/shm 60G/64G, CUDA out of memory",
        "主机内存 90G/96G 的时候被 kill",
        "3.5G/50G of the download, then CUDA out of memory",
        "2026/11/24 CUDA out of memory",
        "pod memory 76G/80G, killed",
    ],
)
def test_no_card_is_read_from_other_memory_or_other_numbers(values, text):
    assert "gpu_mem_gib" not in values(text)


def test_of_the_node_the_second_size_is_what_it_has(values):
    assert values("内存 480G/512G 的时候 ray 把 worker 杀了")["host_ram_gb"] == 512
