"""A key that one trainer means in a way of its own is not read so in the run of another, or of one that nobody names."""

import pytest

ARGS = "args = TrainingArguments('out', bf16=True, per_device_train_batch_size=2)\ntrainer = Trainer(model, args, train_dataset=rows)"
AXOLOTL = "axolotl train run.yaml\nbase_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\n"


@pytest.mark.parametrize(
    ("text", "precision"), [(f"torchrun --nproc_per_node=2 train.py\n{ARGS}", "mixed"), (AXOLOTL, "bf16")]
)
def test_a_switch_is_read_as_the_trainer_that_runs_means_it(facts, text, precision):
    """Axolotl loads weights in the type that ``bf16`` asks for, transformers computes in it over fp32 weights."""
    found = facts(text)
    assert found.values.get("precision", "mixed") == precision


def test_no_trainer_has_the_conditions_of_another(facts):
    found = facts("tune run full_finetune_single_device --config llama3_1/8B_full_single_device dtype=fp32 bf16=True")
    assert found.values["framework"] == "torchtune"
    assert found.values["precision"] == "fp32"


@pytest.mark.parametrize("command", ["llamafactory-cli train --stage sft", "trl sft", "swift sft", "torchrun train.py"])
@pytest.mark.parametrize(("file", "stage"), [("ds_z3.json", 3), ("conf/stage2.json", 2), ("my_config.json", None)])
def test_a_file_of_any_name_tells_that_deepspeed_runs(facts, command, file, stage):
    found = facts(f"{command} --model_name_or_path Qwen/Qwen2.5-7B --deepspeed {file}")
    assert found.values["strategy"] == "deepspeed"
    told = found.stated.get("zero_stage")
    assert (told.value if told is not None and told.origin == "read" else None) == stage


@pytest.mark.parametrize("command", ["llamafactory-cli train --stage sft", "trl sft", "swift sft"])
def test_deepspeed_that_is_off_is_not_told(facts, command):
    assert (
        facts(f"{command} --model_name_or_path Qwen/Qwen2.5-7B --deepspeed false").values.get("strategy") != "deepspeed"
    )
