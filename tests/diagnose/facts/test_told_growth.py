"""Growth in a person's own words: which sizes and steps are read, whose memory it is, what is no growth."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

GIB = 2**30
TOLD = [
    ("GRPO, reserved memory: step 10 62GB, step 50 71GB, step 90 OOM. 8xA100 80G", "gpu", (10, 62), (50, 71)),
    (
        "memory keeps growing, from 45 GB at step 1 to 76 GB at step 200, then CUDA out of memory",
        "gpu",
        (1, 45),
        (200, 76),
    ),
    ("显存一直涨，第1步 40G，第100步 72G，第150步就爆了。4卡A100 80G", "gpu", (1, 40), (100, 72)),
    ("显存从第 10 步的 52G 涨到第 300 步的 78G，然后 OOM", "gpu", (10, 52), (300, 78)),
    ("host RAM: 300GB at start, 520GB after 20 steps, 890GB after 60 steps, then killed", "host", (0, 300), (60, 890)),
    ("训练一开始内存 200G，100 步后 450G，200步 700G，然后 worker 被 kill 了", "host", (0, 200), (200, 700)),
    ("step 0: 50GB\nstep 100: 60GB\nstep 200: 70GB\nstep 300: OOM\nOpenRLHF PPO 7b 8x80g", "gpu", (0, 50), (200, 70)),
    (
        "After ~200 steps GPU memory has grown from 14GB to 23.5GB, then OOM, PPO with TRL on a 4090",
        "gpu",
        (0, 14),
        (200, 23.5),
    ),
    ("显存从40G慢慢涨到了78G，大概300步之后就OOM，8卡A100 80G verl", "gpu", (0, 40), (300, 78)),
    ("host RAM climbs from 300 GB up to 0.9 TB in 150 steps and Ray kills the worker", "host", (0, 300), (150, 921.6)),
    ("it used 350 GB at step 5 and 0.9 TB at step 40, then it was gone", "host", (5, 350), (40, 921.6)),
    (
        "host memory with async rollout, perf/cpu_memory_used_gb: step 1 412, step 50 560, step 150 880, then the node is dead. "
        "GPU memory is flat. verl GRPO 8xH100",
        "host",
        (1, 412),
        (150, 880),
    ),
    (
        "max_memory_allocated_gb 41 at step 10, 55 at step 100, 78 at step 200, CUDA OOM. verl 8xH100",
        "gpu",
        (10, 41),
        (200, 78),
    ),
    ("显存占用(GB): 第10步 41，第100步 55, 第200步 78，然后OOM verl 8xH100", "gpu", (10, 41), (200, 78)),
    # W&B's chart of a card of 80 GiB
    (
        "W&B: GPU memory allocated 40% at step 10, 75% at step 200, OOM at step 312. 8xH100, TRL GRPO",
        "gpu",
        (10, 32),
        (200, 60),
    ),
]
NOT_TOLD = [
    "GPU utilization 41% at step 10, 55% at step 100, 78% at step 200. CUDA OOM at step 312, GPU memory full. 8xH100 TRL",
    "accuracy of GPU memory task 41% at step 10, 55% at step 100, CUDA OOM 8xH100 TRL",
    "TRL GRPO, GPU memory 41% at step 10, 55% at step 100, CUDA OOM",  # of a card that nobody names
    "第1步 40G，第2步 60G，第3步 78G 爆了, verl 8卡A100 80G",  # the first steps make state and caches
    "GPU memory 60GB at step 10, 60GB at step 200, then OOM in evaluation",
    "reserved 71GB at step 10, 62GB at step 50, OOM at step 60",
    "OOM at step 90, A100 80GB",
    "I moved from 24GB to 80GB cards and it still runs out after 200 steps, GPU memory is full",
    "we went from 40G to 80G A100 and increased the batch, OOM at step 200",
    "memory 20GB at step 10 and 30GB at step 100, then OOM",  # of a card or of the host: nobody says
]


@pytest.mark.parametrize(("text", "pool", "first", "last"), TOLD)
def test_sizes_at_steps_are_a_growth(text, pool, first, last, knowledge):
    found = diagnose(text, {}, knowledge, ())
    (growth,) = found.facts.growth
    assert (growth.pool, found.kind, found.pool) == (pool, "memory_growth", pool)
    assert (growth.first, growth.last) == ((first[0], first[1] * GIB), (last[0], round(last[1] * GIB)))
    assert growth.each == pytest.approx((growth.last[1] - growth.first[1]) / (last[0] - first[0]))


@pytest.mark.parametrize("text", NOT_TOLD)
def test_what_is_no_growth_stays_what_it_was(text, knowledge):
    found = diagnose(text, {}, knowledge, ())
    assert not found.facts.growth
    assert found.kind != "memory_growth"


def test_an_answer_says_whose_memory_grows(knowledge):
    text = "memory 20GB at step 10 and 30GB at step 100, then OOM"
    (growth,) = diagnose(text, {"growing_pool": "host"}, knowledge, ()).facts.growth
    assert growth.pool == "host"


def test_sizes_at_steps_are_no_capacity_of_the_node(knowledge):
    text = "训练一开始内存 200G，100 步后 450G，200步 700G，然后 worker 被 kill 了，机器内存 1T"
    assert diagnose(text, {}, knowledge, ()).facts.values["host_ram_gb"] == 1024


def test_a_log_outranks_what_is_told_of_the_same_memory(knowledge):
    lines = "\n".join(f"step:{step} - perf/cpu_memory_used_gb:{100 + step}" for step in range(1, 40))
    text = f"host RAM was 50GB at step 1 and 90GB at step 30\n{lines}"
    (growth,) = [one for one in diagnose(text, {}, knowledge, ()).facts.growth if one.pool == "host"]
    assert growth.title != "as you tell it"


def test_the_memory_that_is_denied_is_not_the_one_that_grows(knowledge):
    text = (
        "内存 (不是显存) 一直涨, 然后被 ray kill\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 192.168.1.4, ID: 3e) was 1434.1GB / 1509.4GB (0.9501), which exceeds the memory usage threshold of 0.95.\n"
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    )
    advice = diagnose(text, {}, knowledge, ())
    assert not any(one.lever.pools == ("gpu",) for one in advice.prescriptions)


@pytest.mark.parametrize(
    ("text", "pool"),
    [
        ("perf/max_memory_reserved_gb 61.2, 64.9, 69.4, 73.8, 77.1 → then OOM at step 6. verl GRPO 8xH100", "gpu"),
        ("gpu memory per step: 30.1GB, 35.5GB, 41.2GB, 47GB and then CUDA out of memory, TRL GRPO", "gpu"),
        ("perf/cpu_memory_used_gb: 120 -> 180 -> 240 -> 310, then ray kills the worker. verl grpo", "host"),
        ("显存 step 1 43G, step 2 51G, step 3 60G, step 4 70G，然后 CUDA OOM. trl grpo", "gpu"),
    ],
)
def test_sizes_of_steps_in_a_row_tell_of_growth(text, pool) -> None:
    facts = diagnose(text, {}, current(), ()).facts
    assert [one.pool for one in facts.growth] == [pool]
    assert facts.values["oom_kind"] == "memory_growth"


@pytest.mark.parametrize(
    "text",
    [
        "gpu memory per step (GB): 20.1 20.4 20.2 20.3 then CUDA OOM. trl grpo",
        "gpu memory per step (GB): 40.1, 40.4, 40.6, 40.7 then CUDA OOM. trl grpo",
        "tried each step limit of GPU memory 1024, 512, 256, 128: CUDA OOM. trl grpo",
        "显存 24G, 40G, 48G, 80G 的卡都试过了，都 CUDA OOM. verl grpo",
        "response length after each step: 12, 15, 19, 24, then GPU memory is full, CUDA OOM. verl grpo",
        "GPU memory is fine, mean tokens each step: 120, 150, 190, 240, then CUDA OOM. verl grpo",
    ],
)
def test_sizes_that_do_not_clearly_rise_or_are_of_no_steps_tell_of_none(text) -> None:
    assert not diagnose(text, {}, current(), ()).facts.growth
