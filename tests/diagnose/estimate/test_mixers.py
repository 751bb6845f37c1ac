"""Models whose layers are not all alike: those that mix tokens by a recurrent state, and those whose MLPs are layers of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.estimate import shape
from diagnose.estimate.layer import frozen_layer_bytes_per_token, layer_bytes_per_token, widths
from diagnose.estimate.mixer import kinds, mixer_bytes_per_token
from diagnose.knowledge import current
from diagnose.knowledge.hardware import Mixer, Model

RULE = Mixer(kind="delta", layers=36, heads=32, width=128, groups=16, state=128)
SCAN = Mixer(kind="scan", layers=23, heads=64, width=64, groups=8, state=128)


def _model(slug: str) -> Model:
    return current().models[slug]


def test_a_short_convolution_has_two_products_and_keeps_what_its_gates_multiply() -> None:
    record = _model("lfm2-1.2b")
    assert record.mixer is not None
    h = record.hidden
    one = shape.parameters(replace(record, mixer=replace(record.mixer, layers=11))) - shape.parameters(record)
    assert one == 4 * h * h + 3 * h
    assert mixer_bytes_per_token(record.mixer) == 12 * h
    adapters = shape.lora_parameters(replace(record, mixer=replace(record.mixer, layers=11)), 8)
    assert adapters - shape.lora_parameters(record, 8) == 8 * (h + 3 * h + h + h)


@pytest.mark.parametrize(
    "slug",
    [
        "lfm2-1.2b",
        "qwen3-next-80b-a3b",
        "qwen3.5-4b",
        "nemotron-3-nano-30b-a3b",
        "nemotron-nano-9b-v2",
        "gemma-4-e2b",
        "gemma-4-e4b",
        "qwen3-30b-a3b",
        "qwen2.5-7b",
    ],
)
def test_every_layer_mixes_tokens_or_is_an_mlp(slug: str) -> None:
    record = _model(slug)
    mixing = record.attends + (record.mixer.layers if record.mixer else 0)
    assert sum(number for number, _ in kinds(record, widths(record))) == record.layers
    assert mixing + (record.mlp_layers or 0) == record.layers


def test_a_delta_rule_keeps_what_its_convolution_and_its_kernel_read() -> None:
    """8,192 channels twice; 4,096 queries and as many keys; 64 + 4 numbers of 2 bytes a head; output, gate and product of 4,096."""
    assert mixer_bytes_per_token(RULE) == 2 * (2 * 8192 + 2 * 4096 + 68 * 32 + 3 * 4096)


def test_a_scan_keeps_what_went_in_and_its_output() -> None:
    assert mixer_bytes_per_token(SCAN) == 2 * (4096 + 6144 + 64 + 4096)


def test_a_layer_of_its_own_has_one_norm() -> None:
    record = _model("nemotron-3-nano-30b-a3b")
    attention, mixer, mlp = (layer_bytes_per_token(kind) for _, kind in kinds(record, widths(record)))
    norms = 8 * 2688
    assert mixer == norms + mixer_bytes_per_token(SCAN)
    assert attention == norms + 4 * 4096 + 4 * 256 + 4 * 32
    assert mlp == norms + 4 * (6 * 1856 + 3712) + 4 * 6 * 2688 + 4 * 2688  # a router in fp32


def test_adapters_of_a_scan_read_what_goes_in_and_what_comes_out() -> None:
    record = _model("nemotron-3-nano-30b-a3b")
    _, (_, mixer), (_, mlp) = kinds(record, widths(record))
    bare = mixer._replace(queries=1)
    assert frozen_layer_bytes_per_token(mixer) - frozen_layer_bytes_per_token(bare) == 2 * (4096 - 1)
    assert frozen_layer_bytes_per_token(mlp) < layer_bytes_per_token(mlp._replace(gated=True))


def test_a_pair_for_each_product_of_a_mixer() -> None:
    record = _model("qwen3-next-80b-a3b")
    without = replace(record, mixer=None)
    pairs = (2048 + 12288) + (2048 + 64) + (4096 + 2048)
    assert shape.lora_parameters(record, 8) - shape.lora_parameters(without, 8) == 8 * 36 * pairs


def test_one_pair_for_gate_and_up_where_they_are_one_product() -> None:
    record = _model("qwen2.5-7b")
    apart, together = shape.lora_parameters(record, 8), shape.lora_parameters(record, 8, fused=True)
    assert apart - together == 8 * 28 * (2 * 3584 + 3584)


def test_the_largest_layer_stands_for_those_that_are_gathered() -> None:
    record = _model("nemotron-3-nano-30b-a3b")
    experts = 128 * 2 * 2688 * 1856
    assert experts < shape.layer(record) < 1.05 * experts


def test_experts_in_one_tensor_have_adapters_in_megatron_alone() -> None:
    record = _model("gpt-oss-20b")
    assert shape.expert_adapter_parameters(record, 8) == 0
    assert shape.expert_adapter_parameters(record, 8, fused=True) == 8 * 24 * 32 * (2 * 2880 + 3 * 2880)


def test_layers_with_wider_heads_keep_as_much_more() -> None:
    record = _model("gemma-4-e4b")
    (plain, narrow), (few, wide) = kinds(record, widths(record))
    assert (plain, few) == (35, 7)
    kept = layer_bytes_per_token(wide) - layer_bytes_per_token(narrow)
    assert kept == (4 + 8) * (8 + 2) * 256


def test_rows_for_experts_of_a_narrower_state_are_as_narrow() -> None:
    record = _model("nemotron-3-super-120b-a12b")
    *_, (_, mlp) = kinds(record, widths(record))
    assert layer_bytes_per_token(mlp) == 8 * 4096 + 4 * (22 * 2688 + 5376) + 4 * 22 * 1024 + 4 * 4096


def test_layers_with_a_doubled_mlp_are_kinds_of_their_own() -> None:
    record = _model("gemma-4-e2b")
    found = kinds(record, widths(record))
    assert [(number, kind.mlp, kind.q) for number, kind in found] == [
        (12, 6144, 2048),
        (16, 12288, 2048),
        (3, 6144, 4096),
        (4, 12288, 4096),
    ]
