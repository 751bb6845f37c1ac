"""A pasted config.json is the model."""

import json

import pytest

DENSE = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "model_type": "qwen2",
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
    "vocab_size": 152064,
}
SPARSE = DENSE | {
    "head_dim": 128,
    "hidden_size": 2048,
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "vocab_size": 151936,
}
# of DeepSeek-V3: whose code also runs models of other sizes
LATENT = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "model_type": "deepseek_v3",
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
}
TOWER = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "patch_size": 14}


def text(config):
    return json.dumps(config, indent=2)


@pytest.mark.parametrize("without", ["hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads"])
def test_it_makes_no_model_of_a_part(facts, without):
    assert facts(text({key: value for key, value in DENSE.items() if key != without})).model is None


def test_it_makes_no_model_of_an_attention_that_it_does_not_know(facts):
    assert facts(text(DENSE | {"kv_lora_rank": 512})).model is None  # its heads' widths are missing


def test_it_reads_latent_attention_and_not_the_model_whose_code_runs_it(facts):
    half = facts(text(LATENT | {"num_hidden_layers": 31})).model
    assert (half.layers, half.latent.key, half.kv_heads, half.head_dim) == (31, 512, 1, 288)
    assert half.moe.fp32_router  # like its family


def test_it_makes_no_model_of_an_attention_with_an_index(facts):
    assert facts(text(LATENT | {"index_n_heads": 64, "model_type": "", "architectures": []})).model is None


# The counts are those that the authors publish: 7.61, 30.5, 671 and 8.29 billion.
@pytest.mark.parametrize(
    ("config", "billions"),
    [(DENSE, 7.62), (SPARSE, 30.53), (LATENT, 671.03), ({"text_config": DENSE, "vision_config": TOWER}, 8.29)],
)
def test_the_shape_numbers_give_the_size_that_its_authors_publish(facts, config, billions):
    found = facts(text(config))
    assert found.model.params_b == billions
    assert found.values["params_b"] == billions
    assert found.stated["params_b"].origin == "derived"


def test_a_tower_does_not_stand_for_the_model(facts):
    model = facts(text({"text_config": DENSE, "vision_config": TOWER})).model
    assert (model.hidden, model.vision.hidden, model.vision.pixels_per_token) == (3584, 1280, 784)


def test_experts_are_read(facts):
    moe = facts(text(SPARSE)).model.moe
    assert (moe.experts, moe.active, moe.width) == (128, 8, 768)


def test_the_family_in_it_is_no_name(facts):
    assert "model" not in facts(text(DENSE)).values


def test_a_folder_in_it_is_its_title(facts):
    assert facts("Model config " + text(DENSE | {"_name_or_path": "/models/my-7b-sft"})).model.title == "my-7b-sft"


@pytest.mark.parametrize(
    ("kind", "sparse", "alike"),
    [
        ("gemma3_text", False, {"norms": 4, "fp32_norm": True, "qk_norm": True}),
        ("qwen3", False, {"norms": 2, "fp32_norm": False, "qk_norm": True}),
        ("glm4", False, {"norms": 4, "qk_norm": False}),
        ("glm4_moe", True, {"norms": 2}),  # another family than the dense one of that name
        ("gpt_oss", True, {"fp32_norm": True, "clamped": True, "sinks": True}),
        ("unheard_of", False, {"norms": 2, "qk_norm": False}),
    ],
)
def test_what_no_number_says_is_the_familys(facts, kind, sparse, alike):
    model = facts(text((SPARSE if sparse else DENSE) | {"model_type": kind})).model
    assert {field: getattr(model, field) for field in alike} == alike
    assert (model.moe is not None and model.moe.stacked) == (kind == "gpt_oss")
