"""Names of models in launch commands: which of them mean a model of the catalogue, and which do not."""

from __future__ import annotations

import pytest

from diagnose.facts.models.model_names import alike, find_model
from diagnose.knowledge import current

COMMANDS = (
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path={}",
    "swift rlhf --rlhf_type grpo --model {} --train_type full",
    "python train.py --hf-checkpoint {} --save /ckpt",
)


def _shapes(facts, name):
    return {(found := facts(command.format(name))).model and found.model.slug for command in COMMANDS}


@pytest.mark.parametrize(
    "name",
    [
        "zai-org/GLM-5V",
        "zai-org/GLM-5-Air",
        "zai-org/GLM-5.3",
        "zai-org/GLM-4.7V",
        "zai-org/GLM-4.8",
        "zai-org/GLM-4-32B-0414",
        "moonshotai/Kimi-K3",
        "moonshotai/Kimi-Linear-48B-A3B-Instruct",
        "google/gemma-4-12b-it",
        "google/gemma-4-E4B-it-assistant",
        "google/gemma-3n-E4B-it",
        "MiniMaxAI/MiniMax-M3",
        "MiniMaxAI/MiniMax-M1-80k",
        "MiniMaxAI/MiniMax-M2-Pro",
        "nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-BF16",
        "nvidia/Nemotron-H-47B-Base-8K",
        "Qwen/Qwen3.7-27B",
        "deepseek-ai/DeepSeek-V4-Flash",
        "deepseek-ai/DeepSeek-V3-Lite",
        "mistralai/Ministral-3-14B-Instruct-2512",
        "baidu/ERNIE-4.5-VL-28B-A3B-PT",
        "microsoft/Phi-4-mini-flash-reasoning",
    ],
)
def test_a_model_that_is_not_held_is_not_taken_for_its_sibling(facts, name):
    assert _shapes(facts, name) == {None}


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("zai-org/GLM-5", "glm-5"),
        ("/models/glm-5", "glm-5"),
        ("/root/GLM-5_torch_dist", "glm-5"),
        ("zai-org/GLM-5.1-FP8", "glm-5"),
        ("/x/GLM-5.2_torch_dist", "glm-5.2"),
        ("zai-org/GLM-4.6", "glm-4.5"),
        ("/models/GLM-4.7-355B-A32B_torch_dist/", "glm-4.7"),
        ("/models/GLM-4.7-Flash", "glm-4.7-flash"),
        ("/data/glm-4.7-flash", "glm-4.7-flash"),
        ("unsloth/GLM-4.7-Flash-bnb-4bit", "glm-4.7-flash"),
        ("cyankiwi/GLM-4.7-Flash-AWQ-4bit", "glm-4.7-flash"),
        ("zai-org/GLM-4.5-Air", "glm-4.5-air"),
        ("/root/Kimi-K2-Thinking_torch_dist", "kimi-k2"),
        ("/data/Kimi-K2-Instruct-mcore", "kimi-k2"),
        ("moonshotai/kimi-k2.6", "kimi-k2.5"),
        ("google/gemma-4-E4B-it", "gemma-4-e4b"),
        ("/data/gemma-4-31b", "gemma-4-31b"),
        ("google/gemma-4-26B-A4B-it", "gemma-4-26b-a4b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("allenai/Olmo-3-7B-Think", "olmo-3-7b"),
        ("tencent/Hunyuan-A13B-Instruct", "hunyuan-a13b"),
        ("unsloth/gemma-4-E4B-it-unsloth-bnb-4bit", "gemma-4-e4b"),
        ("/root/MiniMax-M2.5_torch_dist", "minimax-m2"),
        ("/data/MiniMax-M2-supervised", "minimax-m2"),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "nemotron-3-super-120b-a12b"),
        ("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16", "nemotron-3-nano-30b-a3b"),
        ("nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16", "nemotron-3-nano-omni-30b-a3b"),
        ("Qwen/Qwen3.5-122B-A10B-FP8", "qwen3.5-122b-a10b"),
        ("/mnt/qwen3.6-27b", "qwen3.5-27b"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3"),
        ("mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-small-3.1-24b"),
        ("/data/Openvla-oft-SFT-libero10-trajall", "openvla-7b"),
        ("/data/Qwen2.5-7B-mini-sft", "qwen2.5-7b"),
    ],
)
def test_a_model_is_found_under_the_names_of_scripts(facts, name, slug):
    assert _shapes(facts, name) == {slug}


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("allenai/OLMoE-1B-7B-0924", 6.9),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 108.6),
        ("Qwen/Qwen3-30B-A3B", 30),
    ],
)
def test_what_a_token_passes_through_is_not_the_size(values, name, billions):
    assert values(COMMANDS[0].format(name))["params_b"] == billions


