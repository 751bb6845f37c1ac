"""Commands that train nothing: engines that serve anybody, alone and beside a training."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

OOM = "2 x A100 80GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB.\n"
MODEL = "Qwen/Qwen2.5-32B-Instruct"
TRAINS = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
)
SERVERS = {
    f"vllm serve {MODEL} -tp 2 --gpu-memory-utilization 0.95 --max-model-len 32768": "vllm",
    f"python -m vllm.entrypoints.openai.api_server --model {MODEL} -tp 2 --gpu-memory-utilization 0.95 --max-model-len 32768": "vllm",
    f"python -m sglang.launch_server --model-path {MODEL} --tp 2 --mem-fraction-static 0.95 --context-length 32768": "sglang",
    f"trl vllm-serve --model {MODEL} --tensor_parallel_size 2 --gpu_memory_utilization 0.95 --max_model_len 32768": "vllm",
    f"swift rollout --model {MODEL} --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.95 --vllm_max_model_len 32768": "vllm",
}


def told(text: str) -> Diagnosis:
    return diagnose(text, {}, current(), ())


@pytest.mark.parametrize(("command", "engine"), SERVERS.items())
def test_an_engine_alone_is_no_training(command: str, engine: str) -> None:
    found = told(f"{command}\n{OOM}")
    values = found.facts.values
    assert (values["trains"], values["rollout_engine"], values["rollout_mode"]) == (False, engine, "server")
    assert (values["rollout_tp"], values["gpu_memory_utilization"], values["max_model_len"]) == (2, 0.95, 32768)
    assert [phase.phase for phase in found.estimate.gpu.phases] == ["load", "init", "rollout"]
    levers = {given.lever.slug for given in found.prescriptions}
    assert "rollout.gpu_memory_utilization.down" in levers
    assert not any(slug.startswith(("offload.", "shard.", "checkpointing.", "length.", "batch.")) for slug in levers)


def test_a_new_key_of_an_engines_command_is_the_one_that_it_takes() -> None:
    found = told(f"trl vllm-serve --model {MODEL} --tensor_parallel_size 2\n{OOM}")
    keys = {change.key for given in found.prescriptions for change in given.changes}
    assert "gpu_memory_utilization" in keys
    assert not any(key.startswith("vllm_") for key in keys)


def test_a_judges_engine_says_nothing_of_the_training_beside_it() -> None:
    judge = "vllm serve openai/gpt-oss-20b --gpu-memory-utilization 0.3 --max-model-len 9000 --max-num-seqs 7\n"
    alone, both = told(TRAINS + OOM).facts.values, told(judge + TRAINS + OOM).facts.values
    assert {id: both.get(id) for id in ("gpu_memory_utilization", "max_model_len", "max_num_seqs", "model")} == {
        id: alone.get(id) for id in ("gpu_memory_utilization", "max_model_len", "max_num_seqs", "model")
    }
    assert "trains" not in both


def test_an_engine_of_the_trained_model_tells_how_it_is_sampled() -> None:
    serves = "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.3 --max-num-seqs 7\n"
    assert told(serves + TRAINS + OOM).facts.values["max_num_seqs"] == 7
