"""A number of machines that is asked and denied at once, and machines beside a setup."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("verl GRPO, 64 nodes? no 8. 8 H100 each. Qwen2.5-72B. cuda OOM", 8),
        ("verl GRPO, 64 nodes? no, only 8, 8 H100 each. Qwen2.5-72B. cuda OOM", 8),
        ("verl GRPO, 64 nodes, 8 H100 each. Qwen2.5-72B. cuda OOM", 64),
    ],
)
def test_it_takes_the_number_that_is_put_right(text: str, nodes: int) -> None:
    assert diagnose(text, {}, current(), ()).facts.values.get("n_nodes") == nodes


def test_it_drops_the_number_that_is_denied_alone() -> None:
    facts = diagnose("verl GRPO, 64 nodes? no. 8 H100. Qwen2.5-72B. cuda OOM", {}, current(), ()).facts
    assert facts.values.get("n_nodes") != 64


def test_a_setup_is_a_machine_beside_their_number() -> None:
    facts = diagnose("verl GRPO Qwen2.5-32B, 8xA100 setup, 2 nodes. cuda OOM in update_actor", {}, current(), ()).facts
    assert facts.values["n_gpus"] == 16


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("SFT Qwen2.5-7B with swift on one 4090, OOM", "ms-swift"),
        ("LoRA fine-tuning with swift, Qwen2.5-7B, 4090 OOM", "ms-swift"),
        ("We use swift to train Qwen2.5-7B, 4090 OOM", "ms-swift"),
        ("We SFT Qwen2.5-7B on a dataset of Swift and Kotlin code, one 4090, OOM", None),
        ("SFT Qwen2.5-7B so that it writes apps with Swift, one 4090, OOM", None),
    ],
)
def test_swift_is_the_trainer_only_where_something_is_trained_with_it(text: str, framework: str | None) -> None:
    assert diagnose(text, {}, current(), ()).facts.values.get("framework") == framework


@pytest.mark.parametrize(
    ("text", "nodes", "cards"),
    [
        (
            "TRL. Same script, two machines.\n\nworks: 8x A100-SXM4-80GB\nfails: 8x A100-PCIE-40GB, CUDA out of memory",
            None,
            8,
        ),
        ("TRL, I have two machines, one works and one fails with CUDA OOM, both 8xA100", None, 8),
        ("TRL 8xA100, CUDA OOM, same error on two machines", None, 8),
        ("8*A100 TRL 爆显存，两台机器都一样", None, 8),
        ("8*A100 TRL 爆显存，两台机器都试过了", None, 8),
        ("TRL，两台机器都是 8*A100，爆显存", 2, 16),
        ("TRL，两台机器都一样的配置，每台 8*A100，爆显存", 2, 16),
        ("TRL, two machines with 8xA100 each, CUDA OOM", 2, 16),
        ("TRL on two machines (8xH100 each). One machine goes OOM, the other is fine", 2, 16),
        ("TRL. Same config on two nodes, 8xA100 each: CUDA OOM", 2, 16),
    ],
)
def test_machines_that_are_set_against_each_other_are_not_those_of_one_run(text: str, nodes: int, cards: int) -> None:
    values = diagnose(text, {}, current(), ()).facts.values
    assert (values.get("n_nodes"), values.get("n_gpus")) == (nodes, cards)


@pytest.mark.parametrize(
    "text",
    [
        "swift export 合并 lora 被 Killed。free -g 显示总共 125G。训练是在另一台机器上做的，完全没问题（8*A100）。",
        "swift export is Killed. free -g shows 125G total. Training was done on another machine (8xA100), no problem there.",
    ],
)
def test_the_cards_of_a_machine_where_all_went_well_are_not_those_of_the_failure(text: str) -> None:
    values = diagnose(text, {}, current(), ()).facts.values
    assert "n_gpus" not in values
    assert values["host_ram_gb"] == 125


def test_a_machine_to_which_a_run_moved_is_its_own() -> None:
    values = diagnose(
        "TRL. It ran out of memory on another machine as well, 8xA100 80GB. CUDA OOM", {}, current(), ()
    ).facts.values
    assert values["n_gpus"] == 8


@pytest.mark.parametrize(
    ("text", "id"),
    [
        (
            "verl, CUDA OOM\n- PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True -> vllm asserts, had to remove it",
            "expandable_segments",
        ),
        (
            "verl 爆显存。加了 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True 但是 vllm 报错，又去掉了",
            "expandable_segments",
        ),
        (
            "verl CUDA OOM. actor_rollout_ref.actor.fsdp_config.param_offload=True was too slow so I removed it",
            "param_offload",
        ),
    ],
)
def test_a_setting_that_was_taken_out_again_is_none_of_the_run(text: str, id: str) -> None:
    assert diagnose(text, {}, current(), ()).facts.values.get(id) is not True


def test_a_setting_beside_which_something_else_was_removed_stays() -> None:
    text = "verl CUDA OOM. actor_rollout_ref.actor.fsdp_config.param_offload=True, I removed the reward model"
    assert diagnose(text, {}, current(), ()).facts.values["param_offload"] is True


@pytest.mark.parametrize(
    "text",
    ["OpenRLHF RLOO 70B，启动时进程被 kill。同样脚本 32B 就没事", "OpenRLHF 70B is killed at start. 32B was ok."],
)
def test_the_size_with_which_it_went_well_is_not_that_of_the_failure(text: str) -> None:
    assert diagnose(text, {}, current(), ()).facts.values["params_b"] == 70
