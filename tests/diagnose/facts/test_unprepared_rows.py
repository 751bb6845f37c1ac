"""TRL's data sets that are not prepared: their rows are neither cut nor joined, whatever a key says (trl/trainer/sft_trainer.py)."""

from __future__ import annotations

import pytest

SCRIPT = """from trl import SFTConfig, SFTTrainer
args = SFTConfig(output_dir="out", max_length=2048, packing=True, per_device_train_batch_size=2{more})
{then}
trainer = SFTTrainer(model="Qwen/Qwen2.5-7B", args=args, train_dataset=data)
"""
YAML = """trl sft --config x.yaml
model_name_or_path: Qwen/Qwen2.5-7B
max_length: 2048
packing: true
dataset_kwargs:
  skip_prepare_dataset: {skips}
"""
SKIPS = '{"skip_prepare_dataset": True}'


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT.format(more=f", dataset_kwargs={SKIPS}", then=""),
        SCRIPT.format(more="", then=f"args.dataset_kwargs = {SKIPS}"),
        YAML.format(skips="true"),
    ],
)
def test_rows_that_are_not_prepared_have_no_limit_and_are_not_joined(facts, text):
    found = facts(text)
    assert "max_length" not in found.values
    assert found.values.get("packed_rows") is not True
    assert "max_length" in found.dead_keys
    assert any("max_length" in note and "skip_prepare_dataset" in note for note in found.notes)


@pytest.mark.parametrize("text", [SCRIPT.format(more="", then=""), YAML.format(skips="false")])
def test_others_are_cut_and_joined_as_they_are_told_to(values, text):
    found = values(text)
    assert (found["max_length"], found["packed_rows"]) == (2048, True)


def test_a_length_that_is_answered_counts_all_the_same(values):
    assert values(YAML.format(skips="true"), max_length=4096)["max_length"] == 4096
