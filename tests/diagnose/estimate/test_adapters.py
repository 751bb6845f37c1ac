"""Adapters: the type they are stored in, and which of the values that they read they keep."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate import estimate, plan_of
from diagnose.estimate.layer import (
    Widths,
    backward_bytes_per_token,
    frozen_layer_bytes_per_token,
    layer_bytes_per_token,
)
from diagnose.estimate.moments import MOMENTS
from diagnose.types import Facts, Term
from diagnose.units import to_gib
from tests.runs import run_of

SFT = {"algo": "sft", "has_ref": None, "rollout_n": None, "micro_batch": 2, "n_gpus": 1, "strategy": None}
GRPO = """
trl=={version}
from trl import GRPOConfig
args = GRPOConfig(
    load_in_4bit=True,
    bnb_4bit_use_double_quant=True,
    lora_r=8,
    target_modules="all-linear",
    num_generations=8,
    per_device_train_batch_size=8,
    max_completion_length=96,
    beta=0,
)
"""


def _terms(run: Facts) -> dict[str, Term]:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return {term.id: term for term in update.terms}


def _qlora(version: str, model: str = "Qwen3-1.7B", **answers: Any) -> Facts:
    stated = {"model": model, "n_gpus": 1, "gpu_mem_gib": 8, **answers}
    return run_of(GRPO.format(version=version), stated).facts


@pytest.mark.parametrize(("shared", "kept"), [(False, 13_382), (True, 11_257)])
def test_adapters_that_cast_nothing_keep_one_value_for_all_that_read_it(shared: bool, kept: int) -> None:
    """Bytes of a layer that torch 2.15 saves with peft 0.21: fp32 adapters on bf16 layers, and bf16 adapters or 4-bit layers."""
    w = Widths(hidden=256, mlp=704, keys=256, heads=8, gated=True)
    assert frozen_layer_bytes_per_token(w, shared=shared) == pytest.approx(kept, rel=0.05)


def test_gradients_of_shared_inputs_come_once() -> None:
    """In the same runs with recomputed layers 18,273 and 12,676 bytes a token came on top of what was kept."""
    w = Widths(hidden=256, mlp=704, keys=256, heads=8, gated=True)
    less = backward_bytes_per_token(w, adapters=True) - backward_bytes_per_token(w)
    fewer = frozen_layer_bytes_per_token(w) - frozen_layer_bytes_per_token(w, shared=True)
    assert less + fewer == pytest.approx(18_273 - 12_676, rel=0.05)


@pytest.mark.parametrize(
    ("run", "shared"),
    [
        ({"full_or_lora": "lora"}, False),  # fp32 adapters: each casts what it reads
        ({"full_or_lora": "lora", "strategy": "deepspeed", "zero_stage": 2}, True),
        ({"full_or_lora": "lora", "strategy": "fsdp", "zero_stage": 3, "n_gpus": 8}, True),
        ({"full_or_lora": "lora", "strategy": "fsdp", "zero_stage": 3, "n_gpus": 1}, False),
        ({"full_or_lora": "qlora"}, True),
        ({"full_or_lora": "qlora", "quantization": "int8"}, True),
        ({"full_or_lora": "qlora", "quantization": "int4"}, False),  # GPTQ's casts always
        ({"full_or_lora": "qlora", "autocast": False}, False),
        ({"full_or_lora": "qlora", "norms_fp32": True}, False),  # each product gets a copy in 16 bits of its own
    ],
)
def test_inputs_are_shared_where_nothing_casts_them(facts: Any, run: dict[str, Any], shared: bool) -> None:
    base = {**SFT, "gradient_checkpointing": False, "precision": "bf16", **run}
    none, drops = (_terms(facts(**base, adapter_dropout=says))["activations"] for says in (False, True))
    copies = 3 * (3584 + 5 * 3584 + 18944)
    once = 2 * (2 * 3584 + 18944) if shared else 2 * (3584 + 5 * 3584 + 18944)
    tokens = drops.bytes - none.bytes
    assert tokens / (copies - once) == pytest.approx(drops.bytes / _each(drops), rel=1e-3)


def _each(term: Term) -> float:
    """The bytes of a token in one layer, as the term says them."""
    return float(term.how.split("×")[-2].strip().removesuffix(" B").replace(",", ""))


def test_an_unknown_dropout_leaves_each_adapter_a_copy_without_a_mask(facts: Any) -> None:
    run = {**SFT, "gradient_checkpointing": False, "full_or_lora": "qlora"}
    unknown, without, behind = (
        _terms(facts(**run, adapter_dropout=says))["activations"].bytes for says in (None, False, True)
    )
    assert without < unknown < behind


@pytest.mark.parametrize(
    ("version", "algo", "each"),
    [("0.25.1", "grpo", 4), ("0.26.0", "grpo", 2), ("0.28.0", "dpo", 4), ("0.29.0", "dpo", 2), ("1.3.0", "kto", 4)],
)
def test_adapters_beside_4_bit_layers_are_cast_to_bf16_since_a_version(version: str, algo: str, each: int) -> None:
    plan = plan_of(_qlora(version, algo=algo), None)
    assert plan is not None
    assert (plan.each.weights, plan.each.gradients, plan.each.optimizer) == (each, each, 2 * each)


def test_what_replaces_that_trainer_or_shards_what_is_trained_keeps_adapters_in_fp32() -> None:
    replaced = GRPO.format(version="0.29.0") + "from unsloth import FastLanguageModel\n"
    stated = {"model": "Qwen3-1.7B", "n_gpus": 1}
    for facts in (
        run_of(replaced, stated).facts,
        _qlora("0.29.0", strategy="fsdp2", zero_stage=3, n_gpus=2),
        _qlora("0.29.0", quantization="int4"),
    ):
        plan = plan_of(facts, None)
        assert plan is not None
        assert plan.each.weights == 4


@pytest.mark.parametrize(("model", "gib"), [("Qwen3-1.7B", 2.744), ("Qwen3-4B", 4.096), ("Qwen3-8B", 7.406)])
def test_three_runs_of_grpo_on_4_bit_layers_allocate_what_they_printed(model: str, gib: float) -> None:
    """github.com/jsboige/CoursIA/pull/15634, 15640, 15643: max_memory_allocated on a card of 8 GiB.

    Of the prompts it says that they are short, and nothing of the version: the logits' share is that of v0.26 to v0.29.
    """
    allocated = estimate(_qlora("0.29.0", model, real_prompt_length=40)).torch_allocated
    assert allocated is not None
    assert to_gib(allocated) == pytest.approx(gib, rel=0.02)


def test_a_base_in_fp32_makes_the_stream_between_quantized_layers_fp32() -> None:
    """trl v1.0 trl/trainer/utils.py:1037 loads what is not quantized in fp32: embedding, norms, head."""
    halves, whole = (
        _terms(_qlora("1.0.0", precision=precision))["checkpoints"].bytes for precision in ("bf16", "mixed")
    )
    assert whole == pytest.approx(2 * halves)


def test_without_autocast_an_adapter_in_fp32_keeps_a_copy_in_fp32(facts: Any) -> None:
    """peft 0.21 tuners/lora/layer.py: Linear.forward casts what it reads to the type of the adapter."""
    run = {**SFT, "gradient_checkpointing": False, "full_or_lora": "lora", "precision": "bf16"}
    cast, whole = (_terms(facts(**run, autocast=says))["activations"] for says in (True, False))
    assert _each(whole) - _each(cast) == pytest.approx(2 * (6 * 3584 + 18944))


DPO: dict[str, object] = {
    "framework": "trl",
    "model": "Llama-3.1-8B",
    "algo": "dpo",
    "full_or_lora": "qlora",
    "quantization": "nf4",
    "n_gpus": 1,
    "micro_batch": 1,
    "max_length": 1024,
}


@pytest.mark.parametrize(("bf16", "each"), [(True, 2), (False, 4)])
def test_trained_copies_of_embedding_and_head_are_cast_to_16_bits_beside_4_bit_layers(bf16: bool, each: int) -> None:
    """trl v0.14.0 trl/trainer/utils.py:861, peft_module_casting_to_bf16, where bf16 is asked for."""
    text = (
        "trl==0.14.0\nfrom trl import DPOTrainer\nload_in_4bit: true\nuse_peft: true\ntorch_dtype: bfloat16\n"
        f"lora_modules_to_save: ['lm_head', 'embed_tokens']\nbf16: {str(bf16).lower()}\n"
    )
    found = run_of(text, DPO).facts
    assert f"× {each} B" in _terms(found)["actor_gradients"].how


def test_a_gelu_in_steps_keeps_what_each_step_reads() -> None:
    fused, steps = (
        Widths(hidden=2560, mlp=10240, keys=2560, heads=32, gated=False, stepwise=on) for on in (False, True)
    )
    assert layer_bytes_per_token(steps) - layer_bytes_per_token(fused) == 6 * 10240
    assert layer_bytes_per_token(steps, autocast=True) - layer_bytes_per_token(fused, autocast=True) == 12 * 10240
    kept = frozen_layer_bytes_per_token(steps, shared=True) - frozen_layer_bytes_per_token(fused, shared=True)
    assert kept == 6 * 10240


def test_adapters_on_the_mlp_alone_keep_no_input_of_the_attention() -> None:
    w = Widths(hidden=3584, mlp=18944, keys=512, heads=28, gated=True)
    kept = frozen_layer_bytes_per_token(w) - frozen_layer_bytes_per_token(w, on="mlp")
    assert kept == 2 * 4 * 3584


def test_layers_that_a_default_alone_names_leave_more_in_doubt_than_named_ones() -> None:
    text = "trl sft --model_name_or_path Qwen/Qwen2.5-7B --use_peft --gradient_checkpointing false"
    answers = {"n_gpus": 1, "gpu_mem_gib": 80, "micro_batch": 1, "max_length": 512}
    few, named, all_of_them = (
        _terms(run_of(text + more, answers).facts)["activations"]
        for more in ("", " --lora_target_modules q_proj v_proj", " --lora_target_modules all-linear")
    )
    assert few.bytes == named.bytes < all_of_them.bytes
    assert named.high < all_of_them.bytes <= few.high


def test_a_last_adapter_that_drops_out_in_fp32_stands_above_the_backward_pass() -> None:
    """On its way forward: tests/data/trainers/swift-4.6.toml, reranker and embedding-lora, which lay 5 to 7 % too low without it."""
    h, f, text = 3584, 18944, "swift sft --model Qwen/Qwen2.5-7B --max_length 1024 --lora_dropout {share}"
    answers = {"n_gpus": 1, "gpu_mem_gib": 80, "real_response_length": 1024}
    none, some = (_recomputed(run_of(text.format(share=share), answers).facts) for share in (0, 0.05))
    masks = 6 * h + f
    assert (some - none) / 1024 == pytest.approx(2 * f + 4 * h + masks, rel=0.001)


def _recomputed(run: Facts) -> int:
    plan = plan_of(run, None)
    assert plan is not None
    terms = dict(MOMENTS["actor_update"](plan))["recomputing a layer"]
    return next(term.bytes for term in terms if term.id == "activations")
