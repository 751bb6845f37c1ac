"""What quantized layers and a fused layer keep, and gradients that wait whole between micro batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnose.estimate import estimate
from diagnose.estimate.layer import Widths, frozen_layer_bytes_per_token, quantized_input_bytes_per_token
from diagnose.estimate.sharding import parameter_bytes
from diagnose.types import Facts, Term
from diagnose.units import GIB
from tests.runs import run_of

SFT = {"algo": "sft", "has_ref": None, "rollout_n": None, "micro_batch": 2, "n_gpus": 1, "strategy": None}


def _terms(run: Facts) -> dict[str, Term]:
    gpu = estimate(run).gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    return {term.id: term for term in update.terms}


# Bytes that torch 2.13 saves over litgpt 5895df1 litgpt/lora.py in bf16, one byte a value for a dropout mask as on a GPU
@pytest.mark.parametrize(
    ("w", "on", "kept"),
    [
        (Widths(hidden=4096, mlp=11008, keys=4096, heads=32, gated=True, fused=True), "query_value", 177_128),
        (Widths(hidden=2048, mlp=5632, keys=256, heads=32, gated=True, fused=True), "all_linear", 108_408),
        (
            Widths(2560, 10240, keys=2560, heads=32, gated=False, fused=True, layer_norm=True, parallel=True),
            "all_linear",
            110_372,
        ),
    ],
)
def test_a_layer_of_one_fused_product_keeps_what_torch_saves(w: Widths, on: str, kept: int) -> None:
    assert frozen_layer_bytes_per_token(w, 3.0, on) == pytest.approx(kept, rel=0.01)


def test_quantized_inputs_are_held_only_where_the_record_says_so(facts: Any, record: Any) -> None:
    holds = record(quantized_inputs=1)
    assert "quantized_inputs" not in _terms(facts(**SFT, full_or_lora="qlora", gradient_checkpointing=False))
    assert "quantized_inputs" not in _terms(facts(holds, **SFT, full_or_lora="lora", gradient_checkpointing=False))
    assert "quantized_inputs" in _terms(facts(holds, **SFT, full_or_lora="qlora", gradient_checkpointing=False))


def test_a_loop_that_holds_its_loss_carries_the_inputs_of_two_passes(facts: Any, record: Any) -> None:
    run = {**SFT, "full_or_lora": "qlora", "gradient_checkpointing": False, "logits_chunked": True}
    one, two = (_terms(facts(record(quantized_inputs=passes), **run))["quantized_inputs"] for passes in (1, 2))
    w = Widths(hidden=3584, mlp=18944, keys=512, heads=28, gated=True)
    assert two.bytes / one.bytes == pytest.approx(2 + 2 * w.q / quantized_input_bytes_per_token(w), rel=1e-6)


def test_a_quantized_head_is_whole_while_it_is_multiplied(facts: Any, record: Any) -> None:
    run = {**SFT, "full_or_lora": "qlora"}
    terms = _terms(facts(record(quantized_head="yes", dequantized_bytes=4), **run))
    assert terms["dequantized"].bytes == 4 * 152064 * 3584
    assert "dequantized" not in _terms(facts(record(), **run))  # at the logits no layer is multiplied


def test_a_quantized_head_is_stored_quantized(facts: Any, record: Any) -> None:
    kept, quantized = (
        _terms(facts(record(quantized_head=says), **SFT, full_or_lora="qlora"))["actor_weights"].bytes
        for says in ("no", "yes")
    )
    assert kept - quantized == pytest.approx((2 - 0.5625) * 152064 * 3584, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        ({"quantization": "nf4"}, 4.5),
        ({"quantization": "nf4", "double_quant": True}, 4.127),
        ({"quantization": "int4", "double_quant": True}, 4.156),
    ],
)
def test_scales_of_nf4_take_half_a_bit_or_an_eighth(kind: dict[str, Any], bits: float) -> None:
    """arXiv:2305.14314, section 3: 0.5 bits a parameter, 0.127 with double quantization; that is none of GPTQ's."""
    each = parameter_bytes({"full_or_lora": "qlora", **kind}, {}, own_precision=False)
    assert 8 * each.quantized == pytest.approx(bits, abs=0.001)


