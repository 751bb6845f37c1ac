"""The first screen of an answer: what to change first and what to answer, above the chart."""

from __future__ import annotations

import re

import pytest

from kb.templatetags.keys import breakable
from tests.wizard.conftest import Form, post

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

PPO = (
    "torch.OutOfMemoryError: CUDA out of memory.\nopenrlhf train_ppo_ray --pretrain meta-llama/Llama-3.1-8B-Instruct"
    " --reward_pretrain meta-llama/Llama-3.1-8B-Instruct --colocate_all_models --vllm_num_engines 8 --zero_stage 2"
    " --vllm_gpu_memory_utilization 0.5 --micro_train_batch_size 8 --prompt_max_len 2048 --generate_max_len 8192"
    " --actor_num_gpus_per_node 8\n8 x A100 80GB"
)


def first_of(page: str) -> str:
    found = re.search(r'<dl class="first">.*?</dl>', page, re.S)
    return re.sub(r"<wbr>", "", found[0]) if found else ""


def test_the_first_change_stands_above_the_chart_in_the_keys_of_the_paste(answer):
    told = first_of(answer)
    assert answer.index(told[:18]) < answer.index('id="phases"')
    assert '<a href="#rx1">Take fewer prompts per step</a>: 101.7\u00a0→\u00a073.7\u00a0GiB, too close to call' in told
    assert "data.train_batch_size <del>8</del> → <ins>4</ins>" in told
    assert '<a href="#ask">How long are the responses really?</a>' in told


def test_a_set_that_is_enough_together_is_the_first_change(client):
    page = post(client, paste=PPO)
    told = first_of(page)
    assert "Change together" in told
    assert 'href="#together"' in told
    assert "micro_train_batch_size <del>8</del>" in told
    assert re.search(r"</a>: [\d.]+\u00a0→\u00a0[\d.]+\u00a0GiB, fits", told)


def test_a_change_without_a_figure_is_one_to_try(client):
    told = first_of(post(client, paste="CUDA out of memory"))
    assert "Try first" in told
    assert "GiB" not in told
    assert "no saving" not in told


def test_nothing_stands_there_twice_where_the_question_follows_at_once(client):
    page = post(client, paste="hello, it is late")
    assert first_of(page) == ""
    assert "What ran out?" in page


def test_who_reads_chinese_has_the_answer_in_chinese_before_all_else_and_once(client):
    page = post(client, paste=f"8 卡显存不够，求助\n{PPO}")
    assert page.index('lang="zh-Hans"') < page.index("<h1>")
    assert first_of(page) == ""


def test_what_nothing_sets_is_said_in_place_of_the_value_before(client):
    page = post(client, paste=PPO)
    assert "<del>not set</del> → <ins>" in page
    assert len(Form(page).ids) == len(set(Form(page).ids))


def test_the_note_on_what_is_not_explained_repeats_no_figure_of_the_sentence_above_it(client):
    run = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which "
        '1.10 GiB is free.\n  File "verl/workers/actor/dp_actor.py", line 248, in update_policy\n    loss.backward()\n'
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-1.5B-Instruct "
        "data.train_batch_size=64 data.max_prompt_length=512 data.max_response_length=512 trainer.n_gpus_per_node=8 "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.rollout.n=8 trainer.nnodes=1"
    )
    page = post(client, paste=run)
    note = page[page.index("The settings do not explain this failure") :]
    assert "Both may be right" in note
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.S)[1]
    assert lead.startswith("The actor update needs about")
    assert "the highest phase, the actor update" not in note[: note.index("</p>")]


def test_a_key_breaks_before_a_letter_and_a_figure_nowhere():
    assert breakable("data.max_response_length") == "data.<wbr>max_<wbr>response_<wbr>length"
    assert breakable("of 23.65 GiB, from 0.9.1 on.") == "of 23.65 GiB, from 0.9.1 on."
    assert breakable("Qwen/Qwen2.5-7B <b>") == "Qwen/<wbr>Qwen2.5-7B &lt;b&gt;"
