"""Figures and words of one page agree with each other, each is said once, and none is told that nobody can know."""

from __future__ import annotations

import re

import pytest
from django.template import engines

from diagnose.estimate.lengths import assumed_lengths
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words import value_words
from wizard import advice, words
from wizard.asking import ask
from wizard.chart import bars, drawing
from wizard.ledger import beside
from wizard.notes import notes
from wizard.state import Answers
from wizard.verdict import figures

COMMAND = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=256 data.max_prompt_length=1024 "
    "data.max_response_length=8192 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8\n"
)
REFUSED = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked}. "
    "GPU 0 has a total capacity of {total} of which {free} is free."
)
IMAGES = (
    "在用ms-swift做GRPO，Qwen2.5-VL-7B，4张A800 80G，训练几百步之后内存（不是显存）涨到1T然后进程被kill了\n"
    "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-VL-7B-Instruct --train_type full --use_vllm true --vllm_mode colocate "
    "--num_generations 8 --per_device_train_batch_size 2 --max_completion_length 2048 --deepspeed zero3_offload\n"
)


def answer(text: str):
    return diagnose(text, {}, current(), ())


def refused(asked: str = "4.00 GiB", total: str = "79.11 GiB", free: str = "1.00 GiB") -> str:
    return REFUSED.format(asked=asked, total=total, free=free)


def test_what_is_less_than_a_tenth_of_a_gib_is_no_nothing():
    told = figures(answer(refused("20.00 MiB", "23.64 GiB", "11.00 MiB")), None, None, None)
    assert [(one.title, one.value, one.unit) for one in told] == [
        ("asked for", "20", "MiB"),
        ("was free", "11", "MiB"),
        ("the card has", "23.6", "GiB"),
    ]


def test_a_figure_differs_from_itself_by_nothing():
    found = answer(COMMAND + refused(total="79.35 GiB"))
    row = next(row for row in beside(found, None) if row.title == "Capacity as printed")
    assert (row.printed, row.estimate, row.difference) == ("79.3", "79.3", "0.0")


def test_the_other_pool_is_told_by_one_figure():
    found = answer(IMAGES)
    gpu = found.estimate.gpu
    assert gpu is not None
    assert gpu.limit is not None
    over = float(gpu.worst.shown) - round(gpu.limit / 2**30, 1)
    figure = f"{over:.1f}\u00a0GiB over" if over > 0 else f"{-over:.1f}\u00a0GiB free"
    assert figure in words.other_pool_words(gpu)
    moved = [one for one in advice.prescriptions(found, {}) if any(bar.title == "GPU, now" for bar in one.bars)]
    assert moved
    for one in moved:
        assert next(bar.size for bar in one.bars if bar.title == "GPU, now") == gpu.peak.shown


def test_the_node_is_not_told_to_have_what_nobody_knows():
    host = answer(IMAGES).estimate.host
    assert host is not None
    assert host.capacity is None
    assert host.limit_why == ""


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=88123.0. Some of the step tasks have been OOM Killed.",
        "[4.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=pods,mems_allowed=0-1,task=python3,pid=522,uid=0\n"
        "[4.2] Memory cgroup out of memory: Killed process 522 (python3) total-vm:251023332kB, anon-rss:188231220kB, file-rss:512kB",
    ],
)
def test_the_words_of_a_failure_are_no_settings_of_an_unknown_framework(line):
    assert "We do not know this framework" not in [note.title for note in notes(answer(line))]


def test_the_highest_phase_of_what_is_not_explained_is_named():
    found = answer(COMMAND + '  File "verl/workers/actor/dp_actor.py", line 431, in update_policy\n' + refused())
    note = next(note for note in notes(found) if note.title == "The settings do not explain this failure")
    peak = found.estimate.gpu.peak
    assert re.search(rf"the highest phase, the [a-z -]+, needs {peak.shown}\u00a0GiB", note.words)


