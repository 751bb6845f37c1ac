"""What is not advised of an engine and its cache, and of roles beside the actor, with why."""

from __future__ import annotations

import pytest

from diagnose.pipeline import diagnose
from tests.diagnose.prescribe.conftest import GROUPED, ON_THE_HOST


@pytest.mark.parametrize(
    ("engine", "version", "offered"), [("vllm", "0.7.3", True), ("vllm", "0.10.2", False), ("sglang", "0.4.6", False)]
)
def test_swap_space_is_a_setting_of_one_engine_before_its_second_one(advise, engine, version, offered):
    lines = ON_THE_HOST.splitlines()[:3]
    command = (
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name="
    )
    advice = advise("\n".join([*lines, command + engine]), framework_version="0.4.0", engine_version=version)
    assert ("rollout.swap_space.down" in advice.levers) is offered


@pytest.mark.parametrize(("phase", "offered"), [("load", False), ("init", True), ("rollout", True)])
def test_swap_space_is_no_help_while_the_trainer_loads(advise, phase, offered):
    command = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm"
    lines = [*ON_THE_HOST.splitlines()[:3], command]
    advice = advise("\n".join(lines), framework_version="0.4.0", engine_version="0.7.3", phase=phase)
    assert ("rollout.swap_space.down" in advice.levers) is offered


def test_a_smaller_engine_share_is_refused_with_the_phase_it_would_help(advise):
    refused = advise(GROUPED, phase="actor_update").refused("rollout.gpu_memory_utilization.down")
    assert refused.reason == "elsewhere"
    assert "rollout" in refused.why


@pytest.mark.parametrize("lever", ["rollout.gpu_memory_utilization.down", "batch.micro.down"])
def test_no_room_for_the_cache_never_asks_for_a_smaller_share(advise, lever):
    text = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    assert lever not in advise(text).levers


def test_the_engines_own_hint_is_not_taken_for_an_attempt(advise):
    text = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    assert "rollout.gpu_memory_utilization.up" in advise(text).levers


