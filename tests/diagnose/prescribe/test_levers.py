"""The levers that ship: what a page of one must hold, whatever its words are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.vocabulary import KINDS, PHASES

LEVERS = sorted(current().levers.values(), key=lambda lever: lever.slug)


@pytest.mark.parametrize("lever", LEVERS, ids=lambda lever: lever.slug)
def test_the_kinds_and_phases_of_a_lever_exist(lever):
    assert set(lever.when.get("oom_kind", ())) <= set(KINDS)
    phases = lever.when.get("phase", ())
    left_out = phases["not"] if isinstance(phases, Mapping) else phases
    assert set([left_out] if isinstance(left_out, str) else left_out) <= set(PHASES)
    assert lever.pools


@pytest.mark.parametrize("lever", [one for one in LEVERS if not one.changes], ids=lambda lever: lever.slug)
def test_a_lever_that_changes_no_fact_says_so(lever):
    assert lever.keyless


def test_a_larger_engine_share_is_for_a_missing_cache_alone():
    assert current().levers["rollout.gpu_memory_utilization.up"].when["oom_kind"] == ["vllm_no_kv_blocks"]


def test_raising_the_kill_line_is_the_last_of_all():
    assert max(LEVERS, key=lambda lever: lever.order).slug == "ray.memory_threshold.up"


def test_an_offload_is_written_to_the_key_of_the_trainer_that_runs(advise):
    """verl's supervised trainers have keys of their own for it."""
    given = advise(
        "verl GRPO, Qwen2.5-14B, 8 x A800 80GB, rollout fails\nCUDA out of memory. Tried to allocate 2.90 GiB."
    )
    keys = {change.key for one in given.prescriptions for change in one.changes}
    assert "actor_rollout_ref.actor.fsdp_config.optimizer_offload" in keys
    assert not [key for key in keys if key.startswith("engine.")]


def test_an_engines_own_message_says_which_engine_runs(advise):
    """The share is lowered to what the message prints as free, 38.2 of 79.25 GiB."""
    given = advise(
        "ValueError: Free memory on device (38.2/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.32 GiB).\n"
        "trl grpo, Qwen3-4B, 4 A100"
    )
    assert [change.after for change in given.advised("rollout.gpu_memory_utilization.down").changes] == ["0.4"]


def test_a_new_key_is_spelled_as_those_that_a_sentence_names(advise):
    """OpenRLHF's flags had no dots before 0.10.2, and the person's have none."""
    given = advise(
        "OpenRLHF PPO of a 7B on 4 x A100 40GB, ZeRO-3, micro_train_batch_size=2, 没开 gradient checkpointing: CUDA out of memory"
    )
    keys = {change.key: change.before for one in given.prescriptions for change in one.changes}
    assert keys["gradient_checkpointing"] == "false"
    assert given.advised("checkpointing.activation.on").patch == ()
    assert not [key for key in keys if key.startswith(("ds.", "vllm.", "actor."))]


def test_a_key_without_the_head_of_its_path_can_be_changed(advise):
    given = advise(
        "verl grpo qwen2.5-7b 8 x H100 80GB gpu_memory_utilization=0.9\nNCCL error: Cuda failure 'out of memory'"
    )
    changes = given.advised("rollout.gpu_memory_utilization.down").changes
    assert [(change.key, change.before, change.after) for change in changes] == [
        ("gpu_memory_utilization", "0.9", "0.8")
    ]


SWIFT = "swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --deepspeed zero3\n8 x A100 80GB, ms-swift=={}\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.mark.parametrize(
    ("version", "offloads"),
    [("3.0.2", {"param_on_cpu"}), ("3.0.3", {"param_on_cpu", "optimizer_on_cpu"})],
)
def test_a_word_is_written_for_what_it_does_in_the_runs_version(advise, version, offloads):
    """ms-swift’s zero3_offload moves Adam to the host since 3.0.3 alone."""
    found = advise(SWIFT.format(version) + OOM, phase="actor_update")
    written = [one for one in found.prescriptions for change in one.changes if change.after == "zero3_offload"]
    assert written
    assert {change.fact for one in written for change in one.changes} <= offloads


TRL = "from trl import GRPOConfig\nGRPOConfig(use_vllm=True, vllm_mode='colocate', vllm_enable_sleep_mode=False)\ntrl=={}, 8 x H100 80GB\n"


@pytest.mark.parametrize("version", ["0.23.0", "0.27.0"])
def test_sleep_is_advised_at_whatever_level_the_version_sleeps(advise, version):
    found = advise(TRL.format(version) + OOM, phase="actor_update")
    assert [change.after for change in found.advised("rollout.sleep_mode.on").changes] == ["True"]


