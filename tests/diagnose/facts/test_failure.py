"""What ran out, in which phase, at which step."""

import pytest

NODE = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."


TORCH = "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free."


def test_a_text_without_failure_has_no_kind_and_no_phase(values):
    found = values("How many GPUs does GRPO need during rollout?")
    assert "oom_kind" not in found
    assert "phase" not in found


def test_a_bare_oom_does_not_settle_what_ran_out(values):
    assert values("It goes OOM at once, what can I do?")["oom_kind"] == "other"


def test_a_traceback_through_torch_settles_a_bare_oom(values):
    text = 'OOM:\nTraceback (most recent call last):\n  File "/opt/site-packages/torch/nn/functional.py", line 5, in linear\n    x'
    assert values(text)["oom_kind"] == "gpu_oom"


def test_a_host_kill_outranks_the_message_that_follows(values):
    assert values(f"{NODE}\n\n{TORCH}")["oom_kind"] == "host_ram"


def test_growth_told_in_words_outranks_a_message(values):
    assert values(f"GPU memory keeps growing with each step.\n\n{TORCH}")["oom_kind"] == "memory_growth"


def test_a_sudden_peak_is_no_growth(values):
    assert values("There is a sudden peak of GPU memory, then CUDA OOM.")["oom_kind"] == "gpu_oom"


def test_figures_broken_inside_a_number_are_put_together(values):
    text = f"{TORCH} Of the allocated memory 40.\n25 GiB is allocated by Py\nTorch, and 3.50 GiB is reserved by PyTorch but unallocated."
    found = values(text)
    assert (found["torch_allocated_gib"], found["torch_reserved_gib"]) == (40.25, 3.5)


def test_a_kind_says_where_it_was_read(facts):
    assert facts(f"first line\n{TORCH}").stated["oom_kind"].span.line == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It goes OOM at once. How can I save VRAM?", "gpu_oom"),
        ("一直 OOM，怎么省显存？", "gpu_oom"),
        ("内存 OOM（不是显存），主机内存爆了", "host_ram"),
        ("OOM, the process is killed, VRAM is half empty", "other"),
    ],
)
def test_what_the_text_is_about_settles_a_bare_oom(values, text, kind):
    assert values(text)["oom_kind"] == kind


def test_a_launchers_own_frames_settle_nothing(values):
    text = 'OOM\nTraceback (most recent call last):\n  File "/opt/torch/distributed/launcher/api.py", line 5, in launch_agent\n    raise x'
    assert values(text)["oom_kind"] == "other"


def test_signal_nine_alone_is_only_presumed_to_be_the_host(facts):
    kind = facts("failed (exitcode: -9) local_rank: 0 (pid: 4242) of binary: /usr/bin/python3").stated["oom_kind"]
    assert (kind.value, kind.origin) == ("host_ram", "assumed")
    assert kind.why


def test_signal_nine_beside_the_kernels_line_is_certain(facts):
    text = "exit code -9\nMemory cgroup out of memory: Killed process 4242 (python)"
    assert facts(text).stated["oom_kind"].origin == "read"


def test_a_killed_workers_share_is_its_row_of_the_table(values):
    text = (
        "(raylet) task, pid=613 was running\n(raylet) task, pid=613) was running, which exceeds the memory usage threshold of 0.95. "
        f"Ray killed this worker\n{NODE}\nPID MEM(GB) COMMAND\n614 50.94 ray::A.b\n613 46.40 ray::C.d"
    )
    assert values(text)["process_gib"] == 46.4


FOLDED = """Killed by Ray:

ray.exceptions.RayTaskError(OutOfMemoryError) ...
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on
memory.
Memory on the node (IP: 10.0.0.9, ID:
27b01b0caacf79568044709622d7d3fbacebe7fbc27a3a426618650e) where the task (actor
ID: c99787370ca3e6b7b059f045f14c1656,
name=WorkerDict_0:3:WorkerDict.__init__, pid=33725, memory used=56.55GB)
was running was 246.41GB / 251.54GB (0.979606), which exceeds the memory usage
threshold of 0.95. Ray killed this worker (ID:
499b8461225d3e740aca535425ea6a819bd80c447748196f2774f4e9)."""


def test_a_message_that_was_broken_at_blanks_is_read_with_its_figures(values):
    found = values(FOLDED)
    assert (found["oom_kind"], found["node_used_gb"], found["process_gib"]) == ("host_ram", 246.41, 56.55)


def test_the_class_that_ray_names_is_presumed_to_be_that_of_a_card(facts):
    fact = facts("ray.exceptions.RayTaskError(OutOfMemoryError): ray::Worker.step() (pid=1, ip=10.0.0.3)").stated[
        "oom_kind"
    ]
    assert (fact.value, fact.certain) == ("gpu_oom", False)


def test_a_table_of_cards_says_nothing_of_what_ran_out(values):
    row = "| GPU   PID   Type   Process name       GPU Memory |\n|   0    12      C   python              4MiB |"
    assert values(f"it stops with OOM\n{row}")["oom_kind"] == "other"


@pytest.mark.parametrize(
    "text",
    [
        "8 张 A800 跑 32B，显存够不够，要不要 offload",
        "4 张 4090 跑 7B 会不会 OOM",
        "显存会不会爆？",
        "卡住不动，没有报错。是 OOM 吗",
    ],
)
def test_a_question_whether_memory_is_enough_is_no_failure(values, text):
    assert "oom_kind" not in values(text)


