"""What a layer of Megatron keeps of a token, in the bytes of Transformer Engine's modules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from diagnose.estimate.layer import Widths
from diagnose.estimate.layer_te import te_frozen_layer_bytes_per_token, te_layer_bytes_per_token
from diagnose.types import Term
from tests.runs import run_of

RUN = "--packing true --max_length 8192 --micro_batch_size 1 --sequence_parallel true --recompute_granularity"
DENSE = f"megatron sft --model Qwen/Qwen2.5-7B-Instruct {RUN}"
SPARSE = f"megatron sft --model Qwen/Qwen3-30B-A3B {RUN}"
HIDDEN, HEADS, EACH_HEAD, EXPERT, CHOSEN = 2048, 32, 128, 768, 8  # of Qwen3-30B-A3B
# query, key, value and output, and what the norms on query and key read; one fp32 number a head
ATTENTION = 2 * EACH_HEAD * (HEADS + 4 + 4 + HEADS) + 2 * EACH_HEAD * (HEADS + 4) + 4 * HEADS


def _terms(command: str, phase: str = "actor_update", **answers: Any) -> dict[str, Term]:
    run = run_of(command, {"n_gpus": 8, "gpu_mem_gib": 80, **answers})
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase(phase)
    assert found is not None
    return {term.id: term for term in found.terms}


def test_a_layer_of_the_paper_keeps_34_h_less_the_masks_of_its_dropout() -> None:
    """Korthikanti et al. 2022, section 4.1: 34 h, 2 h of them masks behind attention and MLP; the kernel keeps a number a head."""
    h, heads = 4096, 32
    assert te_layer_bytes_per_token(Widths(h, 4 * h, keys=h, heads=heads, gated=False)) == 32 * h + 4 * heads


def test_layers_that_recompute_nothing_keep_what_fused_kernels_read() -> None:
    """A kernel of attention leaves no scores to recompute, so that selective recomputation of it spares nothing more."""
    none, selective = (_terms(f"{DENSE} {how}")["activations"].bytes for how in ("none", "selective"))
    hidden, mlp, heads = 3584, 18944, 28 * 128 + 2 * 4 * 128 + 28 * 128
    assert none == selective == 8192 * 28 * (8 * hidden + 2 * heads + 4 * 28 + 6 * mlp)


def test_of_an_expert_a_row_waits_for_each_product_and_none_for_the_routers_weight() -> None:
    each = 8 * HIDDEN + ATTENTION + CHOSEN * (2 * HIDDEN + 6 * EXPERT)
    assert _terms(f"{SPARSE} none")["activations"].bytes == 8192 * 48 * each


@pytest.mark.parametrize(("etp", "gathered"), [(1, 1), (4, 4)])
def test_ranks_that_share_an_expert_read_all_of_its_rows(etp: int, gathered: int) -> None:
    flags = f"none --tensor_model_parallel_size 4 --expert_tensor_parallel_size {etp}"
    each = 8 * HIDDEN + ATTENTION + CHOSEN * (2 * HIDDEN * gathered + 6 * EXPERT)
    assert _terms(f"{SPARSE} {flags}")["activations"].bytes == 8192 * 48 * each // 4


def test_frozen_products_keep_no_input_but_what_their_adapters_read() -> None:
    """Inputs of both norms, attention, the gate's kernel, and three bytes of what four pairs of adapters read through a dropout."""
    lora = _terms(f"{SPARSE} none --tuner_type lora --lora_rank 8")["activations"].bytes
    kept = 4 * HIDDEN + ATTENTION + CHOSEN * 4 * EXPERT
    read = HIDDEN + HEADS * EACH_HEAD + CHOSEN * (HIDDEN + EXPERT)
    assert lora == 8192 * 48 * (kept + 3 * read)


def test_adapters_on_attention_alone_leave_the_mlp_what_its_kernel_keeps() -> None:
    w = Widths(1024, 4096, keys=256, heads=8, gated=True)
    some = te_frozen_layer_bytes_per_token(w, 2.0, "attention")
    assert some == te_frozen_layer_bytes_per_token(w, 0.0, "attention") + 2 * (1024 + 1024)
    assert some < te_frozen_layer_bytes_per_token(w, 2.0, "all_linear")


def test_the_last_norm_keeps_its_input_and_output_once() -> None:
    assert _terms(f"{DENSE} full")["last_norm"].bytes == 8192 * 4 * 3584
    assert _terms(f"{DENSE} full --tuner_type lora")["last_norm"].bytes == 8192 * 2 * 3584


def _activations(command: str, moment: str) -> list[int]:
    run = run_of(command, {"n_gpus": 8, "gpu_mem_gib": 80})
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase("actor_update")
    assert found is not None
    assert moment in found.moment
    return [term.bytes for term in found.terms if term.id == "activations"]


