"""What comes first for a kind of failure: versions, other tenants, the allocator, the message's own remedy."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words.change import effect_words
from tests.diagnose.prescribe.conftest import printed

ASLEEP = """
RuntimeError: CUDA Error: out of memory at /build/cumem_allocator.cpp:62
  File "/opt/vllm/worker/worker.py", line 140, in wake_up
    allocator.wake_up()
"""


def test_growth_is_met_by_versions_and_a_restart_before_the_engine_share(advise):
    levers = advise("memory grows", kind="memory_growth").levers
    assert {"upgrade.framework", "run.restart", "downgrade.vllm"} <= set(levers[:4])
    assert "rollout.gpu_memory_utilization.down" not in levers[:5]


def test_a_known_leak_of_an_old_engine_names_the_newer_one_first(advise):
    assert advise("memory grows", kind="memory_growth", engine_version="0.7.3").levers[0] == "upgrade.vllm"


@pytest.mark.parametrize(
    ("moved", "first"),
    [
        ("After upgrading transformers from 4.49 to 4.51 the same run", "downgrade.dependency"),
        ("We rebuilt the environment with deepspeed 0.16.0 and the same run", "downgrade.dependency"),
        ("I upgraded vllm from 0.8.5 to 0.9.1 and now the same run", "downgrade.vllm"),
        ("After updating verl from 0.3 to 0.4 the same run", "downgrade.framework"),
        ("把 transformers 从 4.49 升级到 4.51 之后，同样的命令", "downgrade.dependency"),
    ],
)
def test_the_package_that_was_moved_goes_back_first(advise, moved, first):
    assert advise(f"verl GRPO. {moved} gives CUDA out of memory in update_actor.").levers[0] == first


def test_what_worked_before_an_update_goes_back_first(advise):
    told = "After upgrading to version 0.5 the job ends with CUDA out of memory in the backward pass."
    advice = advise(told, phase="actor_update")
    assert advice.levers[0] == "downgrade.framework"
    assert "worked with older versions" in advice.prescriptions[0].why


def test_no_saving_is_claimed_for_a_version(advise):
    one = advise("memory grows", kind="memory_growth").advised("upgrade.framework")
    assert (one.before, one.after) == (None, None)
    assert effect_words(one) == "no saving can be computed"


def test_more_free_than_asked_points_at_the_allocator(advise):
    levers = advise(printed(2.0, 9.0, 70.0)).levers
    assert levers[:2] == ["allocator.expandable_segments", "allocator.empty_cache"]


def test_much_reserved_and_unused_points_at_the_allocator(advise):
    assert "allocator.empty_cache" in advise(printed(2.0, 1.0, 78.0, unused=12.0)).levers[:2]


def test_little_reserved_and_unused_does_not(advise):
    assert advise(printed(2.0, 1.0, 78.0, unused=1.5)).levers[0] == "batch.micro.down"


def test_memory_of_another_process_is_looked_for_first(advise):
    assert advise(printed(2.0, 1.0, 40.0)).levers[0] == "hardware.kill_stale"


@pytest.mark.parametrize(("held", "first"), [("3.16", True), ("15.02", False), ("11.40", False)])
def test_a_message_of_older_torch_tells_of_others_by_what_torch_has_reserved(advise, held, first):
    text = (
        "TRL PPO of Qwen2.5-0.5B\nRuntimeError: CUDA out of memory. Tried to allocate 50.00 MiB (GPU 0; 15.78 GiB total capacity; "
        f"3.10 GiB already allocated; 22.50 MiB free; {held} GiB reserved in total by PyTorch)"
    )
    assert (advise(text).levers[0] == "hardware.kill_stale") is first


def test_memory_beside_the_process_is_first_the_runs_own_engine_where_that_shares_the_card(advise):
    slime = "python3 train.py --colocate --sglang-mem-fraction-static 0.7 --max-tokens-per-gpu 9216 --n-samples-per-prompt 8\n"
    apart = slime.replace("--colocate ", "--rollout-num-gpus 8 ")
    assert advise(slime + printed(2.0, 1.0, 40.0), phase="actor_update").levers[0] != "hardware.kill_stale"
    assert advise(apart + printed(2.0, 1.0, 40.0), phase="actor_update").levers[0] == "hardware.kill_stale"


@pytest.mark.parametrize(("engine", "stale"), [("sglang", False), ("vllm", True)])
def test_an_engine_in_a_process_of_its_own_may_hold_what_another_process_does(advise, engine, stale):
    run = f"verl==0.5.0\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name={engine}\n"
    assert (advise(run + printed(2.0, 1.0, 40.0), phase="actor_update").levers[0] == "hardware.kill_stale") is stale


@pytest.mark.parametrize(
    ("trainer", "near"), [("verl==0.4.1", False), ("verl==0.2.0", True), ("openrlhf==0.8.5", True)]
)
def test_a_cache_that_the_trainer_empties_itself_is_not_emptied_first(advise, trainer, near):
    command = {"v": "python3 -m verl.trainer.main_ppo", "o": "python3 -m openrlhf.cli.train_ppo_ray"}[trainer[0]]
    levers = advise(f"{trainer}\n{command}\n{ASLEEP}", phase="weight_sync").levers
    assert ("allocator.empty_cache" in levers[:4]) is near


def test_a_failed_wake_up_lowers_the_share_and_frees_the_cache_first(advise):
    levers = advise(ASLEEP, phase="weight_sync").levers
    assert levers[:2] == ["rollout.gpu_memory_utilization.down", "allocator.empty_cache"]
    assert {"upgrade.framework", "upgrade.vllm"} <= set(levers[:5])


def test_a_newer_torch_is_for_who_has_an_old_one(advise):
    bare = "torch.OutOfMemoryError: CUDA out of memory in the actor update. verl GRPO Qwen2.5-7B 8xA100 80G"
    assert "upgrade.torch" not in advise(bare).levers
    assert "upgrade.torch" in advise(f"{bare}\ntorch==2.0.1").levers


def test_longest_rows_come_first_for_a_data_set_that_fails_after_some_steps(advise):
    text = "DPO of Qwen2.5-7B: CUDA out of memory after a while, not at once."
    assert advise(text, algo="dpo", phase="actor_update").levers[0] == "length.filter_long"


def test_an_index_on_the_card_is_moved_first(advise):
    text = "StandardGpuResources: alloc fail type FlatData dev 0 space Device (cudaMalloc error out of memory [2])"
    assert advise(text).levers[0] == "retriever.cpu"


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("No available memory for the cache blocks.", "rollout.gpu_memory_utilization.up"),
        (
            "The model's max seq len (16384) is larger than the maximum number of tokens that can be stored in KV cache (9024).",
            "rollout.max_model_len.down",
        ),
        (
            "CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs`.",
            "rollout.max_num_seqs.down",
        ),
    ],
)
def test_the_engines_own_remedy_comes_first_though_one_case_with_that_message_needed_another(message, first):
    knowledge = current()
    found = diagnose(f"ValueError: {message}", {}, knowledge, tuple(knowledge.cases.values()))
    assert found.prescriptions[0].lever.slug == first


def test_a_limit_of_the_jobs_own_is_raised_first():
    run = "verl grpo Qwen2.5-7B on 8 x H100, param_offload=True optimizer_offload=True\nray.exceptions.OutOfMemoryError: killed\n{}\n"
    limited, machine = (
        diagnose(run.format(ram), {"oom_kind": "host_ram"}, current(), ()).prescriptions
        for ram in ("#SBATCH --mem=256G", "each node has 256 GB of RAM")
    )
    assert limited[0].lever.slug == "host.more_ram"
    assert limited[0].why.startswith("It is the job’s own limit that is reached")
    assert machine[0].lever.slug != "host.more_ram"


def test_what_the_message_names_is_advised_though_no_figure_tells_of_it():
    """Rows of the sampler's trial run are in no estimate: a smaller share of the engine alone shows in it."""
    run = (
        "verl==0.9.0, 8 x A100 80GB\nRuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.\n"
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.nnodes=1 "
        "actor_rollout_ref.rollout.max_num_seqs=1024 actor_rollout_ref.rollout.gpu_memory_utilization=0.9 trainer.n_gpus_per_node=8"
    )
    found = diagnose(run, {}, current(), ())
    assert found.prescriptions[0].lever.slug == "rollout.max_num_seqs.down"
    assert "rollout.gpu_memory_utilization.down" in [one.lever.slug for one in found.prescriptions]
