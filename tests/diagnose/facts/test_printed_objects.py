"""An object that is printed row by row lists what is off as well: its rows are settings, and no words."""

from __future__ import annotations

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current

# as rich prints a list of dataclasses
RICH = """[
│   GRPOExperimentConfig(
│   │   learning_rate=1e-06,
│   │   loss_fn=<GRPOLossType.dapo: 'dapo'>,
│   │   deepspeed_stage=3,
│   │   num_learners_per_node=[
│   │   │   8,
│   │   │   8
│   │   ]
│   ),
│   ModelConfig(
│   │   model_name_or_path='Qwen/Qwen2.5-7B',
│   │   gradient_checkpointing=False,
│   │   use_peft={peft},
│   │   lora_r=16,
│   │   load_in_4bit={four},
│   │   bnb_4bit_quant_type='nf4'
│   ),
│   StreamingDataLoaderConfig(
│   │   dataset_mixer_list=[
│   │   │   'ai2-adapt-dev/rlvr_gsm8k_zs',
│   │   │   '1.0'
│   │   ],
│   │   num_samples_per_prompt_rollout=4,
│   │   response_length=2048
│   )
]
open_instruct/grpo_fast.py: CUDA out of memory"""
PLAIN = "axolotl\nTrainingArguments(\nlora_r=16,\nuse_dora=False,\nload_in_4bit={four},\nbnb_4bit_quant_type=nf4,\n)\nCUDA out of memory"


def values(text):
    return read_facts(read(text), {}, current()).values


def test_adapters_that_are_off_are_none_whatever_their_rank():
    found = values(RICH.format(peft=False, four=False))
    assert (found["full_or_lora"], found.get("lora_rank"), found.get("quantization")) == ("full", None, None)


@pytest.mark.parametrize("before", ["", "(main pid=7) "])
def test_a_member_of_an_enumeration_and_a_list_of_several_rows_are_values(before):
    found = values("\n".join(before + line for line in RICH.format(peft=False, four=False).split("\n")))
    assert (found["algo"], found["zero_stage"], found["trainer_gpus"]) == ("grpo", 3, 16)
    assert (found["gradient_checkpointing"], found["rollout_n"]) == (True, 4)
    assert found["dataset"] == "['ai2-adapt-dev/rlvr_gsm8k_zs', '1.0']"


@pytest.mark.parametrize(("four", "kind"), [("False", "lora"), ("True", "qlora")])
def test_how_a_base_would_be_quantized_quantizes_none(four, kind):
    assert values(PLAIN.format(four=four))["full_or_lora"] == kind


def test_what_code_hands_on_is_no_print():
    code = "trainer = SFTTrainer(\n    model=model,\n    lora_alpha=32,\n    lr=1,\n)\nCUDA out of memory"
    assert values(code)["full_or_lora"] == "lora"


@pytest.mark.parametrize("trainer", ["llamafactory-cli train a.yaml", "trl sft", "swift sft"])
def test_how_a_model_is_published_to_generate_is_no_setting_of_the_run(trainer):
    text = (
        f"{trainer}\n[INFO|configuration_utils.py:1135] 2025-07-01 12:00:09,002 >> Generate config GenerationConfig {{\n"
        '  "eos_token_id": [\n    128001,\n    128009\n  ],\n  "max_length": 4096,\n  "max_new_tokens": 777\n}\n\nCUDA out of memory'
    )
    found = values(text)
    assert found.get("max_length") != 4096
    assert found.get("response_length") != 777
