"""An engine that does not start: what acts at that moment, and what only later."""

from __future__ import annotations

import pytest

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 1 has a total capacity of 23.65 GiB "
    "of which 30.69 MiB is free."
)
HOME = "/usr/lib/python3.10/site-packages"
RUN = "verl GRPO on 4 x RTX 4090"


@pytest.mark.parametrize(
    "frame",
    [
        'vllm/v1/worker/gpu_worker.py", line 212, in load_model',
        'vllm/worker/model_runner.py", line 1234, in profile_run',
        'vllm/lora/layers.py", line 391, in create_lora_weights',
        'sglang/srt/model_executor/model_runner.py", line 450, in load_model',
    ],
)
def test_no_share_helps_what_comes_before_the_cache(advise, frame):
    found = advise(f'  File "{HOME}/{frame}\n{OOM}\n{RUN}')
    assert found.facts.values["phase"] == "init"
    assert not {"rollout.gpu_memory_utilization.down", "rollout.enforce_eager.on"} & set(found.levers)


def test_a_smaller_share_helps_where_the_cache_is_taken(advise):
    found = advise(
        f'  File "{HOME}/vllm/v1/worker/gpu_model_runner.py", line 2502, in _allocate_kv_cache_tensors\n{OOM}\n{RUN}'
    )
    assert "rollout.gpu_memory_utilization.down" in found.levers


def test_cards_that_differ_are_freed_first_whatever_the_share(advise):
    found = advise(
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=21.4, "
        f"local_gpu_memory=78.5, local_gpu_memory * 0.9=70.6\n{RUN}"
    )
    assert found.levers[0] == "hardware.kill_stale"
    assert "rollout.gpu_memory_utilization.down" not in found.levers


def test_a_traceback_through_an_engine_names_it_where_the_trainer_would_have_none(advise):
    found = advise(
        '  File "/s/swift/trainers/rlhf_trainer/grpo_trainer.py", line 1711, in _fast_infer\n'
        f'  File "{HOME}/vllm/v1/worker/gpu_model_runner.py", line 1601, in execute_model\n{OOM}'
    )
    assert found.facts.values["rollout_engine"] == "vllm"
    assert found.facts.values["phase"] == "rollout"
    assert "rollout.gpu_memory_utilization.down" in found.levers


def test_an_engine_that_stands_before_the_trainer_loads_is_put_to_sleep(advise):
    text = (
        "OpenRLHF 0.6.4 train_ppo_ray, Qwen2.5-7B, 8x A6000 48GB on one node, 1 TB RAM, --colocate_all_models, "
        "--vllm_num_engines 8, zero_stage 3\n"
        '(ActorModelRayActor pid=2101)   File "/root/OpenRLHF/openrlhf/trainer/ray/ppo_actor.py", line 370, in init_model_from_pretrained\n'
        "(ActorModelRayActor pid=2101) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.57 GiB. "
        "GPU 0 has a total capacity of 47.53 GiB"
    )
    assert "rollout.sleep_mode.on" in advise(text).levers[:3]
    apart = text.replace("--colocate_all_models, ", "")
    assert "rollout.sleep_mode.on" not in advise(apart).levers


def test_the_rows_that_the_message_names_come_first_though_no_figure_counts_them(advise):
    found = advise(
        "verl GRPO, Qwen3-4B on one RTX 3090 24GB\nRuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy "
        "requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n"
        "actor_rollout_ref.rollout.gpu_memory_utilization=0.7 actor_rollout_ref.rollout.max_num_seqs=1024"
    )
    assert found.levers[0] == "rollout.max_num_seqs.down"