WHOLE = 8 * HIDDEN + ATTENTION + CHOSEN * (2 * HIDDEN + 6 * EXPERT)


@pytest.mark.parametrize(
    ("modules", "spared"),
    [
        ("core_attn", 0),
        ("moe", CHOSEN * (2 * HIDDEN + 6 * EXPERT)),
        ("moe layernorm", CHOSEN * (2 * HIDDEN + 6 * EXPERT) + 2 * HIDDEN),
        ("moe_act", CHOSEN * 2 * EXPERT),
        ("mlp", 0),
    ],
)
def test_modules_that_are_computed_again_keep_their_input_alone(modules: str, spared: int) -> None:
    kept, *_ = _activations(f"{SPARSE} selective --recompute_modules {modules} --max_length 32768", "")
    assert kept == 32768 * 48 * (WHOLE - spared)


def test_a_dense_mlp_is_computed_again_with_the_norm_that_its_first_product_holds() -> None:
    kept, *_ = _activations(f"{DENSE} selective --recompute_modules mlp --max_length 65536", "")
    hidden, heads = 3584, 28 * 128 + 2 * 4 * 128 + 28 * 128
    assert kept == 65536 * 28 * (6 * hidden + 2 * heads + 4 * 28)


def test_what_one_layer_drops_stands_again_in_its_backward_pass() -> None:
    run = f"megatron rlhf --rlhf_type rm --model Qwen/Qwen3-30B-A3B {RUN} selective --recompute_modules moe"
    kept, again = _activations(run, "recomputing a layer")
    assert again > 8192 * CHOSEN * (2 * HIDDEN + 6 * EXPERT)
    assert again < kept


SHIPPED = (
    "policy:\n  megatron_cfg:\n    enabled: true\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
    "    recompute_modules: [moe]\ngrpo:\n  num_prompts_per_step: 8\n  num_generations_per_prompt: 8\n"
)


def test_a_file_that_asks_for_modules_alone_recomputes_no_whole_layers() -> None:
    run = run_of(SHIPPED, {"framework": "nemo-rl"})
    assert run.facts.values["gradient_checkpointing"] == "selective"
    assert run.facts.values["recompute_modules"] == "[moe]"


# the same with few words, so that the moment of the logits is not the worst
FEW_WORDS = {
    "model_type": "qwen3_moe",
    "hidden_size": HIDDEN,
    "num_hidden_layers": 48,
    "num_attention_heads": HEADS,
    "num_key_value_heads": 4,
    "head_dim": EACH_HEAD,
    "intermediate_size": 6144,
    "moe_intermediate_size": EXPERT,
    "num_experts": 128,
    "num_experts_per_tok": CHOSEN,
    "vocab_size": 512,
}
EACH_LAYER = f"megatron sft --model m {RUN} full --recompute_method uniform --recompute_num_layers 1"


@pytest.mark.parametrize(("ranks", "rows"), [(1, 3), (8, 4)])
def test_rows_of_experts_stand_before_and_after_their_sorting(ranks: int, rows: int) -> None:
    """Measured by benchmarks/trainers/run_megatron_moe.py; from other ranks they come as one more copy."""
    again = _terms(f"{EACH_LAYER} --expert_model_parallel_size {ranks}\n{json.dumps(FEW_WORDS)}")
    each = 8 * HIDDEN + ATTENTION + CHOSEN * (2 * HIDDEN + 6 * EXPERT)
    assert again["activations"].bytes == 8192 * (each + rows * 2 * CHOSEN * HIDDEN)


def test_recomputed_layers_with_experts_leave_their_inputs_gradients() -> None:
    run = f"{EACH_LAYER}\n{json.dumps(FEW_WORDS)}"
    assert _terms(run)["input_gradients"].bytes == 8192 * 47 * 2 * HIDDEN
    assert _terms(run, phase="optimizer_step")["input_gradients"].bytes == 8192 * 48 * 4 * HIDDEN
    assert "input_gradients" not in _terms(f"{DENSE} full", phase="optimizer_step")


def test_a_tensor_of_each_shape_stands_in_for_gradients_that_kernels_add_themselves() -> None:
    hidden, mlp, queries, keys, vocab = 3584, 18944, 28 * 128, 4 * 128, 152064
    matrices = hidden * (2 * queries + 2 * keys + 3 * mlp)
    assert _terms(f"{DENSE} none")["gradient_stand_ins"].bytes == 2 * (matrices + hidden * vocab)
    assert "gradient_stand_ins" not in _terms(f"{DENSE} none --tuner_type lora")
