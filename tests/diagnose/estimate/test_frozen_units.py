"""Frozen weights that are sharded or quantized: what is gathered of them, what their hooks keep, which experts stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.knowledge import current
from diagnose.types import Estimate, Facts, Term
from diagnose.units import GIB
from tests.runs import run_of

SFT = {"algo": "sft", "has_ref": None, "rollout_n": None, "n_gpus": 4, "strategy": "fsdp", "zero_stage": 3}
PACKED = {"micro_batch": 16, "max_length": 4096, "dynamic_batch": True, "logits_chunked": True}
LAYERS, HIDDEN = 28, 3584
ROOT, LAYER = 1_089_998_336, 233_057_792


def _update(run: Facts) -> dict[str, Term]:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return {term.id: term for term in update.terms}


def test_quantized_weights_are_gathered_as_they_are_stored(facts: Any) -> None:
    in_16_bits, packed = (_update(facts(**SFT, full_or_lora=kind))["gathers"].bytes for kind in ("lora", "qlora"))
    assert in_16_bits == 2 * ROOT + 2 * 2 * LAYER
    assert packed == pytest.approx(2 * ROOT + 2 * 0.5625 * LAYER)


def test_hooks_of_frozen_units_keep_the_gradients_of_layers_that_a_backward_pass_of_their_own_makes_again(
    facts: Any,
) -> None:
    run = {**SFT, **PACKED, "full_or_lora": "lora", "gradient_checkpointing": True, "reentrant_checkpointing": True}
    assert _update(facts(**run))["input_gradients"].bytes == 16 * 4096 * (LAYERS - 2) * HIDDEN * 2
    for other in (
        {"reentrant_checkpointing": False},
        {"full_or_lora": "full"},
        {"strategy": "fsdp2"},
        {"gradient_checkpointing": False},
    ):
        assert "input_gradients" not in _update(facts(**{**run, **other}))


def test_where_nobody_says_how_layers_are_made_again_only_the_band_holds_what_hooks_keep(facts: Any) -> None:
    run = {**SFT, **PACKED, "full_or_lora": "lora", "gradient_checkpointing": True}
    unsaid = _update(facts(**run))["input_gradients"]
    assert (unsaid.bytes, unsaid.high) == (0, 16 * 4096 * (LAYERS - 2) * HIDDEN * 2)


def test_the_last_layer_and_the_root_unit_have_their_moments_one_after_the_other(facts: Any, record: Any) -> None:
    run = facts(record(), **SFT, **PACKED, full_or_lora="full", gradient_checkpointing=True, gradient_accumulation=1)
    terms = _update(run)
    assert not {"activations", "root_gradient"} <= set(terms)


KNOWN = current()
SHARDED = "accelerate launch --num_processes 2 --fsdp_sharding_strategy 1"
MEASURED = """{launch} -m tuning.sft_trainer
  --model_name_or_path {model} --torch_dtype bfloat16 --per_device_train_batch_size {rows} --max_seq_len 4096 --packing True
  --gradient_checkpointing True --use_flash_attn True --gradient_accumulation_steps 1 --bf16 True
  --peft_method lora --r 16 --lora_dropout 0.1 --target_modules q_proj k_proj v_proj o_proj
