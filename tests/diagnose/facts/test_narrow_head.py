"""A head of one number tells a reward model, where the script loads no model that writes."""

from __future__ import annotations

import pytest

SCRIPT = """import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForSequenceClassification.from_pretrained({given})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
for chosen, rejected in loader:
    loss = -logsigmoid(model(**chosen).logits - model(**rejected).logits).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ('"Qwen/Qwen2.5-7B"', ""),
        ('"Qwen/Qwen2.5-7B", num_labels=1', 'policy = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")\n'),
        ('"Qwen/Qwen2.5-7B", num_labels=1', "answers = policy.generate(**prompts)\n"),
        ('"Qwen/Qwen2.5-7B", num_labels=n', ""),
    ],
)
def test_a_judge_beside_a_model_that_writes_or_without_a_number_tells_nothing(values, given, more):
    assert values(SCRIPT.format(given=given) + more).get("algo") not in ("rm", "seq_cls")


@pytest.mark.parametrize(
    ("given", "algo"),
    [
        ('"Qwen/Qwen2.5-7B", num_labels=1', "rm"),
        ('\n    "Qwen/Qwen2.5-7B",\n    torch_dtype=torch.bfloat16,\n    num_labels=1,\n', "rm"),
        ('"Qwen/Qwen2.5-7B", num_labels=5', "seq_cls"),
    ],
)
def test_its_number_of_labels_tells_what_is_trained(values, given, algo):
    assert values(SCRIPT.format(given=given))["algo"] == algo


def test_a_trainer_by_name_outranks_it(values):
    text = SCRIPT.format(given='"Qwen/Qwen2.5-7B", num_labels=1') + "trainer = PPOTrainer(config, reward_model=model)\n"
    assert values(text)["algo"] == "ppo"