def test_adapters_on_query_and_value_are_fewer(facts: Any, record: Any) -> None:
    run = {**SFT, "full_or_lora": "lora", "lora_rank": 8}
    few = _terms(facts(record(adapters_on="query_value"), **run))["actor_gradients"].bytes
    assert few == 4 * 8 * 28 * (2 * 3584 + 3584 + 512)
    assert few < _terms(facts(**run))["actor_gradients"].bytes


def test_the_layers_that_a_run_names_outrank_the_default(facts: Any, record: Any) -> None:
    run, few = {**SFT, "full_or_lora": "lora", "gradient_checkpointing": False}, record(adapters_on="query_value")
    default, stated, known = (
        _terms(facts(few, **run, lora_layers=layers))["activations"] for layers in (None, "all_linear", "query_value")
    )
    assert default.bytes == known.bytes < stated.bytes
    assert default.high >= stated.bytes
    assert known.high < default.high


@pytest.mark.parametrize(("optimizer", "each"), [("adamw", 8), ("adamw_8bit", 2)])
def test_an_8_bit_optimizer_holds_adapters_in_8_bits_as_well(facts: Any, optimizer: str, each: int) -> None:
    terms = _terms(facts(**SFT, full_or_lora="lora", optimizer=optimizer))
    assert terms["actor_optimizer"].bytes * 4 == terms["actor_gradients"].bytes * each


def test_norms_in_fp32_make_the_stream_between_quantized_layers_fp32(facts: Any) -> None:
    """Of two 4-bit runs of Mistral 7B on rows of 4,096 tokens the one whose norms were cast held 2 B × 4096 × 32 a token more.

    15.25 and 19.25 GiB at 16,384 tokens, 26.46 and 34.46 at twice as many (fms-acceleration 876e2ed scripts/benchmarks/refs/
    a100_80gb.csv#L58, L60, L78, L80).
    """
    run = {**SFT, "full_or_lora": "qlora", "gradient_checkpointing": True}
    cast, kept = (_terms(facts(**run, norms_fp32=says)) for says in (True, False))
    assert "× 4 B" in cast["checkpoints"].how
    assert cast["checkpoints"].bytes == pytest.approx(2 * kept["checkpoints"].bytes)
    assert cast["actor_weights"].bytes == kept["actor_weights"].bytes
    plain = [_terms(facts(**{**run, "full_or_lora": "lora"}, norms_fp32=says))["checkpoints"] for says in (True, False)]
    assert plain[0] == plain[1]  # a product that is not quantized gives 16 bits under autocast


@pytest.mark.parametrize(("fp32", "kept"), [(False, 6), (True, 12)])
def test_the_mlp_of_a_layer_between_fp32_norms_keeps_fp32(fp32: bool, kept: int) -> None:
    narrow, wide = (
        frozen_layer_bytes_per_token(Widths(4096, mlp, keys=1024, heads=32, gated=True), 0.0, fp32=fp32)
        for mlp in (0, 14336)
    )
    assert wide - narrow == kept * 14336


def test_a_head_that_stays_fp32_is_counted_with_the_copy_that_its_product_reads(facts: Any, record: Any) -> None:
    run = {**SFT, "full_or_lora": "qlora"}
    before, after = (_terms(facts(record(**says), **run)) for says in ({}, {"root_bytes": 4}))
    table = 152064 * 3584
    assert after["actor_weights"].bytes - before["actor_weights"].bytes == 2 * (2 * table + 3584)
    assert after["head_cast"].bytes == 2 * table
    assert "head_cast" not in before
    assert "head_cast" not in _terms(facts(record(root_bytes=4), **{**run, "full_or_lora": "lora"}))


def test_capped_scores_are_written_out_unless_a_kernel_for_them_is_named(facts: Any) -> None:
    run = {**SFT, "remove_padding": None, "gradient_checkpointing": False}
    capped, plain = (replace(facts().model, capped=says) for says in (True, False))
    assert "attention_scores" in _terms(facts(model=capped, **run, flash_attention=None))
    assert "attention_scores" not in _terms(facts(model=capped, **run, flash_attention=True))
    assert "attention_scores" not in _terms(facts(model=plain, **run, flash_attention=None))
    assert " layers × 8 B," in _terms(facts(model=capped, **run, flash_attention=False))["attention_scores"].how


