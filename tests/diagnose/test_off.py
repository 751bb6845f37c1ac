"""What a log prints of features that the run does not use is not shown as read of it."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.off import off
from diagnose.pipeline import diagnose
from diagnose.report import to_text

_HEAD = "ms-swift 4.6.0, 8 x H100 80GB\n[INFO:swift] args: {args}\ntorch.OutOfMemoryError: CUDA out of memory.\n"
_UNUSED = (
    "freeze_parameters_ratio=0.0, lisa_activated_layers=0, galore_rank=128, bnb_4bit_use_double_quant=True, "
    "router_aux_loss_coef=0.0, freeze_vit=True, dataset=[]"
)
_GRPO = (
    "RLHFArguments(rlhf_type='grpo', model='Qwen/Qwen2.5-7B-Instruct', tuner_type='{tuner}', lora_dropout=0.05, "
    "quant_method={quant}, quant_bits={bits}, "
    f"num_generations=8, use_vllm={{vllm}}, vllm_gpu_memory_utilization=0.5, per_device_train_batch_size=4, {_UNUSED})"
)
_SFT = (
    "SftArguments(model='Qwen/Qwen2.5-7B-Instruct', tuner_type='full', lora_rank=8, num_generations=8, use_vllm=False, "
    "vllm_gpu_memory_utilization=0.9, per_device_train_batch_size=1)"
)


def _off(args: str) -> frozenset[str]:
    return off(diagnose(_HEAD.format(args=args), {}, current(), ()).facts)


def test_numbers_that_say_none_and_parts_that_the_model_lacks_are_off() -> None:
    found = _off(_GRPO.format(tuner="lora", quant=None, bits=None, vllm=True))
    assert {"frozen_share", "drawn_layers", "optimizer_rank", "double_quant", "router_loss", "freeze_vision"} <= found
    assert not {"gpu_memory_utilization", "rollout_n", "adapter_dropout", "micro_batch"} & found


def test_what_the_run_uses_stays() -> None:
    assert "double_quant" not in _off(_GRPO.format(tuner="lora", quant="'bnb'", bits=4, vllm=True))
    assert "adapter_dropout" not in _off(_GRPO.format(tuner="lora", quant="'bnb'", bits=4, vllm=True))


def test_a_run_without_an_engine_has_no_share_for_one() -> None:
    found = _off(_SFT)
    assert "gpu_memory_utilization" in found
    assert "micro_batch" not in found


@pytest.mark.parametrize("words", ["Decoder layers trained at a time", "Rank of projected gradients", "Data set: []"])
def test_the_answer_does_not_show_them(words: str) -> None:
    text = to_text(
        diagnose(_HEAD.format(args=_GRPO.format(tuner="lora", quant=None, bits=None, vllm=True)), {}, current(), ())
    )
    assert words not in text


def test_an_answer_is_never_off() -> None:
    facts = diagnose(_HEAD.format(args=_SFT), {"gpu_memory_utilization": "0.4"}, current(), ()).facts
    assert "gpu_memory_utilization" not in off(facts)
