"""Figures that papers print, computed by the terms that cite them."""

from __future__ import annotations

import pytest

from diagnose.estimate.cache import cached_bytes_per_token, kv_bytes_per_token
from diagnose.estimate.engine import (
    engine_activation_bytes,
    kv_pool_bytes,
)
from diagnose.estimate.layer import Widths, checkpoint_bytes_per_token, eager_score_bytes, layer_bytes_per_token
from diagnose.estimate.sharding import parameter_bytes, split
from diagnose.estimate.terms_gather import fsdp_gather_bytes
from diagnose.estimate.terms_held import frozen_base_bytes, shard_bytes
from diagnose.estimate.terms_logits import logits_bytes
from diagnose.estimate.terms_root import fsdp_gradient_bytes
from diagnose.knowledge import current
from diagnose.units import to_gib


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_model_states_are_those_of_figure_1_of_the_zero_paper(stage: int, gigabytes: float) -> None:
    """arXiv:1910.02054, figure 1: 7.5 B parameters, 64 GPUs, 2 + 2 + 12 bytes; decimal gigabytes."""
    values = {"strategy": "deepspeed", "zero_stage": stage, "precision": "mixed"}
    each = parameter_bytes(values, {}, own_precision=False)
    spread = split(values, parameters=7.5e9, experts=0, gpus=64)
    size = sum(
        shard_bytes(parameters=spread.shard(from_stage), bytes_each=bytes_each)
        for from_stage, bytes_each in ((3, each.weights), (2, each.gradients), (1, each.optimizer))
    )
    assert size / 1e9 == pytest.approx(gigabytes, abs=0.05)


def test_kv_cache_of_qwen2_5_7b_takes_57344_bytes_a_token() -> None:
    assert kv_bytes_per_token(layers=28, kv_heads=4, head_dim=128) == 57_344


def test_kv_cache_of_opt_13b_takes_800_kb_a_token() -> None:
    """arXiv:2309.06180, section 3: 2 x 5120 x 40 layers x 2 bytes = 800 KB."""
    assert kv_bytes_per_token(layers=40, kv_heads=40, head_dim=128) == 800 * 1024


def test_kv_heads_are_not_split_below_one_a_gpu() -> None:
    assert kv_bytes_per_token(layers=28, kv_heads=4, head_dim=128, tp=8) == 57_344 // 4


def test_an_indexer_caches_its_keys_beside_the_latent_ones_on_every_rank() -> None:
    """vLLM 0.33 models/deepseek_v2.py: 576 numbers of 2 bytes; 128 of one byte with a scale of 4, in all 61 layers or in 21 of 78."""
    models = current().models
    assert cached_bytes_per_token(models["deepseek-v3"], tp=8) == 61 * 1152
    assert cached_bytes_per_token(models["deepseek-v3.2"], tp=8) == 61 * (1152 + 132)
    assert cached_bytes_per_token(models["glm-5.2"]) == 78 * 1152 + 21 * 132


def test_layers_that_mix_by_a_state_or_read_the_keys_of_others_cache_none() -> None:
    """Qwen3.5-35B-A3B attends in 10 of 40 layers; of Gemma-4-E4B 24 of 42 have keys, four of them with heads of 512."""
    models = current().models
    assert cached_bytes_per_token(models["qwen3.5-35b-a3b"]) == 10 * 2 * 2 * 256 * 2
    assert cached_bytes_per_token(models["gemma-4-e4b"]) == (20 * 256 + 4 * 512) * 2 * 2 * 2


def test_attention_scores_of_gpt_3_are_80_h_a_token() -> None:
    """arXiv:2205.05198, section 5: for GPT-3 (a 96, s 2048, h 12288) 5 a s / h is 80, against 34 for all the rest of a layer."""
    size = eager_score_bytes(rows=1, heads=96, length=2048, bytes_each=5)
    assert size == 80 * 2048 * 12288


def test_a_layer_without_gated_mlp_stays_near_korthikanti_34_h() -> None:
    """arXiv:2205.05198, section 4.1 counts 34 h for fused 16-bit norms and f = 4 h; norms in fp32 and no fusion come to more."""
    h = 4096
    each = layer_bytes_per_token(Widths(hidden=h, mlp=4 * h, keys=h, heads=32, gated=False))
    assert 34 * h < each < 2 * 34 * h


def test_checkpoints_are_2_s_b_h_l() -> None:
    """arXiv:2205.05198, section 5: full recomputation keeps the 2 s b h bytes of every layer's input."""
    assert checkpoint_bytes_per_token(hidden=12288, layers=96) == 2 * 12288 * 96


def test_logits_of_1000_tokens_of_qwen_take_142_mib_a_byte() -> None:
    assert to_gib(logits_bytes(tokens=1000, vocab=152_064, bytes_each=1)) == pytest.approx(0.142, abs=0.001)


def test_root_unit_of_a_7b_takes_its_six_bytes() -> None:
    """1.09 B parameters of embedding and head: 2 bytes from autograd and 4 for the reduction, torch 2.6 _runtime_utils.py."""
    root = 2 * 152_064 * 3584 + 3584
    assert to_gib(fsdp_gradient_bytes(parameters=root)) == pytest.approx(6.09, abs=0.01)
    assert to_gib(fsdp_gather_bytes(root=root, layer=0)) == pytest.approx(2.03, abs=0.01)


def test_qlora_of_a_65b_fits_48_gb() -> None:
    """arXiv:2305.14314, abstract: a 65 B model is finetuned on one 48 GB GPU; the frozen base alone must leave room."""
    base = frozen_base_bytes(linear=65e9 - 2 * 32000 * 8192, other=2 * 32000 * 8192, quantized=0.516, base=2)
    assert 30 < to_gib(base) < 40


def test_profile_of_llama_3_8b_is_near_the_printed_1_26_gib() -> None:
    """vLLM pull 10511 prints 1.26 GiB for Llama-3-8B at TP 1."""
    size = engine_activation_bytes(tokens=8192, hidden=4096, mlp=14336, sequences=256, vocab=128_256, tp=1)
    assert 0.7 < to_gib(size) < 2.0


@pytest.mark.parametrize(
    ("rule", "gib"),
    [("share_of_total", 40 - 20), ("share_of_free", 0.5 * (80 - 20 - 10)), ("share_of_total_less_others", 40 - 30)],
)
def test_the_pool_follows_its_versions_rule(rule: str, gib: float) -> None:
    assert kv_pool_bytes(rule=rule, share=0.5, capacity=80, own=20, resident=10) == gib
