"""Lists that people write: what they tried in vain, what nobody did yet, and a patch."""

import pytest


@pytest.mark.parametrize(
    ("text", "levers"),
    [
        (
            "What I tried:\n- lowered gpu_memory_utilization 0.8 -> 0.4\n- micro batch 8 -> 4 -> 1\n- enabled param_offload\n"
            "Nothing helps. verl",
            {"rollout.gpu_memory_utilization.down", "batch.micro.down", "offload.param.on"},
        ),
        (
            "已经尝试：\n1. 打开 param_offload\n2. micro_batch 从 8 降到 1\n都没用，verl 爆显存",
            {"offload.param.on", "batch.micro.down"},
        ),
        (
            "Tried gradient checkpointing, zero3 + offload, still dies with CUDA OOM. trl",
            {"checkpointing.activation.on", "shard.zero_stage.up"},
        ),
    ],
)
def test_what_did_not_help_was_tried(facts, text, levers):
    assert levers <= {one.lever for one in facts(text).tried if not one.helped}


@pytest.mark.parametrize(
    "text",
    [
        "Things to try:\n- enable param_offload\nstill OOM, verl",
        "Haven't tried:\n- param_offload\nstill CUDA OOM, verl",
        "接下来打算试：\n- 打开 param_offload\n还是爆显存，verl",
    ],
)
def test_what_nobody_did_yet_is_neither_tried_nor_on(facts, text):
    found = facts(text)
    assert found.values.get("param_offload") is not True
    assert not found.tried


def test_of_a_patch_the_new_value_is_in_force(values):
    text = "-    ppo_micro_batch_size_per_gpu: 8\n+    ppo_micro_batch_size_per_gpu: 2\nverl CUDA OOM"
    assert values(text)["micro_batch"] == 2


def test_an_item_of_a_configuration_is_no_removed_line(values):
    assert values("- ppo_micro_batch_size_per_gpu: 4\n- n: 8\nverl CUDA OOM")["micro_batch"] == 4


@pytest.mark.parametrize("text", ["8xH100 each, CUDA OOM, OpenRLHF", "only one node OOMs, 8xH100 each"])
def test_cards_of_each_machine_are_not_those_of_the_run(facts, text):
    found = facts(text)
    assert (found.values["gpus_per_node"], "n_gpus" in found.stated) == (8, False)


def test_a_size_of_each_card_leaves_the_cards_those_of_the_run(values):
    assert values("Setup here is four A800 (80G each), GRPO, OOM")["n_gpus"] == 4


def test_cards_that_were_had_before_are_not_those_of_the_run(values):
    assert values("had 8 H100, now only 4 H100, OOM in actor update, verl")["n_gpus"] == 4