def test_no_share_is_advised_that_still_asks_for_more_than_is_free(advise):
    text = (
        "ValueError: Free memory on device (9.10/79.15 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    )
    advice = advise(text)
    assert advice.levers[0] == "hardware.kill_stale"
    assert "Only 9.1 GiB are free" in advice.refused("rollout.gpu_memory_utilization.down").why
    assert "run.restart" not in advice.levers


def test_a_pool_that_could_not_be_mapped_is_no_matter_of_the_update(advise):
    advice = advise("verl GRPO, 8 x A100\nCUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n")
    assert advice.levers[0] == "rollout.gpu_memory_utilization.down"
    assert not {"batch.micro.down", "length.response.down", "logits.chunked"} & set(advice.levers)


PLAIN = "2x RTX 4090 24GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def test_no_engine_is_turned_down_where_none_is_spoken_of(advise):
    settings = "per_device_train_batch_size=2 gradient_accumulation_steps=8 optim=adamw_torch\n"
    assert not any(lever.startswith("rollout.") for lever in advise(settings + PLAIN).levers)
    assert "rollout.gpu_memory_utilization.down" in advise("GRPO\n" + settings + PLAIN).levers
    assert "rollout.gpu_memory_utilization.down" in advise(PLAIN).levers  # of a message alone nothing is known


def test_an_engine_on_cards_of_its_own_is_left_alone_where_the_trainer_overflows(advise):
    command = (
        "8 x A100 80GB\nNPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --use_vllm true "
        "--vllm_mode server --max_length 16384 --max_completion_length 8192 --per_device_train_batch_size 16 --num_generations 8\n"
    )
    advice = advise(command + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB.\n")
    assert advice.before.gpu.verdict() == "out"
    assert not any(lever.startswith("rollout.gpu") or lever.startswith("rollout.tensor") for lever in advice.levers)


def test_room_for_a_cache_is_told_without_naming_what_it_does_not_hang_on(knowledge):
    run = {"oom_kind": "vllm_no_kv_blocks", "framework": "verl", "model": "Qwen2.5-32B", "n_gpus": 8, "gpu_mem_gib": 40}
    given = diagnose("", {**run, "gpu_memory_utilization": 0.4, "rollout_tp": 2}, knowledge, ()).prescriptions
    assert given[0].room
    assert not [one.why for one in given if "No saving is computed without" in one.why]


@pytest.mark.parametrize(
    "text", ["OOM while capturing CUDA graphs", "启动到 Capturing CUDA graphs 这一步就 CUDA out of memory"]
)
def test_graphs_are_turned_off_where_their_capture_runs_out(advise, text):
    told = advise(f"verl 0.7.0 {text}, Qwen3-8B, 4xL40S, gpu_memory_utilization=0.8").levers
    assert "rollout.enforce_eager.on" in told[:2]


def test_an_engine_on_cards_of_its_own_keeps_no_weights_on_the_host(advise):
    ray = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."
    command = (
        "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-72B-Instruct --actor_num_nodes 2 --actor_num_gpus_per_node 8 "
        "--ref_num_nodes 2 --ref_num_gpus_per_node 8 --colocate_actor_ref --vllm_num_engines 4 --vllm_tensor_parallel_size 4 "
        "--micro_train_batch_size 1 --prompt_max_len 1024 --generate_max_len 7168 --zero_stage 3 --adam_offload --init_kl_coef 1e-3"
    )
    advice = advise(f"{ray}\n4 nodes, 8xA100 80GB each, 1 TB RAM per node\n{command}")
    assert "rollout.tensor_parallel.up" not in advice.levers
    assert "stays awake" in advice.refused("rollout.tensor_parallel.up").why


def test_an_engine_whose_whole_share_another_process_holds_is_awake(advise):
    text = (
        '  File "verl/workers/megatron_workers.py", line 730, in rollout_mode\n    await self.rollout.update_weights(per_tensor_param)\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 6 has a total capacity of 139.80 GiB of which "
        "1.88 GiB is free. Process 22123 has {} GiB memory in use. Process 22881 has 38.88 GiB memory in use. Of the allocated memory "
        "30.21 GiB is allocated by PyTorch, and 6.95 GiB is reserved by PyTorch but unallocated.\n"
        "python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer' algorithm.adv_estimator=grpo data.train_batch_size=256 "
        "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B data.max_prompt_length=1024 data.max_response_length=4096 "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 actor_rollout_ref.actor.megatron.param_offload=True "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 "
        "actor_rollout_ref.rollout.tensor_model_parallel_size=2 actor_rollout_ref.rollout.gpu_memory_utilization=0.7 "
        "trainer.nnodes=2 trainer.n_gpus_per_node=8"
    )
    awake, woken = (
        advise(text.format("99.04")),
        advise(text.format("56.04").replace("1.88 GiB is free", "44.88 GiB is free")),
    )
    assert awake.facts.values["engine_maps_pool"] is True
    assert awake.levers[0] == "rollout.gpu_memory_utilization.down"
    assert "engine_maps_pool" not in woken.facts.values


def test_the_share_of_an_engine_with_cards_of_its_own_is_no_cure_where_only_passes_of_the_trainer_can_have_failed(
    advise,
):
    text = (
        "OOM in the trainer, axolotl GRPO, vLLM on GPU 0 through `axolotl vllm-serve`, training on GPU 1, 2 x RTX 6000 Ada 48GB\n"
        "CUDA_VISIBLE_DEVICES=0 axolotl vllm-serve grpo.yaml\nCUDA_VISIBLE_DEVICES=1 axolotl train grpo.yaml --num-processes 1\n\n"
        "base_model: Qwen/Qwen2.5-3B-Instruct\nvllm:\n  gpu_memory_utilization: 0.85\nrl: grpo\ntrl:\n  use_vllm: true\n"
        "  max_completion_length: 2048\n  num_generations: 16\nadapter: lora\nsequence_len: 4096\nmicro_batch_size: 16\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 47.50 GiB.\n"
    )
    advice = advise(text)
    assert "rollout.gpu_memory_utilization.down" not in {one.lever.slug for one in advice.prescriptions}
