"""What a script of one's own leaves off, where the whole of it is pasted; a part of one proves nothing."""

from __future__ import annotations

import pytest

LOOP = """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
"""
TRAINER = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True)
trainer = Trainer(model=model, args=args, train_dataset=data)
trainer.train()
"""


def part(text: str, *words: str) -> str:
    """The text without the lines that hold one of these words."""
    return "\n".join(line for line in text.split("\n") if not any(word in line for word in words))


@pytest.mark.parametrize(
    "text",
    [
        part(LOOP, "import"),
        part(LOOP, "AutoModelForCausalLM.from"),
        part(LOOP, "backward"),
        part(TRAINER, "trainer.train"),
        LOOP.replace("for batch", "...\nfor batch"),
        "The relevant parts of my script:\n" + LOOP,
        LOOP.replace("optimizer =", "if args.ckpt:\n    model.gradient_checkpointing_enable()\noptimizer ="),
        LOOP.replace("optimizer =", "model = prepare_model_for_kbit_training(model)\noptimizer ="),
        LOOP.replace("loss = model", "h = torch.utils.checkpoint.checkpoint(model.layer, h)\n    loss = model"),
        TRAINER.replace(
            "args =", "args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]\nother ="
        ),
        TRAINER.replace('TrainingArguments(output_dir="out"', "TrainingArguments(**config"),
        LOOP.replace("optimizer =", "args = parser.parse_args()\noptimizer ="),
        'File "train.py", line 8, in <module>\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory',
    ],
)
def test_a_part_or_a_script_that_may_turn_it_on_elsewhere_leaves_it_open(values, text):
    assert "gradient_checkpointing" not in values(text)


@pytest.mark.parametrize(
    "text",
    [
        LOOP,
        TRAINER,
        "Does this fit on one A100?\n" + LOOP,
        LOOP.replace("loss.backward()", "engine.backward(loss)").replace("optimizer.step", "engine.step"),
        "torchrun --nproc_per_node 8 train.py --lr 1e-6\n\n"
        + LOOP.replace("optimizer =", "args = parser.parse_args()\noptimizer ="),
        LOOP + 'torch.save(model.state_dict(), "checkpoint.pt")  # a checkpoint of another kind\n',
    ],
)
def test_what_a_whole_script_never_turns_on_is_off(facts, text):
    found = facts(text)
    assert found.values["gradient_checkpointing"] is False
    assert found.stated["gradient_checkpointing"].origin == "default"


@pytest.mark.parametrize("turn", ["model.gradient_checkpointing_enable()", "gradient_checkpointing = True"])
def test_what_it_turns_on_is_on(values, turn):
    assert values(LOOP.replace("optimizer =", turn + "\noptimizer ="))["gradient_checkpointing"] is True


def test_transformers_trainer_has_its_own_optimizer_unless_it_is_handed_one(values):
    assert values(TRAINER)["optimizer"] == "adamw_torch"
    assert values(TRAINER.replace("bf16=True", 'optim="adafactor"'))["optimizer"] == "adafactor"
    assert "optimizer" not in values(TRAINER.replace("args=args", "args=args, optimizers=(build(model), None)"))
    assert "optimizer" not in values(part(TRAINER, "trainer.train"))
