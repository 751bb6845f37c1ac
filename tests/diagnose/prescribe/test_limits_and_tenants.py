"""Advice where a container's limit was reached, and where somebody has looked at the cards."""

from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose

KILLED = "grpo, 7B, 4 GPUs. dmesg:\n[12.3] {}ut of memory: Killed process 903 (python3) total-vm:98765432kB, anon-rss:1310kB\n"
START = (
    "verl ppo, 4 x H100, actor_rollout_ref.rollout.gpu_memory_utilization=0.6. {}\n"
    "ValueError: Free memory on device (27.81/79.25 GiB) on startup is less than desired GPU memory utilization (0.6, 47.55 GiB). "
    "Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
)


def levers(text):
    return [one.lever.slug for one in diagnose(read(text), {}, current(), ()).prescriptions]


def test_where_a_containers_limit_was_reached_raising_it_comes_first():
    assert levers(KILLED.format("Memory cgroup o"))[0] == "host.more_ram"
    assert levers(KILLED.format("O"))[0] != "host.more_ram"


def test_who_has_looked_is_not_told_to_stop_what_is_left():
    assert "hardware.kill_stale" in levers(START.format(""))
    assert "hardware.kill_stale" not in levers(START.format("Nothing else runs, nothing else on the node."))


def test_what_the_figures_show_outranks_who_has_looked():
    oom = (
        "TRL DPO, one A100 80GB. {}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "79.15 GiB of which 1.25 GiB is free. Process 4711 has 30.00 GiB memory in use. Including non-PyTorch memory, this process has "
        "47.88 GiB memory in use.\n"
    )
    assert "hardware.kill_stale" in levers(oom.format(""))
    assert "hardware.kill_stale" in levers(oom.format("Nothing else is running on the GPU."))
