"""Trainers that are read by many's keys and have some of their own: a change is written in those."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB\n"
)
AXOLOTL = (
    "axolotl train c.yml, 2x A100 40GB\n```yaml\nbase_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: 4\n"
    "optimizer: adamw_torch\nbf16: true\n```\n" + OOM
)
SCRIPT = (
    "2x A100 40GB\n```python\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)\n'
    'args = TrainingArguments(\n    output_dir="out",\n    per_device_train_batch_size=4,\n    bf16=True,\n)\n'
    "Trainer(model=model, args=args, train_dataset=ds).train()\n```\n" + OOM
)
OUMI = (
    "oumi train -c c.yaml, 2x A100 40GB\nmodel:\n  model_name: Qwen/Qwen2.5-7B\ntraining:\n  trainer_type: TRL_SFT\n"
    "  per_device_train_batch_size: 4\n" + OOM
)


def _advice(text):
    return {one.lever.slug: one for one in diagnose(text, {}, current(), ()).prescriptions}


@pytest.mark.parametrize(
    ("text", "lever", "line"),
    [
        (AXOLOTL, "checkpointing.activation.on", "gradient_checkpointing: true"),
        (SCRIPT, "checkpointing.activation.on", "    gradient_checkpointing=True,"),
        (OUMI, "peft.lora", "  use_peft: true"),
    ],
)
def test_a_change_is_written_in_its_own_key(text, lever, line):
    patch = _advice(text)[lever].patch
    assert line in [one.text for one in patch if one.mark == "+"]


def test_its_own_words_stand_alone():
    adapters = {change.key: change.after for change in _advice(AXOLOTL)["peft.lora"].changes}
    assert adapters == {"adapter": "lora", "lora_r": "32", "lora_target_linear": "true"}
    offload = _advice(AXOLOTL)["offload.optimizer.on"].changes
    assert [(change.key, change.after) for change in offload] == [("deepspeed", "deepspeed_configs/zero2.json")]


def test_of_a_trainer_that_nobody_names_no_key_is_made_up():
    """The same settings in a file of nobody's."""
    text = (
        AXOLOTL.replace("axolotl train c.yml, ", "").replace("base_model", "weights").replace("sequence_len", "longest")
    )
    assert not [one for one in _advice(text).values() for change in one.changes if change.key and change.before is None]


def test_a_script_that_shards_nothing_copies_the_model_to_every_card():
    facts = diagnose(SCRIPT, {}, current(), ()).facts
    assert (facts.values["strategy"], facts.values["zero_stage"]) == ("ddp", 0)
    sharded = diagnose(SCRIPT.replace("bf16=True", "deepspeed=config"), {}, current(), ()).facts
    assert sharded.values.get("zero_stage") != 0