@pytest.mark.parametrize(
    "text", ["verl 在 update_actor 的时候报错 KeyError: 'responses'", "It crashes while saving the checkpoint."]
)
def test_a_failure_that_is_only_placed_is_none_of_memory(values, text):
    assert "oom_kind" not in values(text)


def test_a_full_disk_stays_one_beside_words_that_place_the_failure(values):
    found = values("OSError: [Errno 28] No space left on device: '/ckpt/a.pt'\n保存 checkpoint 的时候挂了")
    assert "oom_kind" not in found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("单机8卡，跑几十步之后主机内存涨满被 kill", "host_ram"),
        ("长度 8k 没事 16k 就炸", "other"),
        ("训到一半 loss 爆了", None),
        ("Host RAM grows ~6GB per step until it is killed", "memory_growth"),
        ("Error while creating shared memory segment /dev/shm/nccl-a (size 9637888)", "host_shm"),
        ("ray.exceptions.OutOfDiskError: Local disk is full", None),
    ],
)
def test_what_ran_out_is_read_from_the_words_that_people_and_programs_have(values, text, kind):
    assert values(text).get("oom_kind") == kind


TWO = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which "
    "62.69 MiB is free. Process 3312 has {other} GiB memory in use. Process 4881 has 3.46 GiB memory in use. Of the allocated memory "
    "2.88 GiB is allocated by PyTorch, and 112.11 MiB is reserved by PyTorch but unallocated."
)


def test_of_processes_without_a_name_the_one_that_holds_what_torch_counts_is_the_own(values):
    assert values(TWO.format(other="20.11"))["process_gib"] == 3.46


def test_where_the_message_is_cut_before_what_is_reserved_a_fifth_more_may_be_the_own(values):
    cut = TWO.partition(", and 112.11")[0]
    assert values(cut.format(other="20.11"))["process_gib"] == 3.46
    assert "process_gib" not in values(cut.replace("3.46", "9.90").format(other="20.11"))


def test_of_two_like_processes_the_one_with_least_beside_torch_is_assumed(facts):
    own = facts(TWO.format(other="3.10")).stated["process_gib"]
    assert (own.value, own.origin) == (3.1, "assumed")


def test_a_process_of_many_groups_is_the_own_where_no_other_is_near(facts):
    split = TWO.replace("2.88 GiB is allocated", "30.21 GiB is allocated").replace("112.11 MiB", "6.95 GiB")
    own = facts(split.format(other="98.02").replace("3.46", "39.88")).stated["process_gib"]
    assert (own.value, own.origin) == (39.88, "assumed")
    assert "process_gib" not in facts(split.format(other="41.02").replace("3.46", "39.88")).stated


KERNEL = "Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:9kB, anon-rss:{kib}kB, file-rss:0kB, shmem-rss:{shm}kB"


def test_what_the_kernel_killed_held_its_own_pages_and_those_that_it_shares(values):
    text = KERNEL.format(pid=4102, name="python3", kib=8 << 20, shm=2 << 20)
    assert values(text)["process_gib"] == 10


def test_pages_that_a_killed_process_shares_are_named_where_they_are_most(facts):
    held = [
        KERNEL.format(pid=1, name="raylet", kib=mine << 20, shm=shared << 20) for mine, shared in ((1, 88), (88, 1))
    ]
    assert ["shared" in facts(text).stated["process_gib"].why for text in held] == [True, False]


def test_of_several_that_the_kernel_killed_the_largest_counts(values):
    small, large = (KERNEL.format(pid=pid, name="python3", kib=pid << 20, shm=0) for pid in (2, 40))
    assert values(f"{small}\n{large}")["process_gib"] == 40


def test_the_row_of_rays_table_outranks_what_the_kernel_killed(values):
    text = f"task, pid=613) was running, Ray killed this worker\n{NODE}\nPID MEM(GB) COMMAND\n613 46.40 ray::C.d"
    assert values(f"{text}\n{KERNEL.format(pid=2, name='python3', kib=1 << 20, shm=0)}")["process_gib"] == 46.4


def test_half_a_figure_is_no_figure(values):
    found = values(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.95 GiB (GPU 1; 39,59 GiB total capacity; 35,45 GiB already allocated)"
    )
    assert found["tried_alloc_gib"] == 1.95
    assert {"gpu_total_gib", "torch_allocated_gib"}.isdisjoint(found)


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", "Huawei"),
        ("HIP out of memory. Tried to allocate 2.00 GiB.", "AMD"),
        ("XPU out of memory. Tried to allocate 2.00 GiB.", "Intel"),
        ("MPS backend out of memory (MPS allocated: 3.83 GB, max allowed: 4.27 GB).", "Apple"),
        ("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.", "Google"),
        ("8 x MI300X, out of GPU memory", "AMD"),
    ],
)
def test_the_message_or_the_card_tells_whose_card_it_is(values, text, maker):
    assert (values(text)["oom_kind"], values(text)["gpu_maker"]) == ("gpu_oom", maker)


def test_the_usual_maker_is_not_said(values):
    assert "gpu_maker" not in values("CUDA out of memory. Tried to allocate 2.00 GiB. 8 x A100")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("verl-run  3120.4%   498.7GiB / 503.5GiB   99.05%\nverl grpo Qwen2.5-7B 8xH100: all fine, it trains", None),
        ("verl-run  3120.4%   498.7GiB / 503.5GiB   99.05%\nthe workers are gone without a traceback", "host_ram"),
    ],
)
def test_a_full_host_tells_a_failure_only_beside_one(values, text, kind):
    assert values(text).get("oom_kind") == kind
