"""A shell file that a project ships, named without what stands in it."""

from __future__ import annotations

import pytest

FAILED = "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.55 GiB.\n"
FILE = "bash examples/grpo_trainer/run_qwen3-8b.sh"


def test_what_hangs_on_a_setting_of_the_file_sees_it(values):
    found = values("verl==0.7.0\nbash examples/grpo_trainer/run_qwen2-7b_math_megatron.sh" + FAILED)
    assert (found["strategy"], found["tp"], found["precision"]) == ("megatron", 2, "megatron")


def test_a_model_behind_the_name_outranks_that_of_the_file(values):
    assert values(f"{FILE} actor_rollout_ref.model.path=Qwen/Qwen2.5-3B-Instruct" + FAILED)["params_b"] == 3
    assert values(f"{FILE}, but with Qwen2.5-14B-Instruct" + FAILED)["params_b"] == 14


def test_a_whole_command_that_is_pasted_is_the_file(values):
    pasted = "python3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    actor_rollout_ref.model.path=Qwen/Qwen3-8B"
    found = values(f"I changed run_qwen3-8b.sh:\n{pasted}" + FAILED)
    assert found["rollout_n"] == 1


def test_a_copy_by_another_name_is_another_file(values):
    found = values("verl: bash my_run_qwen3-8b.sh" + FAILED)
    assert found["rollout_n"] == 1


def test_the_cards_of_a_person_are_not_shared_out_as_the_file_does(facts):
    found = facts("OpenRLHF: bash examples/scripts/train_ppo_llama_ray.sh on 4 x A100-80GB" + FAILED)
    assert found.values["n_gpus"] == 4
    assert not {"trainer_gpus", "critic_gpus", "gpus_per_node"} & found.stated.keys()


def test_the_name_of_a_file_is_no_algorithm(values):
    found = values("verl==0.6.1\nbash examples/ppo_trainer/run_qwen2-7b_rm.sh" + FAILED)
    assert (found["algo"], found["has_reward_model"]) == ("ppo", True)
    assert found["critic_b"] == 7.615616512


def test_a_file_is_told_apart_from_what_a_trainer_has_by_default(facts):
    assert facts("bash examples/tuning/7b/qwen2-7b_grpo_2_h800_fsdp_vllm.sh" + FAILED).shipped
    assert not facts("verl, GRPO" + FAILED).shipped


DAPO = "bash recipe/dapo/test_dapo_7b_math.sh"


@pytest.mark.parametrize(
    ("text", "nodes", "cards", "origin"),
    [
        (DAPO, 8, 64, "assumed"),
        ("bash recipe/dapo/run_dapo_wo_ds_qwen2.5_32b.sh", 16, 128, "assumed"),
        (f"NNODES=2 {DAPO}", 2, 16, "read"),
        (f"verl on 8 x A100-80GB: {DAPO}", 1, 8, "default"),
        (f"verl, single node of 8 H100: {DAPO}", 1, 8, "read"),
    ],
)
def test_machines_that_a_variable_counts_are_an_assumption_that_gives_way(facts, text, nodes, cards, origin):
    found = facts(text + FAILED)
    assert (found.values["n_nodes"], found.values["n_gpus"]) == (nodes, cards)
    assert found.stated["n_nodes"].origin == origin


def test_a_file_whose_name_goes_on_is_another_file(facts):
    assert not facts("verl: bash recipe/dapo/run_dapo_qwen2.5_32b_npu.sh" + FAILED).shipped


COPY = """set -x
NNODES=${NNODES:-4}
use_dynamic_bsz=True
# actor_rollout_ref.actor.use_dynamic_bsz=${use_dynamic_bsz} \\
python3 -m verl.trainer.main_ppo \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\
    trainer.n_gpus_per_node=8 trainer.nnodes="${NNODES}"
"""


def test_a_copy_that_is_pasted_has_the_machines_of_its_variable_and_nothing_of_one_that_it_never_takes(values):
    found = values(COPY + FAILED)
    assert (found["n_nodes"], found["n_gpus"]) == (4, 32)
    assert (found["dynamic_batch"], found["micro_batch"]) == (False, 2)


H800 = "qwen2-7b_grpo_2_h800_fsdp_vllm.sh"


@pytest.mark.parametrize(
    ("text", "card", "cards"),
    [
        (f"verl {H800}, on 2 A100 40GB", "A100", 2),
        (f"verl: bash examples/tuning/7b/{H800} on 4 x A100-80GB", "A100", 4),
        (f"verl 的 {H800} 在 2 张 4090 上", "RTX 4090", 2),
        (f"verl {H800}", "H800", 2),
    ],
)
def test_a_card_in_a_files_name_gives_way_to_the_persons(values, text, card, cards):
    found = values(text + FAILED)
    assert (found["gpu_model"], found["n_gpus"]) == (card, cards)
