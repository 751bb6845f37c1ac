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