def test_a_number_to_choose_is_told_as_facts_are():
    asked = next(one for one in answer(COMMAND).questions if one.question.fact == "real_response_length")
    shown = ask(asked, answer(COMMAND).facts, Answers())
    assert shown.options
    assert all(re.fullmatch(r"[\d,]+\u00a0tokens?", option.title) for option in shown.options)


def test_what_cannot_be_told_is_not_told_as_no_gain():
    found = answer(
        "trl 0.19.1, 4x L40S\naccelerate launch --config_file zero2.yaml --num_processes 4 grpo.py --model_name_or_path Qwen/Qwen3-4B "
        "--per_device_train_batch_size 8 --num_generations 8 --max_prompt_length 1024 --max_completion_length 4096 --use_vllm true "
        "--vllm_mode colocate --vllm_gpu_memory_utilization 0.3\n" + refused("9.27 GiB", "47.50 GiB", "5.06 GiB")
    )
    open_ones = [
        one for one in advice.not_advised(found) if one.why.startswith("What it would change from is not known")
    ]
    assert open_ones
    assert {one.reason for one in open_ones} == {"cannot tell"}


def test_every_computed_change_has_a_reason():
    given = answer(
        COMMAND + '  File "verl/workers/actor/dp_actor.py", line 431, in update_policy\n' + refused()
    ).prescriptions
    assert [one.lever.slug for one in given if one.after is not None and not one.why] == []


def test_a_length_at_the_limit_is_not_told_as_a_share_of_it():
    text = (
        "megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 --max_length 2048 "
        "--max_completion_length 8192 --num_generations 8 --micro_batch_size 1 --global_batch_size 64\n8 x H100 80GB\n"
    )
    taken = {fact.id: fact for fact in assumed_lengths(answer(text + refused()).facts)}
    assert taken["real_response_length"].value == 8192
    assert "of the limit on average" not in taken["real_response_length"].why


def test_figures_do_not_leave_their_unit():
    template = engines["django"].from_string("{% load keys %}{{ words|unbroken }}")
    assert (
        template.render({"words": "Logits: 18.6 → 9.3 GiB of 4 rows"})
        == "Logits: 18.6\u00a0→\u00a09.3\u00a0GiB of 4 rows"
    )


@pytest.mark.django_db
def test_that_no_saving_can_be_computed_is_said_once(client):
    page = client.post("/result/", {"paste": refused()}).content.decode()
    assert "No saving is computed without" in page
    assert "What it saves cannot be computed" not in page


@pytest.mark.django_db
def test_the_page_says_on_which_side_of_it_a_thing_stands(client):
    page = client.post("/result/", {"paste": COMMAND}).content.decode()
    assert page.index("The one question") < page.index("Answer the question above")
    assert page.index('class="code"') < page.index("the lines above, redacted")


def test_the_first_patch_stands_unfolded_whatever_stands_before_it():
    given = advice.prescriptions(
        answer(COMMAND + '  File "verl/workers/actor/dp_actor.py", line 431, in update_policy\n' + refused()), {}
    )
    patched = [one.number for one in given if one.patch]
    assert [one.number for one in given if one.open] == patched[:1] != []


def test_a_fact_of_a_few_mib_is_told_in_them():
    assert value_words("tried_alloc_gib", 20 / 1024) == "20\u00a0MiB"
    assert value_words("tried_alloc_gib", 2.5) == "2.5\u00a0GiB"


def test_the_line_at_which_a_node_kills_strikes_no_figure_out():
    text = (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.1.2.3, "
        "ID: 8d1) where the task was running was 948.10GB / 995.32GB (0.952558), which exceeds the memory usage threshold of 0.95.\n"
    )
    found = answer(COMMAND + text)
    drawn = bars(drawing(found.estimate.host, found.estimate.host.peak.phase, "the node"))
    assert drawn.index('class="kill"') < drawn.index('class="en halo"') < drawn.index('class="nm')
