"""Words around the chart: on which cards its figures stand, and that the questions tell the same ones."""

from __future__ import annotations

import pytest
from django.test import Client

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from wizard.words import caption

ROLES = (
    "python3 -m openrlhf.cli.train_ppo_ray --pretrain meta-llama/Meta-Llama-3-8B --zero_stage 2 --actor_num_nodes 1 "
    "--actor_num_gpus_per_node 4 --critic_num_nodes 1 --critic_num_gpus_per_node 2 --ref_num_nodes 1 --ref_num_gpus_per_node 2 "
    "--micro_train_batch_size 4 --generate_max_len 1024 --prompt_max_len 1024 --vllm_num_engines 2 --vllm_tensor_parallel_size 1\n"
    "A100 40GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (ROLES, "on a card of those that run it."),
        ("TRL GRPO Qwen2.5-7B on 8 A100 80GB, 训练 4 卡，推理 4 卡, OOM", "on each of the 4 GPUs that train."),
        ("verl GRPO Qwen2.5-7B on 8 A100 80GB OOM", "on each of the 8 GPUs."),
        ("verl GRPO Qwen2.5-0.5B on one A100 80GB OOM", "on the GPU."),
    ],
)
def test_the_caption_names_the_cards_of_the_figures(text: str, where: str) -> None:
    found = diagnose(text, {}, current(), ())
    assert found.estimate.gpu is not None
    assert f"Peak of each phase of a step, {where}" in caption(found.estimate.gpu, found.facts)


def test_the_question_for_the_phase_tells_the_figures_of_the_chart() -> None:
    found = diagnose(ROLES, {}, current(), ())
    assert found.estimate.gpu is not None
    asked = next(one for one in found.questions if one.question.fact == "phase")
    shown = {phase.phase: f"{phase.shown} GiB" for phase in found.estimate.gpu.phases}
    told = {value: says for value, _, says in asked.options if value in shown}
    assert told
    assert [phase for phase, says in told.items() if not says.startswith(shown[phase])] == []


@pytest.mark.django_db
def test_the_page_of_a_card_lists_the_machines_that_hold_it() -> None:
    page = Client().get("/gpus/a100/").content.decode()
    assert '<th scope="row"><code>p4d.24xlarge</code></th><td class="r">8</td><td class="r">40</td>' in page
