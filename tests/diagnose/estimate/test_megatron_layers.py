"""What a layer of Megatron keeps of a token, in the bytes of Transformer Engine's modules."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.estimate.layer import Widths
from diagnose.estimate.layer_te import te_frozen_layer_bytes_per_token, te_layer_bytes_per_token
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Term

RUN = "--packing true --max_length 8192 --micro_batch_size 1 --sequence_parallel true --recompute_granularity"
DENSE = f"megatron sft --model Qwen/Qwen2.5-7B-Instruct {RUN}"
SPARSE = f"megatron sft --model Qwen/Qwen3-30B-A3B {RUN}"
HIDDEN, HEADS, EACH_HEAD, EXPERT, CHOSEN = 2048, 32, 128, 768, 8  # of Qwen3-30B-A3B
# query, key, value and output, and what the norms on query and key read; one fp32 number a head
ATTENTION = 2 * EACH_HEAD * (HEADS + 4 + 4 + HEADS) + 2 * EACH_HEAD * (HEADS + 4) + 4 * HEADS


def _terms(command: str, phase: str = "actor_update", **answers: Any) -> dict[str, Term]:
    run = diagnose(command, {"n_gpus": 8, "gpu_mem_gib": 80, **answers}, current(), ())
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