def test_a_message_that_a_lever_waits_for_exists():
    tests = [rank.when["message"] for lever in LEVERS for rank in lever.ranks if "message" in rank.when]
    named = [test["not"] if isinstance(test, dict) else test for test in tests]
    slugs = {slug for one in named for slug in ([one] if isinstance(one, str) else one)}
    assert slugs
    assert slugs <= current().signatures.keys()


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("Workers (tasks / actors) killed due to memory pressure (OOM)", True),
        ("Memory cgroup out of memory: Killed process 4242 (python3)", False),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=778.0.", False),
    ],
)
def test_rays_line_is_raised_only_where_ray_killed(advise, text, there):
    assert ("ray.memory_threshold.up" in advise(text, n_gpus=8, model="Qwen2.5-7B").levers) is there


def test_a_full_object_store_is_made_larger_and_not_smaller(advise):
    levers = advise(
        "ray.exceptions.ObjectStoreFullError: Failed to put object ffff in object store because it is full."
    ).levers
    assert "ray.object_store.up" in levers
    assert "ray.object_store.down" not in levers


def test_an_object_store_beyond_shared_memory_is_made_smaller(advise):
    levers = advise("ValueError: The configured object store size (200.0 GB) exceeds /dev/shm size (67.1 MB).").levers
    assert "ray.object_store.down" in levers
    assert "ray.object_store.up" not in levers


def test_the_size_of_shared_memory_is_said_in_the_words_of_who_sets_it(advise):
    first = advise("RuntimeError: DataLoader worker (pid 1) is killed by signal: Bus error.").prescriptions[0]
    assert first.lever.slug == "host.shm.up"
    assert "--shm-size" in first.why
    assert "medium: Memory" in first.why


AXOLOTL = """
base_model: meta-llama/Llama-3.1-70B
adapter: lora
fsdp:
  - full_shard
fsdp_config:
  {key}: false
micro_batch_size: 1
sequence_len: 4096
[rank3] exitcode: -9 (pid: 4242) while loading the model
"""


@pytest.mark.parametrize("key", ["fsdp_cpu_ram_efficient_loading", "cpu_ram_efficient_loading"])
def test_ranks_that_all_load_the_model_are_told_the_key_that_leaves_it_to_one(advise, key):
    first = advise(AXOLOTL.format(key=key), kind="host_ram", phase="load", n_gpus=8, host_ram_gb=500).prescriptions[0]
    assert first.lever.slug == "load.meta_init"
    assert [(change.key, change.after) for change in first.changes] == [(f"fsdp_config.{key}", "true")]


def test_under_deepspeed_no_key_leaves_loading_to_one_rank(advise):
    run = "accelerate launch trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B --deepspeed zero2.json\nexitcode: -9 (pid: 1)"
    assert "load.meta_init" not in advise(run, kind="host_ram", phase="load", n_gpus=8).levers


@pytest.mark.parametrize("offloaded", [False, True])
def test_a_reference_is_kept_on_the_card_only_where_it_is_said_to_be_offloaded(advise, offloaded):
    run = "accelerate launch mine.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4\n"
    facts = {"algo": "grpo", **({"ref_offload": True} if offloaded else {})}
    levers = advise(f"{run}Memory cgroup out of memory: Killed process 1 (python3)", n_gpus=8, **facts).levers
    assert ("offload.ref.off" in levers) is offloaded


@pytest.mark.parametrize(("phase", "first"), [("update_policy", False), ("wake_up", True)])
def test_expandable_segments_are_no_suspect_once_the_engine_has_drawn_samples(phase: str, first: bool) -> None:
    text = (
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n8 x A100 80GB\n"
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
        "actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
        f'  File "verl/workers/actor/dp_actor.py", line 248, in {phase}\n    x\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.10 GiB."
    )
    found = [one.lever.slug for one in diagnose(text, {}, current(), ()).prescriptions]
    assert ("allocator.expandable_segments.off" in found[:3]) is first


def test_a_vision_tower_is_frozen_only_where_the_model_is_known_to_have_one():
    text = "verl 7B 8*A100\nLast error:\nCuda failure 2 'out of memory'\ngpu_memory_utilization=0.85"
    sees = "EasyR1 Qwen2.5-VL-7B-Instruct, 8 x A100 40GB, CUDA OOM in update_actor, micro_batch_size_per_device_for_update=4"
    advised = [{one.lever.slug for one in diagnose(one, {}, current(), ()).prescriptions} for one in (text, sees)]
    assert ["freeze.vision_tower" in levers for levers in advised] == [False, True]
