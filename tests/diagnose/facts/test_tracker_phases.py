"""Phases and keys as trackers show them: who prints a failure, what samples, what a loss function is for."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.01 GiB. GPU 0 has a total capacity of 79.25 GiB.\n"
)
OPENRLHF = (
    "python -m openrlhf.cli.train_ppo_ray --actor_num_gpus_per_node 2 --vllm_num_engines 2 --vllm_tensor_parallel_size 1 --zero_stage 3"
    " --pretrain Qwen/Qwen2.5-7B-Instruct --vllm_gpu_memory_utilization 0.9 --micro_train_batch_size 1\n4 x A100 80GB\n"
)
RECEIVES = '(LLMRayActor pid=5120)   File "/o/openrlhf/trainer/ray/vllm_worker_wrap.py", line 44, in update_weight\n(LLMRayActor pid=5120) '


def answer(paste):
    return diagnose(paste, {}, current(), [])


@pytest.mark.parametrize("title", ["", "OOM when broadcasting weights to vllm\n"])
def test_what_a_title_calls_it_leaves_the_failure_with_the_engine_that_prints_it(title):
    found = answer(title + RECEIVES + OOM + OPENRLHF)
    levers = [one.lever.slug for one in found.prescriptions]
    assert found.facts.engine_card
    assert levers[0] == "rollout.gpu_memory_utilization.down"
    assert not {"offload.optimizer.on", "offload.ref.on", "peft.qlora"} & set(levers)


def test_a_failure_that_the_trainer_prints_as_well_is_none_of_the_engine_alone():
    assert not answer(RECEIVES + OOM + "(ActorModelRayActor pid=7) " + OOM + OPENRLHF).facts.engine_card


@pytest.mark.parametrize(
    ("frame", "code", "phase"),
    [
        ("trl/trainer/online_dpo_trainer.py", "training_step", "rollout"),
        ("trl/trainer/ppo_trainer.py", "train", "rollout"),
    ],
)
def test_a_model_that_is_unwrapped_to_sample_runs_out_in_the_rollout(frame, code, phase):
    text = (
        f'  File "/s/{frame}", line 470, in {code}\n    with unwrap_model_for_generation(model, self.accelerator) as unwrapped_model:\n'
        '  File "/s/deepspeed/runtime/zero/partition_parameters.py", line 1145, in all_gather_coalesced\n'
    )
    assert answer(text + OOM).phase == phase


@pytest.mark.parametrize(
    ("function", "phase"), [("policy_loss_function", "actor_update"), ("value_loss_function", "critic")]
)
def test_a_loss_function_of_slime_tells_whose_update_it_is(function, phase):
    text = (
        f'  File "/root/slime/slime/backends/megatron_utils/loss.py", line 301, in {function}\n'
        '  File "/root/slime/slime/utils/ppo_utils.py", line 121, in compute_log_probs\n'
    )
    assert answer(text + OOM).phase == phase


def test_a_pass_of_the_reference_is_cut_by_the_key_of_passes_without_gradient():
    text = (
        '  File "/trl/trainer/ppo_trainer.py", line 418, in train\n'
        "    ref_output = forward(ref_policy, query_response, processing_class.pad_token_id)\n"
        f"{OOM}accelerate launch --config_file deepspeed_zero3.yaml examples/scripts/ppo/ppo_tldr.py --per_device_train_batch_size 16"
        " --gradient_accumulation_steps 4 --local_rollout_forward_batch_size 32 --model_name_or_path EleutherAI/pythia-6.9b-deduped"
        " --reward_model_path cleanrl/EleutherAI_pythia-6.9b-deduped__reward__tldr\n8 x A100 80GB\n"
    )
    first = answer(text).prescriptions[0]
    assert [change.key for change in first.changes] == ["local_rollout_forward_batch_size"]


@pytest.mark.parametrize(
    ("said", "on"),
    [
        ("> maintainer: please add `--vllm_enable_sleep` and `--deepspeed_enable_sleep`", False),
        ("You need --vllm_enable_sleep --deepspeed_enable_sleep", False),
        ("建议加上 --vllm_enable_sleep --deepspeed_enable_sleep", False),
        ("I try --deepspeed_enable_sleep --vllm_enable_sleep", True),
        ("you suggested to use --vllm_enable_sleep --deepspeed_enable_sleep, still OOM", True),
        ("with --vllm_enable_sleep --deepspeed_enable_sleep", True),
    ],
)
def test_flags_that_somebody_advises_are_none_of_the_run(said, on):
    run = "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B --colocate_all_models --zero_stage 3\n"
    found = answer(f"{run}CUDA out of memory\n\n{said}").facts
    assert found.certain("sleep_level") is on
    assert found.certain("optimizer_offload") is on


@pytest.mark.parametrize(
    ("said", "on"), [("maintainer: please use --adam_offload", False), ("I use --adam_offload", True)]
)
def test_nor_is_a_single_switch(said, on):
    run = "OpenRLHF, train_ppo_ray, Qwen2.5-7B, 8 x A100 80GB, --zero_stage 3, CUDA out of memory\n\n"
    assert (answer(run + said).facts.values.get("optimizer_on_cpu") is True) is on


@pytest.mark.parametrize(
    ("said", "card"), [("8b qlora 24GB 3090 OOM", "RTX 3090"), ("24 GB 4090 tokens in all, OOM", None)]
)
def test_a_number_behind_the_size_of_a_card_is_that_card(said, card):
    assert answer(f"DPOTrainer {said}").facts.values.get("gpu_model") == card


@pytest.mark.parametrize(("said", "certain"), [("ref/rm 4 each colocated", False), ("colocated", True)])
def test_roles_that_share_cards_put_no_engine_there(said, certain):
    found = answer(f"OpenRLHF 8B, 8 x A100 80GB, actor 4 gpus, {said}, zero_stage 3\nCUDA out of memory").facts
    assert found.certain("rollout_mode") is certain


def test_a_log_that_is_older_than_all_known_versions_has_the_oldest_of_them():
    text = "[2024-01-18 09:41:55,012] [INFO] killed\nCUDA out of memory\ndeepspeed ./train_ppo.py --zero_stage 2 --flash_attn"
    found = answer(f"OpenRLHF\n{text}").facts
    assert found.values["framework_version"] == "0.5.0"
    assert not found.certain("framework_version")
