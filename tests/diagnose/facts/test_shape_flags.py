"""Models that a command of Megatron builds from numbers: NVIDIA/Megatron-LM d98e8a6 megatron/training/arguments.py."""

from __future__ import annotations

import pytest

from diagnose.knowledge.hardware import Model
from tests.diagnose.facts.conftest import told

SEVEN = """torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
 --group-query-attention --num-query-groups 8 --untie-embeddings-and-output-weights --micro-batch-size 2 --seq-length 8192 \\
 --vocab-size 131073 --tensor-model-parallel-size 4 --bf16"""
SMALL = "torchrun pretrain_gpt.py --num-layers 12 --hidden-size 512 --num-attention-heads 8 --merge-file m.txt --micro-batch-size 4"


def model(text: str) -> Model:
    found = told(text).facts.model
    assert found is not None
    return found


def test_the_numbers_of_a_command_are_its_model() -> None:
    found = model(SEVEN)
    assert (found.layers, found.hidden, found.heads, found.kv_heads, found.tied) == (32, 4096, 32, 8, False)
    assert (found.gated, found.intermediate, found.layer_norm) == (False, 4 * 4096, True)
    assert told(SEVEN).facts.values["params_b"] == pytest.approx(6.72, abs=0.01)


def test_the_table_is_padded_to_what_its_ranks_hold() -> None:
    assert model(SEVEN).vocab == 131584
    assert model(SMALL).vocab == 50304


def test_a_gate_narrows_the_mlp() -> None:
    assert model(f"{SMALL} --swiglu").intermediate == 1344


def test_heads_are_apart_unless_they_are_grouped() -> None:
    assert model(f"{SMALL} --num-query-groups 2").kv_heads == 8


def test_experts_and_the_layers_before_them_are_read() -> None:
    moe = model(
        f"{SMALL} --num-experts 32 --moe-router-topk 4 --moe-ffn-hidden-size 256 --moe-layer-freq '([0]*3+[1]*9)'"
    ).moe
    assert moe is not None
    assert (moe.experts, moe.active, moe.width, moe.dense_layers) == (32, 4, 256, 3)


def test_latent_attention_is_read() -> None:
    latent = model(f"{SMALL} --multi-latent-attention --kv-lora-rank 256 --q-lora-rank 768 --qk-head-dim 64").latent
    assert latent is not None
    assert (latent.key, latent.query, latent.plain, latent.rotary, latent.value) == (256, 768, 64, 64, 128)


@pytest.mark.parametrize("more", ["--hybrid-layer-pattern M-M*", "--img-h 336"])
def test_layers_of_several_kinds_are_left_open(more: str) -> None:
    assert told(f"{SMALL} {more}").facts.model is None


def test_without_a_vocabulary_it_is_left_open() -> None:
    assert told(SMALL.replace("--merge-file m.txt", "")).facts.model is None


def test_a_name_that_the_catalogue_knows_outranks_the_numbers() -> None:
    assert model(f"{SEVEN} --hf-checkpoint Qwen/Qwen3-4B").title == "Qwen3-4B"


def test_megatrons_own_script_splits_no_sequence_unless_it_is_told_to() -> None:
    assert told(SEVEN).facts.values["sequence_parallel"] is False
    assert told(f"{SEVEN} --sequence-parallel").facts.values["sequence_parallel"] is True
