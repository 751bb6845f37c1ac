"""What people wrote that a first look misread: failures that are over, runs that went well, parts of machines."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "With gradient checkpointing I no longer get OOM, thanks! verl GRPO. But now the reward stays at 0.",
        "The run no longer fails with OOM after I set enforce_eager. Closing.",
        "After setting enforce_eager=True we never see OOM any more, however throughput halved. verl 8xH100",
        "现在不 OOM 了，但是速度只有原来一半，怎么优化？verl grpo 8*H800",
        "不爆显存了但是训练变慢了",
        'What does "CUDA out of memory" mean and why does GRPO need more than SFT?',
        "docs: describe how to avoid `torch.OutOfMemoryError` when using GRPOTrainer",
        "ImportError: cannot import name 'OutOfMemoryError' from 'torch.cuda'",
        "Feature request: log peak GPU memory per phase in verl so that we can tune before an OOM happens.",
        "Will 4 x A100 40G run out of memory for PPO on Llama-3-8B with OpenRLHF?",
    ],
)
def test_no_failure_is_read_where_none_is_told(values, text):
    assert "oom_kind" not in values(text)


@pytest.mark.parametrize(
    "text",
    [
        "为什么别人 24G 不爆显存，我 80G 还爆显存？verl",
        "怎么才能不爆显存？verl grpo 7B 8卡A100",
        "It no longer OOMs at init, now CUDA OOM in update_actor. verl",
        "I never had OOM with 4 samples, with 8 samples CUDA out of memory",
        "What does this mean? torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. verl",
    ],
)
def test_a_failure_beside_such_words_stays(values, text):
    assert values(text)["oom_kind"] == "gpu_oom"


@pytest.mark.parametrize(
    ("text", "nodes", "cards"),
    [
        ("Two nodes work; on one node (8xH100) CUDA OOM. verl 32B", 1, 8),
        ("On one node it works, on two nodes (8xH100 each) CUDA OOM. verl 32B", 2, 16),
        ("I have 2 machines with 4 A100 each but use only one machine now. CUDA OOM", 1, 4),
        ("一台机器 8 卡能跑，两台反而爆显存 verl", 2, 16),
        ("每个节点 2T 内存、8 张 H20，共 4 个节点，爆显存", 4, 32),
        ("each node has 2TB of RAM and 8 H20, 4 nodes, CUDA OOM", 4, 32),
    ],
)
def test_the_machines_are_those_of_the_run_that_failed(values, text, nodes, cards):
    found = values(text)
    assert (found["n_nodes"], found["n_gpus"]) == (nodes, cards)


def test_cards_that_others_have_are_not_the_runs(values):
    assert values("8 x 3090，其中两张给别人用了，我用 6 张跑 trl grpo，爆显存")["n_gpus"] == 6


def test_a_request_of_a_pod_in_a_sentence_counts_its_cards(values):
    text = "Kubernetes pod with nvidia.com/gpu: 4 on an 8 GPU H100 node, verl CUDA out of memory"
    assert values(text)["gpus_per_node"] == 4


def test_cards_that_generate_and_cards_that_train_are_apart(values):
    found = values("swift grpo: 8 张 A100，2 张跑 vllm rollout，6 张训练，训练卡爆显存")
    assert (found["n_gpus"], found["trainer_gpus"]) == (8, 6)


def test_processes_of_the_launcher_train_whatever_comes_last(values):
    text = (
        "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6 accelerate launch --num_processes 7 grpo.py --use_vllm\n"
        "CUDA_VISIBLE_DEVICES=7 trl vllm-serve --model Qwen/Qwen2.5-7B\n"
    )
    assert values(text)["trainer_gpus"] == 7


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("verl 0.4.1 works, verl 0.5.0 gives CUDA out of memory", "0.5.0"),
        ("verl==0.5.0 gives CUDA out of memory, verl==0.4.1 is fine", "0.5.0"),
        ("verl 0.4.1 gives CUDA out of memory", "0.4.1"),
    ],
)
def test_the_version_is_that_of_the_run_that_failed(values, text, version):
    assert values(text)["framework_version"] == version


def test_a_length_that_worked_leaves_the_trainer_its_own(values):
    assert values("verl GRPO: 8k response ok, 16k response CUDA OOM")["framework"] == "verl"


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("CUDA OOM computing old log probs. verl", "logprob"),
        ("slime，训练 optimizer step 爆显存", "optimizer_step"),
        ("CUDA OOM using old log probs. verl", None),
    ],
)
def test_what_was_being_done_places_the_failure(values, text, phase):
    assert values(text).get("phase") == phase


def test_ray_that_kills_for_memory_tells_of_the_host(values):
    assert values("slime 训练，ray 报内存超过 95% 把 worker 杀了")["oom_kind"] == "host_ram"


def test_the_last_of_several_values_is_in_force(values):
    assert values("micro batch was 4, then 2, now 1: still CUDA out of memory in update_actor verl")["micro_batch"] == 1


def test_memory_modules_tell_the_hosts_memory(values):
    assert values("8x H100 80GB HBM3, 2x Xeon 8480, 2TB DDR5; verl; CUDA out of memory")["host_ram_gb"] == 2048
