"""Settings in so few words as people use in a chat: what they mean, and what they leave open."""

import pytest

from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ("LoRA OOMs too, same as full", None),
        ("LoRA also OOMs", None),
        ("LoRA 也爆", None),
        ("both LoRA and full run out", None),
        ("with full, LoRA and QLoRA", None),
        ("LoRA 和全参都 OOM", None),
        ("无论lora还是全参都爆", None),
        ("regardless of LoRA", None),
        ("LoRA would fit but I can not use it", None),
        ("LoRA also OOMs, full finetune", "full"),
        ("previously LoRA, now full", "full"),
        ("换成 LoRA 也爆", "lora"),
        ("even LoRA OOMs", "lora"),
    ],
)
def test_two_ways_of_training_that_fail_alike_leave_open_which_one_is_meant(facts, said, mode):
    told = facts(f"trl grpo Qwen2.5-7B 8*A100 80G. {said}. CUDA out of memory").stated.get("full_or_lora")
    assert (told.value if told is not None and told.origin == "read" else None) == mode


def test_what_fails_too_was_tried(knowledge):
    said = "trl grpo Qwen2.5-7B on 8xA100 80GB OOM in loss.backward. LoRA OOMs too, same as full."
    assert "peft.lora" in {one.lever for one in diagnose(said, {}, knowledge, ()).facts.tried}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("开了 param offload 没开 optimizer offload", {"param_offload": True, "optimizer_offload": False}),
        ("param_offload 开 optimizer_offload 关", {"param_offload": True, "optimizer_offload": False}),
        ("param offload 关, optimizer offload 开", {"param_offload": False, "optimizer_offload": True}),
        ("内存不够不能开offload", {"param_offload": False, "optimizer_offload": False}),
        ("开不开 offload 都一样", {}),
        ("both offloads on", {"param_offload": True, "optimizer_offload": True}),
        ("both offloads off", {"param_offload": False, "optimizer_offload": False}),
        ("optimizer offload only", {"optimizer_offload": True}),
        ("ref param offload on", {}),
        ("with param offload on it works but slow", {}),
    ],
)
def test_an_offload_belongs_to_the_word_beside_it(facts, said, told):
    stated = facts(f"verl grpo Qwen2.5-7B 8*A100 80G CUDA out of memory, {said}").stated
    ids = ("param_offload", "optimizer_offload")
    assert {id: stated[id].value for id in ids if id in stated and stated[id].origin == "read"} == told


def test_an_offload_of_the_optimizer_alone_leaves_the_weights_on_the_card(facts):
    stated = facts("trl grpo Qwen2.5-7B 8*A100 80G CUDA out of memory, zero3 offload optimizer only").stated
    assert "param_on_cpu" not in stated or stated["param_on_cpu"].value is False


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("swift 2.5 s/it then OOM, Qwen2.5-7B sft", None),
        ("swift 3.5 s per step, Qwen2.5-7B sft OOM", None),
        ("trl 0.5 it/s grpo OOM", None),
        ("trl 0.16 TFLOPs grpo OOM", None),
        ("verl 0.5 gmu grpo OOM", None),
        ("verl 0.5, grpo OOM", "0.5"),
        ("swift 3.5 sft OOM", "3.5"),
    ],
)
def test_a_speed_or_a_share_behind_a_name_is_no_version(facts, said, version):
    told = facts(said).stated.get("framework_version")
    assert (told.value if told is not None and told.origin == "read" else None) == version


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("actor 7B, critic 7B, reward 1.5B", {"params_b": 7, "critic_b": 7, "reward_b": 1.5}),
        ("actor 14B critic 7B", {"params_b": 14, "critic_b": 7}),
        ("14B actor 7B critic", {"params_b": 14, "critic_b": 7}),
        ("actor 7B, reward 1.5B, judge 72B by API", {"params_b": 7, "reward_b": 1.5}),
        ("7B, reward 1.2B tokens seen", {"params_b": 7}),
    ],
)
def test_the_size_beside_a_role_is_its_models(facts, said, told):
    stated = facts(f"verl ppo CUDA out of memory, {said}").stated
    ids = ("params_b", "critic_b", "reward_b")
    assert {id: stated[id].value for id in ids if id in stated and stated[id].origin == "read"} == told
