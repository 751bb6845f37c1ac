"""Whether layers are recomputed in a run of a trainer that no record tells of, where its whole command says nothing of it."""

from __future__ import annotations

import pytest

from diagnose.facts.settings.defaults import as_answered
from diagnose.ingest import read
from diagnose.pipeline import diagnose

COMMAND = (
    "python train_it.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_length 2048"
    " --per_device_train_batch_size 4 --bf16 true"
)
SFT = {"algo": "sft", "n_gpus": 1}


@pytest.mark.parametrize(
    "text",
    [
        COMMAND.replace("python", "only the relevant flags: python"),
        COMMAND + " \\",
        COMMAND + " --load_in_4bit true",
        COMMAND + " --use_grad_checkpoint",
        COMMAND + "\nWARNING `use_cache=True` is incompatible with gradient checkpointing.",
        "llamafactory-cli train --stage sft --model_name_or_path meta-llama/Llama-2-7b-hf --finetuning_type lora",
    ],
    ids=["a part", "cut", "kbit", "a word of its own", "a warning", "a trainer with a record"],
)
def test_it_is_not_assumed_off_where_something_may_turn_it_on(facts, text):
    told = facts(text, **SFT).stated.get("gradient_checkpointing")
    assert told is None or told.origin != "assumed"


def test_online_training_is_left_open(facts):
    assert "gradient_checkpointing" not in facts(COMMAND, algo="grpo", n_gpus=1).values


def test_a_whole_command_that_never_turns_it_on_is_assumed_to_keep_all(facts):
    told = facts(COMMAND, **SFT).stated["gradient_checkpointing"]
    assert (told.value, told.origin) == (False, "assumed")
    assert "transformers" in told.why


def test_the_band_goes_down_to_what_recomputed_layers_keep(knowledge):
    """A table of sunzeyeah/RLHF (README at cd1a6d5): LoRA without the flag fills cards that the flag leaves half empty."""
    answers = {**SFT, "full_or_lora": "lora"}
    open_, on = (diagnose(COMMAND + more, answers, knowledge, ()) for more in ("", " --gradient_checkpointing true"))
    (kept,) = (term for term in open_.estimate.gpu.phase("actor_update").terms if term.id == "activations")
    assert open_.estimate.gpu.peak.bytes > 1.5 * on.estimate.gpu.peak.bytes
    assert kept.low < 0.1 * kept.bytes
    assert "gradient_checkpointing" in [one.question.fact for one in open_.questions]


def test_another_answer_takes_the_assumption_back(facts):
    found = as_answered(facts(COMMAND, **SFT), facts("", algo="grpo").stated["algo"], read(COMMAND))
    assert "gradient_checkpointing" not in found.values


SCRIPT = """from trl import SFTTrainer
args = {cls}(output_dir="out", per_device_train_batch_size=4, fp16=True)
trainer = SFTTrainer(model=model, args=args, train_dataset=dataset){more}
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 462.00 MiB"""


@pytest.mark.parametrize(
    ("cls", "more", "on"),
    [
        ("TrainingArguments", "", False),
        ("TrainingArguments", "\nmodel = prepare_model_for_kbit_training(model)", True),
        ("SFTConfig", "", True),
    ],
)
def test_transformers_own_arguments_ask_a_trainer_of_trl_for_none(facts, cls, more, on):
    assert facts(SCRIPT.format(cls=cls, more=more)).values["gradient_checkpointing"] is on