def test_a_trainer_that_masks_no_padding_needs_no_mask(facts: Any, record: Any) -> None:
    run = {**SFT, "remove_padding": None, "flash_attention": None, "gradient_checkpointing": False}
    assert "attention_mask" in _terms(facts(**run))
    assert "attention_mask" not in _terms(facts(record(padding_mask="no"), **run))


def test_gradients_of_a_sharded_model_wait_whole_between_micro_batches(facts: Any, record: Any) -> None:
    whole = record(gradients_between="whole_model")
    run = {**SFT, "n_gpus": 4, "zero_stage": 3, "full_or_lora": "lora"}
    assert _terms(facts(whole, **run))["whole_gradients"].bytes == 2 * 7_615_616_512
    assert "whole_gradients" not in _terms(facts(whole, **run, gradient_accumulation=1))
    assert "whole_gradients" not in _terms(facts(whole, **{**run, "zero_stage": 2}))


@pytest.mark.parametrize(("recomputes", "layers"), [(True, 1), (False, 28)])
def test_gptq_layers_leave_their_16_bit_matrices_to_autograd(facts: Any, recomputes: bool, layers: int) -> None:
    run = {**SFT, "full_or_lora": "qlora", "quantization": "int4", "logits_chunked": True}
    copies = _terms(facts(**run, gradient_checkpointing=recomputes))["dequantized"]
    linear = 7_615_616_512 - 2 * 152064 * 3584
    assert copies.bytes == pytest.approx(2 * linear / 28 * layers + 5 * 3584 * 18944, rel=0.001)
    assert copies.low < copies.bytes


def test_deepspeed_lays_gradients_into_buffers_of_a_whole_bucket_on_one_card_too(facts: Any) -> None:
    run = {**SFT, "full_or_lora": "lora", "zero_stage": 2}
    assert _terms(facts(**run))["buckets"].bytes == 1e9
    assert _terms(facts(**run, reduce_bucket=200_000_000))["buckets"].bytes == 4e8
    assert _terms(facts(**run, reduce_bucket=200_000_000, overlap_comm=True))["buckets"].bytes == 8e8


def test_4_bit_weights_that_every_rank_loads_stand_whole_on_its_card() -> None:
    """huggingface/transformers v4.57.1 quantizers/quantizer_bnb_4bit.py: update_device_map."""
    text = (
        "axolotl train qlora.yaml\nbase_model: meta-llama/Meta-Llama-3-70B-Instruct\nload_in_4bit: true\nadapter: qlora\n"
        "sequence_len: 2048\n"
        "fsdp:\n  - full_shard\nfsdp_config:\n  fsdp_offload_params: true\n  fsdp_cpu_ram_efficient_loading: {}\n4 x A6000\n"
    )
    loads = []
    for one in ("false", "true"):
        gpu = run_of(text.format(one)).estimate.gpu
        assert gpu is not None
        load = gpu.phase("load")
        assert load is not None
        loads.append(load.bytes / 2**30)
    assert loads[0] == pytest.approx(36, abs=6)
    assert loads[1] < 3


@pytest.mark.parametrize(
    ("command", "bits"),
    [
        ("accelerate launch -m trl.scripts.sft --model_name_or_path meta-llama/Llama-3.1-70B --use_peft", "--load_in_4bit"),
        ("swift sft --model Qwen/Qwen2.5-72B-Instruct --train_type lora", "--quant_method bnb --quant_bits 4"),
        ("deepspeed --module openrlhf.cli.train_sft --pretrain meta-llama/Llama-3.1-70B --lora_rank 8 --zero_stage 2", "--load_in_4bit"),
    ],
)  # fmt: skip
def test_a_base_in_four_bits_is_made_on_the_card_and_not_on_the_host(command: str, bits: str) -> None:
    def loads(text: str) -> float:
        host = run_of(f"{text}\n4 x A100 80GB").estimate.host
        assert host is not None
        load = host.phase("load")
        assert load is not None
        return load.bytes

    assert loads(f"{command} {bits}") < 64 * GIB
    assert loads(command) > 4 * 130 * GIB


def test_a_base_that_words_call_qlora_is_made_on_the_card_as_well() -> None:
    host = run_of(
        "axolotl, Llama-3.1-70B, QLoRA r=16, FSDP full shard on 4x RTX 3090, seq 2048, bs 1", {}
    ).estimate.host
    assert host is not None
    load = host.phase("load")
    assert load is not None
    assert load.bytes < 64 * GIB
