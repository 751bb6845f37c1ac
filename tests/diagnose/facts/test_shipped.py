"""Files of settings that a project ships and a command only names: what they say counts until somebody tells something else."""

from __future__ import annotations

import pytest

OOM = "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 23.68 GiB\n"
LORA = "llamafactory-cli train examples/train_lora/llama3_lora_sft.yaml"
GEO = "bash examples/qwen2_5_vl_7b_geo3k_grpo.sh"
ZERO2 = "accelerate launch --config_file recipes/accelerate_configs/zero2.yaml "
RECIPE = ZERO2 + "src/open_r1/grpo.py --config recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml"


def test_a_named_file_tells_its_settings_and_its_model_as_an_assumption(facts):
    found = facts(LORA + OOM)
    assert (found.values["micro_batch"], found.values["gradient_accumulation"]) == (1, 8)
    assert (found.model.slug, found.stated["model"].origin) == ("llama-3-8b", "assumed")
    assert found.shipped == "train_lora/llama3_lora_sft.yaml"
    assert found.configured


@pytest.mark.parametrize(
    ("text", "model", "size"),
    [
        (LORA + " model_name_or_path=Qwen/Qwen2.5-7B-Instruct" + OOM, "Qwen2.5-7B-Instruct", 7),
        (LORA + "，模型换成了 Qwen3-14B" + OOM, "Qwen3-14B", 14),
        (LORA + OOM + "with a 70B model instead", None, 70),
        (GEO + OOM, "Qwen2.5-VL-7B-Instruct", 7),
        ("MODEL_PATH=/data/ckpt/mine " + GEO + OOM, None, None),
    ],
)
def test_the_model_of_the_file_is_taken_where_nobody_tells_another(values, text, model, size):
    found = values(text)
    assert found.get("model") == model
    assert size is None or found["params_b"] == size


def test_a_file_of_the_same_name_elsewhere_is_another_one(facts):
    assert not facts("llamafactory-cli train examples/extras/pissa/llama3_lora_sft.yaml" + OOM).shipped


def test_what_is_pasted_whole_in_its_place_counts_alone(facts):
    lines = ["model_name_or_path: Qwen/Qwen2.5-7B-Instruct", "stage: sft", "finetuning_type: full", "dataset: mine"]
    part = LORA + "\n" + "\n".join(lines) + OOM
    assert facts(part).values["gradient_accumulation"] == 8
    more = [
        "template: qwen",
        "cutoff_len: 4096",
        "bf16: true",
        "save_steps: 500",
        "logging_steps: 10",
        "num_train_epochs: 3",
    ]
    assert not facts(LORA + "\n" + "\n".join([*lines, *more]) + OOM).shipped


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        (RECIPE, {"trainer_gpus": 8, "n_gpus": None}),
        (RECIPE.replace("src", "--num_processes=7 src"), {"trainer_gpus": 7, "n_gpus": None}),
        (RECIPE + OOM + "I have 4 x RTX 4090", {"n_gpus": 4}),
        (RECIPE.replace("src", "--num_processes=7 src") + OOM + "8 x RTX 4090", {"n_gpus": 8, "trainer_gpus": 7}),
        (ZERO2 + "src/open_r1/sft.py", {"n_gpus": 8}),
    ],
)
def test_the_launchers_file_counts_cards_unless_somebody_does(values, text, cards):
    found = values(text)
    assert {id: found.get(id) for id in cards} == cards


def test_of_several_files_the_last_before_the_failure_is_the_one_that_ran(facts):
    works, fails = LORA + "\n", "llamafactory-cli train examples/train_full/llama3_full_sft.yaml"
    texts = ("this works: " + works + "this does not: " + fails + OOM, fails + OOM + "this works: " + works)
    assert [facts(text).values["full_or_lora"] for text in texts] == ["full", "full"]
    assert [facts(text).values["gradient_accumulation"] for text in texts] == [2, 2]


def test_a_word_of_the_files_name_is_none_of_its_settings(facts):
    named = "llamafactory-cli train examples/train_qlora/llama3_lora_sft_otfq.yaml"
    assert facts(named + OOM).values["full_or_lora"] == "qlora"
    assert facts(named + " finetuning_type=full" + OOM).values["full_or_lora"] == "full"


NAMED = "bash examples/grpo_trainer/run_qwen3-8b.sh"


@pytest.mark.parametrize(
    ("text", "model", "size"),
    [
        (NAMED + ", my 32B run dies" + OOM, None, 32),
        ("训 32B 的时候爆显存，用的是 verl 的 run_qwen3-8b.sh" + OOM, None, 32),
        ("verl run_qwen3-8b.sh with 14B instead" + OOM, None, 14),
        ("verl: 8B works, 32B dies, script run_qwen3-8b.sh" + OOM, None, 32),
        ("EasyR1 qwen2_5_vl_7b_geo3k_grpo.sh，我的 72B 跑不起来" + OOM, None, 72),
        (RECIPE + OOM + "this was with a 7B model", None, 7),
        ("verl run_qwen3-8b.sh, the 8B run dies" + OOM, "qwen3-8b", 8),
        ("verl run_qwen3-8b.sh with a 32B reward model" + OOM, "qwen3-8b", 8),
    ],
)
def test_a_size_that_is_told_outranks_the_model_of_the_files_name(values, text, model, size):
    found = values(text)
    assert (found.get("model"), found["params_b"]) == (model, size)
