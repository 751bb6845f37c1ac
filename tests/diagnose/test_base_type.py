"""A frozen base that a default makes fp32: what a run that came past loading tells of it, and what a part of a script leaves open."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.units import GIB

_CONFIG = """\
GRPO of Qwen3-32B with LoRA on 1x A100 80GB, TRL 0.22
args = GRPOConfig(output_dir="out", per_device_train_batch_size=4, num_generations=4, max_prompt_length=512,
                  max_completion_length=1024, gradient_checkpointing=True, bf16=True)
trainer = GRPOTrainer(model=model, args=args, reward_funcs=f, train_dataset=ds, peft_config=LoraConfig(r=16))
"""
_IN_UPDATE = """\
  File "/venv/site-packages/trl/trainer/grpo_trainer.py", line 1401, in _compute_loss
    per_token_logps, entropies = self._get_per_token_logps_and_entropies(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.25 GiB of which 0.66 GiB is free.
"""
_IN_LOADING = """\
  File "/venv/site-packages/transformers/modeling_utils.py", line 4900, in from_pretrained
    return super().from_pretrained(
  File "/venv/site-packages/transformers/modeling_utils.py", line 5300, in _load_pretrained_model
    param = param.to(device)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 502.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which 8.0 MiB is free.
"""
_COMMAND = (
    "trl grpo --model_name_or_path Qwen/Qwen3-32B --use_peft --lora_r 16 --dataset_name trl-lib/tldr --num_generations 4"
    " --per_device_train_batch_size 4 --max_prompt_length 512 --max_completion_length 1024 --bf16 --output_dir out"
)
_FP32 = 32.76e9 * 4 / GIB  # the weights of Qwen3-32B, in GiB


def _read(paste: str, **answers: object) -> Diagnosis:
    knowledge = current()
    return diagnose(paste, answers, knowledge, ())  # type: ignore[arg-type]


def _weights(diagnosis: Diagnosis) -> tuple[float, float]:
    """Middle and high end of the weights that are held, in GiB."""
    assert diagnosis.estimate.gpu
    phase = diagnosis.estimate.gpu.phase("actor_update")
    assert phase
    (term,) = [term for term in phase.terms if term.id == "actor_weights"]
    return term.bytes / GIB, term.high / GIB


def test_a_base_that_came_past_loading_is_in_16_bits() -> None:
    diagnosis = _read(_CONFIG + _IN_UPDATE)
    fact = diagnosis.facts.stated["precision"]
    assert (fact.value, fact.origin) == ("bf16", "assumed")
    assert "the run came to the actor update" in fact.why
    middle, high = _weights(diagnosis)
    assert middle == high == pytest.approx(_FP32 / 2, rel=0.02)


def test_steps_that_went_through_tell_the_same() -> None:
    diagnosis = _read(_CONFIG + "{'loss': 0.1, 'step': 30}\ntorch.OutOfMemoryError: CUDA out of memory.\n", step=30)
    assert diagnosis.facts.stated["precision"].why.endswith("steps went through")


def test_a_base_that_failed_in_loading_is_in_fp32() -> None:
    diagnosis = _read(_CONFIG + _IN_LOADING)
    assert diagnosis.phase == "load"
    assert diagnosis.facts.stated["precision"].origin == "default"
    assert _weights(diagnosis)[0] == pytest.approx(_FP32, rel=0.02)


@pytest.mark.parametrize("told", [_CONFIG, _COMMAND + "\n1x A100 80GB\n"], ids=["a part of a script", "a command"])
def test_what_has_not_failed_in_loading_leaves_the_type_open(told: str) -> None:
    diagnosis = _read(told)
    assert "precision" not in diagnosis.facts.values
    middle, high = _weights(diagnosis)
    assert middle == pytest.approx(_FP32 / 2, rel=0.02)
    assert high == pytest.approx(_FP32, rel=0.02)
    assert "precision" in diagnosis.estimate.missing


@pytest.mark.parametrize(
    "changes",
    [
        {"Qwen3-32B": "Qwen3-8B"},
        {" with LoRA": "", "peft_config=LoraConfig(r=16)": "callbacks=[]"},
        {"79.25 GiB": "178.36 GiB"},
    ],
)
def test_the_default_stays_where_a_card_may_hold_the_base_or_there_is_none(changes: dict[str, str]) -> None:
    paste = _CONFIG + _IN_UPDATE
    for old, new in changes.items():
        paste = paste.replace(old, new)
    assert _read(paste).facts.stated["precision"].origin == "default"


def test_a_base_is_no_larger_than_what_the_message_names_in_use() -> None:
    told = _CONFIG.replace("Qwen3-32B", "Qwen3-14B") + _IN_UPDATE
    printed = told.replace("is free.", "is free. Including non-PyTorch memory, this process has {} GiB memory in use.")
    assert (
        _read(printed.format("44.10")).facts.stated["precision"].why.endswith("and the message names 44.1 GiB in use")
    )
    assert _read(printed.format("78.10")).facts.stated["precision"].origin == "default"


def test_an_engine_that_finds_much_free_stands_beside_a_base_in_16_bits() -> None:
    refused = (
        "ValueError: Free memory on device ({}/79.18 GiB) on startup is less than desired GPU memory utilization"
        " (0.7, 55.43 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    )
    told = _CONFIG.replace("Qwen3-32B", "gpt-oss-20b") + "use_vllm=True, vllm_mode='colocate'\n"
    assert _read(told + refused.format("21.3")).facts.stated["precision"].origin == "assumed"
    assert _read(told + refused.format("0.3")).facts.stated["precision"].origin == "default"
