"""Which trainer runs is asked where nothing names one: in whose keys a change is written hangs on it."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

TOLD = "GRPO of Qwen2.5-7B on 8 A100 80GB dies with CUDA out of memory in the actor update"
SCRIPT = """import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
for batch in batches:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 79.15 GiB.
"""


def asked(text, **answers):
    return [one.question.fact for one in diagnose(text, answers, current(), ()).questions]


@pytest.mark.parametrize(
    "text",
    [TOLD, "8 卡 4090 单机跑 Llama-3-8b 的 ppo，CUDA out of memory", "torch.OutOfMemoryError: CUDA out of memory."],
)
def test_a_run_of_which_nothing_names_the_trainer_asks_for_it_first(text):
    assert asked(text)[0] == "framework"


@pytest.mark.parametrize("answer", ["verl", "trl", "plain"])
def test_an_answer_settles_it(answer):
    assert "framework" not in asked(TOLD, framework=answer)


def test_a_script_of_ones_own_that_stands_there_whole_has_no_name():
    assert "framework" not in asked(SCRIPT)


def test_of_a_run_to_come_it_is_asked_behind_what_the_estimate_lacks():
    facts = asked("Can I train Qwen2.5-7B with GRPO on A100 80GB? How many cards?")
    assert facts.index("n_gpus") < facts.index("framework")