@pytest.mark.parametrize("name", ["GLM-5.3-Flash", "Kimi-K2.7", "DeepSeek-V3.3", "Phi-4.5"])
def test_a_later_version_in_running_words_is_another_model(facts, name):
    assert facts(f"trl sft {name}, 8 x H100").model is None


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("8b qwen3 GRPO OOM", "Qwen3-8B"),
        ("training 8B Llama 3.1 with verl", "Llama-3.1-8B"),
        ("7B Qwen2.5-VL, full", "Qwen2.5-VL-7B"),
        ("我用 4B 的 qwen3", "Qwen3-4B"),
    ],
)
def test_a_size_may_stand_before_the_family(facts, text, model):
    assert facts(text).model.title == model


@pytest.mark.parametrize(
    "text", ["7b and 8b qwen3", "4B/8B qwen3", "8b and qwen3", "9b qwen3", "8b qwen", "4b qwen3, 8b qwen3"]
)
def test_a_size_before_a_family_names_no_model(facts, text):
    assert facts(text).model is None


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("peiyi9979/math-shepherd-mistral-7b-sft", "Mistral-7B-v0.1"),
        ("PeterJinGo/SearchR1-nq_hotpotqa_train-qwen2.5-7b-em-ppo", "Qwen2.5-7B"),
        ("dolphin-2.9-llama3-8b", "Llama-3-8B"),
        ("me/my-gemma-2-9b-it-ft", "Gemma-2-9B"),
    ],
)
def test_what_was_trained_of_a_model_has_its_shape(facts, name, model):
    assert facts(f"trl sft --model_name_or_path {name} --max_length 512").model.title == model


@pytest.mark.parametrize(
    "name",
    [
        "llava-v1.6-mistral-7b-hf",
        "llava-onevision-qwen2-7b-ov",
        "cogvlm2-llama3-8b",
        "me/my-qwen-7b",
        "Bunny-Llama-3-8B-V",
    ],
)
def test_what_is_made_of_a_model_with_more_beside_it_has_not(facts, name):
    assert facts(f"trl sft --model_name_or_path {name} --max_length 512").model is None


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("deepseek-r1:7b", "Qwen2.5-7B"),
        ("DeepSeek-R1-Distill-32B", "Qwen2.5-32B"),
        ("deepseek-r1-70b", "Llama-3.1-70B"),
        ("DeepSeek-R1-671B", "DeepSeek-V3"),
        ("Qwen3-235B", "Qwen3-235B-A22B"),
        ("qwen3-vl-235b-instruct", "Qwen3-VL-235B-A22B"),
        ("Llama-4-Scout-17B", "Llama-4-Scout-17B-16E"),
        ("opt-1.3b", "OPT-1.3B"),
        ("opt-13b-sft", "OPT-13B"),
        ("opt13b", "OPT-13B"),
        ("me/llama-13b-sft", "Llama-2-13B"),
    ],
)
def test_a_name_as_people_shorten_it(name, title):
    models = current().catalogue
    assert {model.slug: model.title for model in models}[find_model(name, models)] == title


@pytest.mark.parametrize("name", ["DeepSeek-R1-8B", "DeepSeek-V3-16B", "GLM-4.5-9B", "qwq-7b"])
def test_a_name_that_goes_on_with_another_size_is_of_another_model(name):
    assert find_model(name, current().catalogue) == ""


@pytest.mark.parametrize("name", ["princeton-nlp/Sheared-LLaMA-1.3B", "llama-1.3b", "Sheared-LLaMA-1.3B-ShareGPT"])
def test_a_size_is_not_read_without_its_point(name):
    assert find_model(name, current().catalogue) == ""


def test_the_size_behind_a_name_in_words_is_the_models(values):
    assert values("GRPO of deepseek-r1 14B on 4x A100 80G, CUDA out of memory")["params_b"] == 14


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("Qwen3-2B", ("Qwen3-VL-2B", "Qwen3.5-2B", "Qwen3-1.7B")),
        ("Qwen2-2B", ("Qwen2-VL-2B",)),
        ("DeepSeek-R1-8B", ("DeepSeek-R1-Llama-8B", "DeepSeek-R1-0528-Qwen3-8B", "DeepSeek-R1-7B")),
        ("Foo-Bar-13B", ()),
        ("", ()),
    ],
)
def test_names_that_may_be_meant_by_one_that_nobody_knows(name, names):
    assert alike(name, current().catalogue) == names
