"""An engine that cannot wake: in the end its cache must find its place beside what the trainer holds, unless only its weights wake."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from tests.runs import run_of

RUN = """
verl 0.6.1, vllm 0.11.0, 8 x H100 80GB
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.85 trainer.n_gpus_per_node=8 trainer.nnodes=1
  File "/opt/verl/verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py", line 460, in resume
    self.inference_engine.wake_up({tags})
{error}
"""
MAPPED = "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:119"


def _woken(tags, error=MAPPED):
    found = diagnose(RUN.format(tags=tags, error=error), {}, current(), ())
    assert found.phase == "weight_sync"
    assert found.estimate.gpu
    return found, {term.id for term in found.estimate.gpu.phase("weight_sync").terms}


@pytest.mark.parametrize("tags", ["", 'tags=["kv_cache"]', "tags=tags"])
def test_the_cache_of_an_engine_that_cannot_wake_counts(tags):
    found, terms = _woken(tags)
    assert "kv_pool" in terms
    assert found.prescriptions[0].lever.slug == "rollout.gpu_memory_utilization.down"
    assert found.prescriptions[0].after


@pytest.mark.parametrize(
    ("tags", "error"), [('tags=["weights"]', MAPPED), ("tags=tags", "torch.OutOfMemoryError: CUDA out of memory.")]
)
def test_it_does_not_where_weights_wake_or_torch_itself_was_refused(tags, error):
    assert "kv_pool" not in _woken(tags, error)[1]


def test_it_counts_where_the_traceback_says_that_the_cache_alone_woke_whoever_was_refused():
    found, terms = _woken('tags=["kv_cache"]', "torch.OutOfMemoryError: CUDA out of memory.")
    assert "kv_pool" in terms
    assert "rollout.gpu_memory_utilization.down" not in {one.lever.slug for one in found.not_advised}


SLEEPS = "--colocate_all_models --vllm_enable_sleep --vllm_num_engines 8 --vllm_tensor_parallel_size 1 --vllm_gpu_memory_utilization 0.6"


@pytest.mark.parametrize(("version", "stands"), [("0.9.1", True), ("0.9.2", False)])
def test_an_engine_that_is_woken_whole_has_its_cache_while_it_gets_its_weights(version, stands):
    text = (
        f"openrlhf {version}, A100 80GB, vllm 0.8.5\npython3 -m openrlhf.cli.train_ppo_ray {SLEEPS} --pretrain Qwen/Qwen2.5-7B "
        "--actor_num_nodes 1 --actor_num_gpus_per_node 8 --zero_stage 3 --micro_train_batch_size 1 --prompt_max_len 1024 "
        "--generate_max_len 1024 --advantage_estimator reinforce"
    )
    gpu = run_of(text).estimate.gpu
    assert gpu
    assert ("kv_pool" in {term.id for term in gpu.phase("weight_sync").terms}) is stands


def test_where_the_cache_is_told_to_wake_a_smaller_share_helps_however_large_the_sync_was():
    """The whole model that ZeRO 3 gathers for the sync is as large as the cache, and gone when that wakes."""
    text = (
        "TRL 0.25.0, vllm 0.11.0, 2 x A100 80GB, Qwen3-14B, lora r=16, zero3, GRPO, vllm colocate\n"
        "vllm_enable_sleep_mode=True vllm_gpu_memory_utilization=0.6 vllm_tensor_parallel_size=2\n"
        '  File "/env/trl/trainer/grpo_trainer.py", line 1141, in _generate_single_turn\n'
        '    self.llm.wake_up(tags=["kv_cache"])\n'
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62"
    )
    found = diagnose(text, {}, current(), ())
    assert found.prescriptions[0].lever.slug == "rollout.gpu_memory_utilization.down"
    assert found.prescriptions[0].after


SAVER = "[torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=83"


@pytest.mark.parametrize(("line", "stands"), [(SAVER, True), ("torch.OutOfMemoryError: CUDA out of memory.", False)])
def test_what_a_memory_saver_refuses_as_the_engine_wakes_is_its_cache_where_the_trainer_has_none(line, stands):
    text = (
        f"verl 0.7.0, 8 x H100 80GB, it dies in resume_memory_occupation\n{line}\npython3 -m verl.trainer.main_ppo "
        "algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.rollout.name=sglang "
        "actor_rollout_ref.rollout.gpu_memory_utilization=0.8 trainer.n_gpus_per_node=8 trainer.nnodes=1"
    )
    found = diagnose(text, {}, current(), ())
    assert found.phase == "weight_sync"
    assert found.estimate.gpu
    assert ("kv_pool" in {term.id for term in found.estimate.gpu.phase("weight_sync").terms}) is stands