"""
NF4 = (
    "plugins:\n  peft:\n    quantization:\n      bitsandbytes:\n        quant_type: nf4\n        no_peft_model: True\n"
)


def _estimate(text: str, **answers: Any) -> Estimate:
    return run_of(text, answers, KNOWN).estimate


# foundation-model-stack/fms-acceleration@876e2ed scripts/benchmarks/refs/a100_80gb.csv: allocated on rank 0, TRL 0.13.0
@pytest.mark.parametrize(
    ("model", "gpus", "rows", "base", "measured"),
    [
        ("mistralai/Mistral-7B-v0.1", 2, 4, "lora", 20.45),
        ("NousResearch/Llama-2-70b-hf", 2, 2, "qlora", 43.48),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 2, 4, "qlora", 26.21),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 1, 4, "qlora", 39.85),
    ],
)
def test_adapters_on_frozen_units_take_what_was_measured(
    model: str, gpus: int, rows: int, base: str, measured: float
) -> None:
    launch = SHARDED if gpus > 1 else "python"
    text = MEASURED.format(model=model, launch=launch, rows=rows).replace("\n  ", " ")
    sharded = {"strategy": "fsdp", "zero_stage": 3} if gpus > 1 else {}
    found = _estimate(
        text + (NF4 if base == "qlora" else ""),
        **{"framework": "trl", "framework_version": "0.13.0", "gpu_mem_gib": 80, "n_gpus": gpus, **sharded},
    )
    assert found.torch_allocated is not None
    assert found.torch_allocated / GIB == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize(("loss", "bytes_each"), [("True", 10), ("fused_ce_liger", 0)])
def test_a_loss_that_writes_its_gradient_over_the_logits_holds_fewer_copies(loss: str, bytes_each: int) -> None:
    plugin = f"plugins:\n  training:\n    fused_ops_and_kernels:\n      fast_loss: {loss}\n"
    text = MEASURED.format(model="meta-llama/Meta-Llama-3-8B", launch="python", rows=4).replace("\n  ", " ") + plugin
    for version, each in (("0.11.4", min(bytes_each, 8)), ("0.13.0", bytes_each)):
        gpu = _estimate(text, framework="trl", framework_version=version, gpu_mem_gib=80, n_gpus=1).gpu
        assert gpu is not None
        update = gpu.phase("actor_update")
        assert update is not None
        logits = sum(term.bytes for term in update.terms if term.id == "logits")
        assert logits == each * 4 * 4096 * 128256


EXPERTS = """from unsloth import FastModel
model, tokenizer = FastModel.from_pretrained("unsloth/gemma-4-26B-A4B-it", max_seq_length = 2048, load_in_4bit = True)
model = FastModel.get_peft_model(model, r = 8)
"""


def test_experts_of_one_tensor_stay_in_16_bits_unless_they_are_quantized_by_name() -> None:
    """46.4 GiB reserved before training: unslothai/notebooks@bdda2ef nb/Gemma4_(26B_A4B)-Text.ipynb"""
    model = KNOWN.models["gemma-4-26b-a4b"]
    assert model.moe is not None
    experts = model.layers * model.moe.experts * 3 * model.hidden * model.moe.width

    def weights(**answers: Any) -> int:
        gpu = _estimate(EXPERTS, n_gpus=1, gpu_mem_gib=80, algo="sft", **answers).gpu
        assert gpu is not None
        return next(term.bytes for term in gpu.phases[-1].terms if term.id == "actor_weights")

    assert weights() / GIB == pytest.approx(46.4, rel=0.03)
    assert weights() - weights(experts_quantized=True) == pytest.approx((2 - 0.515869) * experts, rel=1e-4)
    split = replace(
        KNOWN, models={**KNOWN.models, model.slug: replace(model, moe=replace(model.moe, split_to_quantize=True))}
    )
    found = run_of(EXPERTS, {"n_gpus": 1, "gpu_mem_gib": 80, "algo": "sft"}, split).estimate.gpu
    assert found is not None
    least = next(term.bytes for term in found.phases[-1].terms if term.id == "actor_weights")
    assert least == weights(experts_quantized=True)


def test_embedding_and_head_beside_adapters_are_of_the_base_s_own_type(facts: Any) -> None:
    run = {**SFT, "n_gpus": 1, "strategy": "none", "zero_stage": None, "full_or_lora": "lora"}
    copies = 2 * 152064 * HIDDEN

    def beside(precision: str) -> int:
        with_copies, without = (
            _update(facts(**run, precision=precision, trains_embeddings=trains)) for trains in (True, False)
        )
        held = ("actor_weights", "actor_gradients", "actor_optimizer")
        return sum(with_copies[id].bytes - without[id].bytes for id in held)

    assert beside("bf16") == 8 * copies
    assert beside("fp16") == 16 * copies


VL = "python finetune.py --model_name_or_path Qwen/{} --bf16 True --fix_vit True --use_lora --model_max_length 384"


def test_adapters_on_a_base_model_are_joined_by_embedding_and_head_where_the_script_does_so() -> None:
    answers: dict[str, Any] = {"framework": "qwen finetune.py", "full_or_lora": "lora", "n_gpus": 1}
    base, chat = (run_of(VL.format(name), answers, KNOWN).facts.values for name in ("Qwen-VL", "Qwen-VL-Chat"))
    assert base["trains_embeddings"] is True
    assert "trains_embeddings" not in chat
    assert base["framework"] == "qwen-finetune"


def test_a_trainer_that_always_shards_is_read_as_that() -> None:
    text = "python train.py --train_type qlora --use_gradient_checkpointing True --reentrant_checkpointing {}"
    for says in (True, False):
        values = run_of(text.format(says), {"framework": "fsdp_qlora"}, KNOWN).facts.values
        assert (values["strategy"], values["zero_stage"], values["reentrant_checkpointing"]) == ("fsdp", 3, says)


def test_experts_that_are_quantized_by_name_are_one_tensor_without_adapters_and_unpacked_at_once() -> None:
    """46.5 GiB of about 47 in examples/qwen3-next/README.md of axolotl-ai-cloud/axolotl@067b021."""
    text = "axolotl train run.yaml\nbase_model: Qwen/Qwen3-Next-80B-A3B-Instruct\nload_in_4bit: true\nadapter: qlora\nlora_r: 16\n"
    text += "sequence_len: 2048\nsample_packing: true\nmicro_batch_size: 2\ngradient_checkpointing: true\n"
    answers = {"n_gpus": 1, "gpu_mem_gib": 80, "logits_chunked": True}
    model = KNOWN.models["qwen3-next-80b-a3b"]
    assert model.moe is not None
    experts = model.moe.experts * 3 * model.hidden * model.moe.width

    def terms(says: str) -> dict[str, Term]:
        gpu = run_of(text + says, answers, KNOWN).estimate.gpu
        assert gpu is not None
        update = gpu.phase("actor_update")
        assert update is not None
        return {term.id: term for term in update.terms}

    linear, stacked = terms(""), terms("quantize_moe_experts: true\n")
    assert linear["actor_optimizer"].bytes > 20 * stacked["actor_optimizer"].bytes
    assert stacked["dequantized"].bytes == 2 * experts


@pytest.mark.parametrize(
    ("rows", "bits", "measured"), [(4, {"quantization": "none"}, 22), (1, {"quantization": "int8"}, 11)]
)
def test_a_value_head_beside_the_model_s_own_makes_logits_that_no_loss_reads(
    rows: int, bits: dict[str, Any], measured: float
) -> None:
    """“22GB” and “11GB” in README.md of hiyouga/ChatGLM-Efficient-Tuning@3c12daa; pairs of 1,024 tokens at most."""
    text = f"python src/train_bash.py --stage rm --finetuning_type lora --per_device_train_batch_size {rows} --fp16"
    answers: dict[str, Any] = {"framework": "ChatGLM-Efficient-Tuning", "model": "chatglm-6b", "n_gpus": 1, **bits}
    tuned = {"full_or_lora": "qlora" if rows == 1 else "lora", "gpu_mem_gib": 32, "precision": "fp16", "algo": "rm"}
    gpu = run_of(text, {**answers, **tuned}, KNOWN).estimate.gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    assert next(term.bytes for term in update.terms if term.id == "logits") == 6 * 2 * rows * 1024 * 130528
    assert gpu.peak.bytes / GIB == pytest.approx(measured, rel=0.15)


def _gradients_between(text: str, **answers: Any) -> float | None:
    gpu = _estimate(text, **answers).gpu
    update = gpu.phase("actor_update") if gpu else None
    assert update is not None
    return next((term.bytes for term in update.terms if term.id == "whole_gradients"), None)


@pytest.mark.parametrize(
    "trainer",
    [
        "from trl import SFTConfig, SFTTrainer\n"
        "config = SFTConfig(per_device_train_batch_size=2, gradient_accumulation_steps={steps}, max_length=4096)",
        "swift sft --per_device_train_batch_size 2 --gradient_accumulation_steps {steps} --max_length 4096",
        "llamafactory-cli train --stage sft --per_device_train_batch_size 2 --gradient_accumulation_steps {steps} --cutoff_len 4096",
    ],
)
def test_fsdp_keeps_whole_gradients_between_the_micro_batches_of_a_step(trainer: str) -> None:
    run = {
        "model": "Qwen2.5-7B",
        "strategy": "fsdp",
        "zero_stage": 3,
        "full_or_lora": "full",
        "gpu_mem_gib": 80,
        "n_gpus": 8,
    }
    assert _gradients_between(trainer.format(steps=4), **run) == 2 * 7_615_616_512
    assert _gradients_between(trainer.format(steps=1), **run) is None
    assert _gradients_between(trainer.format(steps=4), **{**run, "full_or_lora": "lora"}) is None
