"""Counts from shape numbers against the counts that the authors publish."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diagnose.estimate import shape
from diagnose.estimate.spread import in_experts
from diagnose.knowledge import CONTENT
from diagnose.knowledge.hardware import Model, Moe
from diagnose.knowledge.loader import parse


def model(slug: str) -> Model:
    record, problems = parse("models", slug, (CONTENT / "models" / f"{slug}.md").read_text(encoding="utf-8"))
    assert isinstance(record, Model), problems
    return record


def files() -> list[Path]:
    return sorted((CONTENT / "models").glob("*.md"))


@pytest.mark.parametrize("slug", [path.stem for path in files()])
def test_it_counts_exactly_what_the_authors_publish(slug):
    record = model(slug)

    assert shape.parameters(record) == record.published


@pytest.mark.parametrize("slug", [path.stem for path in files()])
def test_the_number_in_a_name_is_near_the_count(slug):
    record = model(slug)

    # Gemma 7B leaves its table of 0.8 billion out of its name, a 2B may have 2.6.
    assert record.params_b == pytest.approx(record.published / 1e9, rel=0.32)


def test_the_parts_of_a_dense_text_model_add_up():
    record = model("qwen2.5-7b")

    assert shape.root(record) + record.layers * shape.layer(record) == shape.parameters(record)


def test_a_tied_head_is_stored_once():
    record = model("qwen2.5-3b")
    apart = replace(record, tied=False)

    assert shape.root(apart) - shape.root(record) == shape.embedding(record) == 151936 * 2048


def test_a_vision_tower_is_counted_with_the_whole_but_not_as_active():
    record = model("qwen2.5-vl-7b")

    assert shape.parameters(record) - shape.active(record) == shape.vision(record) == 676_550_144


def test_a_token_passes_through_the_chosen_experts_only():
    # Mixtral of Experts (arXiv:2401.04088), section 2: 47B stored, 13B active.
    assert shape.active(model("mixtral-8x7b")) / 1e9 == pytest.approx(12.9, abs=0.05)
    assert shape.active(model("qwen3-30b-a3b")) / 1e9 == pytest.approx(3.3, abs=0.1)


def test_dense_layers_of_a_sparse_model_have_the_dense_width():
    record = model("qwen3-30b-a3b")
    first_dense = replace(record, moe=replace(record.moe, dense_layers=1))
    dense_mlp, sparse_mlp = 3 * 2048 * 6144, 128 * 2048 + 128 * 3 * 2048 * 768

    assert shape.parameters(first_dense) - shape.parameters(record) == dense_mlp - sparse_mlp


def test_a_shared_expert_is_counted_once_a_layer():
    record = model("qwen3-30b-a3b")
    shared = replace(record, moe=replace(record.moe, shared=1024))

    assert shape.layer(shared) - shape.layer(record) == 3 * 2048 * 1024


def test_the_head_width_is_as_stated_before_it_is_divided():
    assert shape.head_dim(model("qwen3-0.6b")) == 128
    assert shape.head_dim(model("qwen2.5-0.5b")) == 64


def test_adapters_on_all_linear_layers_of_llama_2_7b():
    # peft prints "trainable params: 39,976,960" for rank 16 on all seven projections of this model.
    assert shape.lora_parameters(model("llama-2-7b"), 16) == 39_976_960


def test_adapters_on_query_key_and_value_of_llama_2_7b():
    # rank 8: 8 x (4096 + 4096) x 3 projections x 32 layers
    assert shape.lora_parameters(model("llama-2-7b"), 8, "query_key_value") == 6_291_456


def test_adapters_on_the_mlp_alone_of_llama_2_7b():
    # rank 16: 16 x 3 projections x (4096 + 11008) x 32 layers
    assert shape.lora_parameters(model("llama-2-7b"), 16, "mlp") == 23_199_744


def test_every_expert_has_its_own_adapter():
    record = replace(model("mixtral-8x7b"), layers=1)
    one = replace(record, moe=Moe(experts=1, active=1, width=14336))

    assert shape.lora_parameters(record, 8) - shape.lora_parameters(one, 8) == 7 * 8 * 3 * (4096 + 14336)


def test_an_adapter_grows_with_its_rank():
    record = model("qwen2.5-7b")

    assert shape.lora_parameters(record, 64) == 8 * shape.lora_parameters(record, 8)


def test_all_counts_at_once_are_the_single_ones():
    record = model("qwen2.5-vl-3b")
    counts = shape.shape(record)

    assert (counts.parameters, counts.root, counts.layer) == (
        shape.parameters(record),
        shape.root(record),
        shape.layer(record),
    )


@pytest.mark.parametrize(
    ("slug", "counted", "beside"),
    [
        # NVIDIA-NeMo/Megatron-Bridge 067f987 examples/model_verification_cards: parameters of the published weights
        ("glm-5", 743_911_199_232, 75 * 256),  # the router's numbers are no parameters there
        ("glm-5.2", 743_377_000_704, 75 * 256),
        ("nemotron-3-nano-4b", 3_973_556_832, 0),
        ("nemotron-3-nano-omni-30b-a3b", 33_015_546_816, 0),
    ],
)
def test_it_counts_what_was_counted_in_the_published_weights(slug, counted, beside):
    assert shape.parameters(model(slug)) == counted + beside


def test_layers_that_predict_a_second_token_are_what_is_missing():
    # the same cards; a layer of each kind, the product of two states and the norms before it
    record = model("nemotron-3-super-120b-a12b")
    h, attention = record.hidden, 4096 * (2 * 4096 + 2 * 2 * 128)
    sparse = 512 * 2 * 1024 * 2688 + 2 * 4096 * 5376 + 2 * 4096 * 1024 + 512 * 4096 + 512

    assert shape.parameters(record) + attention + sparse + 2 * h * h + 5 * h == 123_611_033_088


def test_experts_of_a_narrower_state_are_as_much_smaller():
    record = model("nemotron-3-super-120b-a12b")
    whole = replace(record, moe=replace(record.moe, latent=0))

    narrowed, experts = 40 * 2 * 4096 * 1024, 40 * 512 * 2 * 2688
    assert shape.parameters(whole) - shape.parameters(record) == experts * (4096 - 1024) - narrowed
    assert in_experts(record) == experts * 1024


def test_an_indexer_has_queries_one_key_and_a_weight_a_head():
    record = model("deepseek-v3.2")
    without = replace(record, latent=replace(record.latent, index_layers=0, index_heads=0, index_width=0))

    indexer = 1536 * 64 * 128 + 7168 * 128 + 2 * 128 + 7168 * 64
    assert shape.parameters(record) - shape.parameters(without) == 61 * indexer
    assert shape.parameters(without) == shape.parameters(model("deepseek-v3"))


def test_a_norm_over_all_heads_is_as_wide_as_they_are():
    record = model("minimax-m2")
    narrow = replace(record, wide_norm=False)

    assert shape.parameters(record) - shape.parameters(narrow) == 62 * (47 + 7) * 128


def test_layers_that_read_the_keys_of_others_have_none():
    record = model("gemma-4-e4b")
    own = replace(record, keyed=42, wide=replace(record.wide, keyed=7))

    keys = 2 * 2560 * 2 + 1  # keys and values of two heads, and a norm, for each number of a head
    assert shape.parameters(own) - shape.parameters(record) == keys * (15 * 256 + 3 * 512)


def test_embeddings_of_every_layer_stand_at_the_root():
    record = model("gemma-4-e4b")
    without = replace(record, per_layer=0)

    assert shape.root(record) - shape.root(without) == (262144 + 2560) * 42 * 256 + 256
    assert shape.layer(record) - shape.layer(without) == 2 * 2560 * 256 + 2560


def test_adapters_are_on_the_keys_of_layers_that_have_some():
    record = model("gemma-4-e4b")
    own = replace(record, keyed=42, wide=replace(record.wide, keyed=7))
    added = shape.lora_parameters(own, 8) - shape.lora_parameters(record, 8)

    assert added == 8 * (15 * 2 * (2560 + 512) + 3 * 2 * (2560 + 1024))


def test_a_key_that_is_the_value_as_well_is_one_product():
    record = model("gemma-4-31b")
    two = replace(record, wide=replace(record.wide, one_product=False))

    assert shape.parameters(two) - shape.parameters(record) == 10 * 5376 * 4 * 512
    assert shape.lora_parameters(two, 8) - shape.lora_parameters(record, 8) == 10 * 8 * (5376 + 4 * 512)


def test_some_layers_may_have_an_mlp_of_twice_the_width():
    record = model("gemma-4-e2b")
    single = replace(record, doubled=0)

    assert shape.parameters(record) - shape.parameters(single) == 20 * 3 * 1536 * 6144
    assert shape.layer(record) - shape.layer(single) == 3 * 1536 * 6144
    assert shape.lora_parameters(record, 8) - shape.lora_parameters(single, 8) == 8 * 20 * 3 * 6144


def test_what_a_token_passes_through_is_what_the_authors_say():
    # Gemma 4 26B-A4B, Hunyuan-A13B, MiniMax-M2 (A10B), Kimi-K2 (A32B), Nemotron 3 Super (A12B)
    told = {"gemma-4-26b-a4b": 4, "hunyuan-a13b": 13, "minimax-m2": 10, "kimi-k2": 32, "nemotron-3-super-120b-a12b": 12}
    for slug, billions in told.items():
        assert shape.active(model(slug)) / 1e9 == pytest.approx(billions, rel=0.11)
