"""Switches in sentences: what is on, off, or not said; and what a sentence says that a setting was before."""

import pytest

from diagnose.facts.sentences.on_off import never_on, switched
from tests.runs import run_of

OFF = [
    "没有开 {}，更新的时候爆显存",
    "没用 {}",
    "没开 --{}",
    "without --{}",
    "disabled --{}",
    "{} 没开",
    "{} 关了，micro batch 4",
    "{} 关掉了",
    "we don't use {}",
    "{} is not enabled",
    "without {}",
    "{} is off",
    "{}/optimizer_offload/grad_offload all False",
    "没有开 param_offload 和 {}",
    "{} 和 param_offload 都没开",
    "without param_offload or {}",
]
ON = [
    "开了 {}",
    "加了 --{}",
    "with --{}",
    "开了 param_offload 和 {}",
    "{} 和 param_offload 都开了",
    "{} 开了",
    "{} is on",
    "{} enabled",
    "with {}",
    "{} 也打开了",
    "{}/optimizer_offload/grad_offload all True",
    "{}, grad_offload and optimizer_offload are all true",
    "{}、optimizer_offload 都是 True",
]
OPEN = [
    "{}, and all true stories",
    "{} with answers that are all true",
    "有关 {} 的问题",
    "要开不开 {}",
    "{} 没用，还是爆",
    "{} 的时候",
    "8 张卡 {}",
    "using the docs of {}",
]


def place(text: str, word: str) -> tuple[str, int, int]:
    words = text.format(word)
    start = words.index(word)
    return words, start, start + len(word)


@pytest.mark.parametrize("text", OFF)
def test_off(text):
    assert switched(*place(text, "zero3")) is False


@pytest.mark.parametrize("text", ON)
def test_on(text):
    assert switched(*place(text, "zero3")) is True


@pytest.mark.parametrize("text", OPEN)
def test_not_said(text):
    assert switched(*place(text, "zero3")) is None


def test_what_is_put_off_was_on_before():
    assert not never_on(*place("关掉 {} 还是爆", "eval"))
    assert never_on(*place("没开 {} 还是爆", "eval"))


RUN = "8 张 A100 80G Qwen2.5-7B GRPO，"
SAID = [
    ("ms-swift 全参 " + RUN + "没有开 zero3，爆显存", {}, ("zero_stage",)),
    ("ms-swift 全参 " + RUN + "不用 zero3 用的 zero2，爆显存", {"zero_stage": 2}, ()),
    ("verl " + RUN + "gradient checkpointing 关了，更新 actor 爆显存", {"gradient_checkpointing": False}, ()),
    ("TRL " + RUN + "梯度检查点没开，爆显存", {"gradient_checkpointing": False}, ()),
    ("verl " + RUN + "use_remove_padding 没开，爆显存", {"remove_padding": False}, ()),
    ("verl " + RUN + "没有开 optimizer_offload，爆显存", {"optimizer_offload": False}, ()),
    (
        "OpenRLHF PPO Llama-3-8B，8 张 A800 80G，colocate_all_models，vllm_enable_sleep 开了，还是爆显存",
        {"rollout_mode": "colocated", "sleep_level": 1},
        (),
    ),
    ("verl " + RUN + "response 4k 没问题，改成 16k 更新 actor 就爆显存", {"response_length": 16384}, ()),
    ("verl " + RUN + "micro batch 4 没问题，改成 8 就爆显存", {"micro_batch": 8}, ()),
    ("verl " + RUN + "response 8k 能跑，但 16k 就爆显存", {"response_length": 16384}, ()),
    ("verl " + RUN + "max response length 2048 works, 8192 OOMs in update_actor", {"response_length": 8192}, ()),
    ("TRL " + RUN + "reduced per_device_train_batch_size from 8 to 2, still OOM", {"micro_batch": 2}, ()),
    ("TRL " + RUN + "micro batch size 从 8 改成 2 就好了", {}, ("micro_batch",)),
    (
        "verl 0.6 megatron " + RUN + "param_offload/optimizer_offload/grad_offload all True，爆显存",
        {"param_offload": True, "optimizer_offload": True, "grad_offload": True},
        (),
    ),
    (
        "verl " + RUN + "should param_offload/optimizer_offload all be True? OOM",
        {},
        ("param_offload", "optimizer_offload"),
    ),
    # how much of it is moved by another key’s way
    (
        "verl megatron " + RUN + "use_precision_aware_optimizer=True optimizer_offload_fraction=1，爆显存",
        {"optimizer_cpu_fraction": 1},
        ("optimizer_offload",),
    ),
    ("Logic-RL " + RUN + "actor_rollout_ref.actor.ppo_micro_batch_size=64，改成 32 也炸", {"micro_batch": 64}, ()),
]


