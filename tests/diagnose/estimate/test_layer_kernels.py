"""Layers whose norms and MLP are kernels of their own keep less than layers that are written out."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.estimate.layer import Widths, frozen_layer_bytes_per_token, layer_bytes_per_token
from diagnose.estimate.layer_fp32 import fp32_layer_bytes_per_token
from diagnose.estimate.layer_kernels import spared_bytes_per_token
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Facts
from diagnose.units import GIB

QWEN_7B = Widths(hidden=3584, mlp=18944, keys=512, heads=28, gated=True, queries=3584)
WHOLE = {"gradient_checkpointing": False, "precision": "bf16", "n_gpus": 1, "strategy": None}


def _activations(run: Facts) -> int:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return next(term.bytes for term in update.terms if term.id == "activations")


def _spared(w: Widths = QWEN_7B, **how: bool) -> float:
    return spared_bytes_per_token(w, **{"mlp": True, "adapters": False, "fp32": False, "all_fp32": False, **how})


def test_a_layer_keeps_what_its_kernels_read_and_what_its_products_read() -> None:
    h, q, k, f = 3584, 3584, 512, 18944
    norms, attention = 2 * (2 + 2) * h, 4 * q + 4 * k + 4 * 28
    assert layer_bytes_per_token(QWEN_7B) - _spared() == norms + attention + 6 * f


def test_norms_alone_leave_the_gates_activation() -> None:
    assert _spared() - _spared(mlp=False) == 2 * 18944


def test_frozen_norms_keep_their_input_in_16_bits_and_gate_and_up_stay() -> None:
    written = frozen_layer_bytes_per_token(QWEN_7B)
    assert written - _spared(adapters=True) == written - 4 * 3584 - 2 * 18944


def test_frozen_norms_in_fp32_keep_their_input_either_way() -> None:
    assert _spared(adapters=True, fp32=True, mlp=False) == 0
    assert _spared(adapters=True, fp32=True) == 4 * 18944


def test_in_fp32_a_norm_keeps_input_and_product() -> None:
    written, attention = fp32_layer_bytes_per_token(QWEN_7B), 2 * (4 * 3584 + 4 * 512) + 4 * 28
    assert written - _spared(all_fp32=True) == 2 * (4 + 4) * 3584 + attention + 12 * 18944


def test_norms_on_heads_have_such_a_kernel_as_well() -> None:
    normed = Widths(hidden=4096, mlp=12288, keys=1024, heads=32, gated=True, queries=4096, qk_norm=True)
    assert _spared(normed) == 8 * 4096 + 4 * (4096 + 1024) + 2 * 12288


def test_an_update_keeps_less_with_them(facts: Any) -> None:
    written, kernels = (_activations(facts(**WHOLE, fused_layers=value)) for value in (None, "norms_and_mlp"))
    assert kernels < written


@pytest.mark.parametrize("strategy", ["megatron"])
def test_layers_that_are_fused_anyway_spare_nothing_more(facts: Any, strategy: str) -> None:
    run = {**WHOLE, "strategy": strategy}
    assert _activations(facts(**run, fused_layers="norms_and_mlp")) == _activations(facts(**run))


def test_it_comes_nearer_to_what_a_table_of_lora_on_llama_3_8b_measured() -> None:
    """47.396 GiB allocated: foundation-model-stack/fms-acceleration, 16 rows of 4096 tokens packed on one A100."""
    text = """python -m tuning.sft_trainer --model_name_or_path meta-llama/Meta-Llama-3-8B --torch_dtype bfloat16 --bf16 True
    --per_device_train_batch_size 16 --max_seq_len 4096 --packing True --gradient_checkpointing True --use_flash_attn True
    --gradient_accumulation_steps 1 --peft_method lora --r 16 --lora_dropout 0.1 --target_modules q_proj k_proj v_proj o_proj
plugins:
  training:
    fused_ops_and_kernels:
      fast_loss: fused_ce_liger
      fast_rms_layernorm: True
"""
    answers = {"framework": "fms-hf-tuning", "framework_version": "0.11.4", "n_gpus": 1, "gpu_mem_gib": 80}
    run = diagnose(text, {**answers, "algo": "sft", "precision": "bf16"}, current(), ()).estimate
    assert run.torch_allocated is not None
    assert run.torch_allocated / GIB == pytest.approx(47.396, rel=0.06)