@pytest.mark.parametrize(("text", "facts", "absent"), SAID)
def test_a_run_is_read_as_it_is_said_to_be(text, facts, absent, knowledge):
    found = run_of(text, {}, knowledge).facts
    assert {id: found.values.get(id) for id in facts} == facts
    assert not any(id in found.stated and found.stated[id].origin == "read" for id in absent)


def test_what_was_not_on_was_not_tried(knowledge):
    text = (
        "verl "
        + RUN
        + "rollout 的时候爆显存，没有开 optimizer_offload，gpu_memory_utilization 从 0.9 改成 0.85 还是 OOM"
    )
    tried = {one.lever for one in run_of(text, {}, knowledge).facts.tried}
    assert "offload.optimizer.on" not in tried
    assert "rollout.gpu_memory_utilization.down" in tried


def test_a_size_that_went_up_is_not_the_lever_that_takes_it_down(knowledge):
    text = "verl 32B rollout 爆显存 8 卡 A100 80G，tp=1 改成 tp=2 还是不行"
    found = run_of(text, {}, knowledge).facts
    assert found.values["rollout_tp"] == 2
    assert {one.lever for one in found.tried} == {"rollout.tensor_parallel.up"}


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("zero2 换成 zero3 还是爆", 3),
        ("switched from zero2 to zero3, still OOM", 3),
        ("moved to ZeRO-3 from ZeRO-2, with no luck", 3),
        ("从zero2改成了zero3也没用", 3),
        ("zero stage 2 改成 3 还是 OOM", 3),
        ("zero3 也试了还是不行", 3),
        ("Tried ZeRO-3, still OOM", 3),
        ("tried zero3 but it did not help, currently zero2", 2),
        ("用 zero2，换成 zero3 需要改什么", 2),
        ("zero2 换成 zero3 就好了", None),
        ("tried zero2 and zero3, both still OOM", None),
    ],
)
def test_the_run_that_failed_has_what_it_was_changed_to_or_failed_with(facts, text, stage):
    read = facts(f"TRL GRPO 7B, 8 A100 80G, CUDA OOM\n{text}").stated.get("zero_stage")
    assert (read.value if read and read.origin == "read" else None) == stage


def test_what_failed_in_a_try_counts_in_any_words_of_a_setting(values):
    assert values("verl 7B GRPO CUDA OOM, tried max num seqs 64 and it still OOMs")["max_num_seqs"] == 64
    assert values("verl 7B GRPO 爆显存, micro batch 4, micro batch 1 也试了还是爆")["micro_batch"] == 4


def test_what_was_tried_beside_a_command_is_another_run(values):
    command = "accelerate launch --num_processes 8 grpo.py --model_name_or_path Qwen/Qwen2.5-7B --use_vllm true"
    assert values(f"TRL\n{command}\nCUDA OOM. Tried ZeRO-3, still OOM")["zero_stage"] == 0


@pytest.mark.parametrize(
    ("text", "mode", "sleeps"),
    [
        ("OpenRLHF with --colocate_all_models. CUDA OOM", "colocated", 0),
        (
            "OpenRLHF 跑 7B，--colocate_all_models，--vllm_gpu_memory_utilization 0.5，没开 --vllm_enable_sleep，CUDA OOM",
            "colocated",
            0,
        ),
        ("OpenRLHF with --colocate_all_models, --vllm_enable_sleep, CUDA OOM", "colocated", 1),
        ("OpenRLHF CUDA OOM. Should I add --colocate_all_models?", "server", 0),
    ],
)
def test_a_switch_counts_with_its_dashes_in_a_sentence(values, text, mode, sleeps):
    found = values(text)
    assert (found["rollout_mode"], found["sleep_level"]) == (mode, sleeps)


@pytest.mark.parametrize(
    ("said", "actor", "critic"),
    [
        ("critic没开gradient checkpointing", True, False),
        ("gradient checkpointing is off for the critic", True, False),
        ("actor and critic without gradient checkpointing", False, False),
        ("critic offload on, gradient checkpointing off", False, True),
    ],
)
def test_the_critics_checkpointing_is_not_the_actors(values, said, actor, critic):
    found = values(f"verl PPO, Qwen2.5-7B, 8 x H800, CUDA out of memory in update_critic\n{said}")
    assert (found["gradient_checkpointing"], found["critic_gradient_checkpointing"]) == (actor, critic)
