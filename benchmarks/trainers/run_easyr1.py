"""Write tests/data/trainers/easyr1-<version>.toml: updates, passes and weight syncs of EasyR1's own worker, as one rank of several.

PYTHONPATH=<a checkout of hiyouga/EasyR1> python benchmarks/trainers/run_easyr1.py VERSION [ID …]

The worker is built from the checkout's own examples/config.yaml by what a command overrides. In the engine's place stands one that
takes its weights and keeps none.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import as_card
import card_group
import torch
from passes import PROMPT, RESPONSE, mark_passes, rows
from recorder import Recorder, in_fork, loads_counted, write
from small_model import NARROW, saved

ROWS = 8  # of a step, over all ranks
SIZES = {
    "data.max_prompt_length": PROMPT,
    "data.max_response_length": RESPONSE,
    "data.rollout_batch_size": 4,
    "worker.rollout.n": 2,
    "worker.rollout.tensor_parallel_size": 1,
    "worker.actor.global_batch_size": 4,
    "worker.actor.micro_batch_size_per_device_for_update": 2,
    "worker.actor.micro_batch_size_per_device_for_experience": 4,
    "worker.actor.use_torch_compile": False,
    "worker.actor.offload.offload_params": False,
    "worker.actor.offload.offload_optimizer": False,
    "worker.ref.fsdp.enable_cpu_offload": False,
    "trainer.nnodes": 1,
}
_KEYS = {
    "checkpointing": "worker.actor.model.enable_gradient_checkpointing",
    "padding_free": "worker.actor.padding_free",
    "dynamic": "worker.actor.dynamic_batching",
    "micro": "worker.actor.micro_batch_size_per_device_for_update",
    "full_shard": "worker.actor.fsdp.enable_full_shard",
    "shard": "worker.actor.fsdp.fsdp_size",
    "dtype": "worker.actor.fsdp.torch_dtype",
    "reduce": "worker.actor.fsdp.mp_reduce_dtype",
    "optimizer": "worker.actor.optim.strategy",
    "lora": "worker.actor.model.lora.rank",
}
POINTS: dict[str, dict[str, Any]] = {
    "actor": {},
    "actor-no-checkpointing": {"checkpointing": False},
    "actor-padded": {"padding_free": False, "dynamic": False, "real": (64, 96)},
    "actor-rows": {"dynamic": False, "real": (64, 96)},
    "actor-tokens": {"real": (64, 96)},
    "actor-grad-op": {"full_shard": False},
    "actor-bf16": {"dtype": "bf16", "optimizer": "adamw_bf16"},
    "actor-bf16-adamw": {"dtype": "bf16"},
    "actor-reduce-bf16": {"reduce": "bf16"},
    "actor-8-ranks": {"ranks": 8, "micro": 1},
    "actor-hybrid": {"shard": 2, "ranks": 4, "micro": 1},
    "actor-lora": {"lora": 16},
}


def configured(options: dict[str, Any]) -> Any:
    """As verl/trainer/main.py reads its command."""
    import verl
    from omegaconf import OmegaConf
    from verl.trainer.config import PPOConfig

    file = OmegaConf.load(Path(verl.__file__).parents[1] / "examples" / "config.yaml")
    words = OmegaConf.from_dotlist([f"{key}={value}" for key, value in options.items()])
    config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(PPOConfig()), file, words))
    config.deep_post_init()
    return config.worker


@cache
def workers() -> Any:
    """verl.workers.fsdp_workers of the checkout, with an engine that keeps nothing."""
    as_card.be()
    engine = as_card.engine()
    from verl.workers import fsdp_workers

    fsdp_workers.vLLMRollout = lambda **_: type("Rollout", (), {"inference_engine": engine})()
    return fsdp_workers


def step(options: dict[str, Any], real: tuple[int, int], ranks: int) -> dict[str, int]:
    fsdp_workers, config = workers(), configured(options)
    card_group.start(ranks)
    with Recorder() as recorder, loads_counted():
        worker = fsdp_workers.FSDPWorker(config, "actor_rollout_ref")
        worker.init_model()
        tensors = rows(ROWS * config.actor.ulysses_size // ranks, real, NARROW["vocab_size"])
        told = {"temperature": 1.0, "global_token_num": tensors["attention_mask"].sum(-1).tolist()}
        data = fsdp_workers.DataProto.from_dict(tensors=tensors, meta_info=told)
        worker.update_actor(data)
        mark_passes(recorder, worker.actor, "actor_update", "logprob")
        recorder.wrap(worker.optimizer, "step", "optimizer_step")
        recorder.wrap(worker.rollout_sharding_manager, "_sync_weight_to_vllm", "weight_sync")
        worker.compute_log_probs(data)
        worker.update_actor(data)
        worker.prepare_rollout_engine()
    return recorder.peaks()


def point(
    folder: Path, version: str, name: str, ranks: int = 2, real: tuple[int, int] = (PROMPT, RESPONSE), **options: Any
) -> Any:
    paste = {**SIZES, "trainer.n_gpus_per_node": ranks, **{_KEYS[key]: value for key, value in options.items()}}
    words = " ".join(f"{key}={value}" for key, value in paste.items())
    given = {**paste, "worker.actor.model.model_path": folder, "worker.actor.model.tokenizer_path": folder}
    return {
        "id": name,
        "paste": f"python3 -m verl.trainer.main config=examples/config.yaml {words}\nEasyR1 v{version}",
        "config": json.dumps(NARROW),
        "answers": {"real_prompt_length": real[0], "real_response_length": real[1]},
        "peaks": in_fork(step, given, real, ranks),
    }


def main() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    version, *wanted = sys.argv[1:]
    torch.set_num_threads(1)
    workers()
    with tempfile.TemporaryDirectory() as place:
        folder = saved(Path(place), NARROW)
        for name in wanted or POINTS:
            one = point(folder, version, name, **POINTS[name])
            print(name, {phase: round(size / 1e6, 1) for phase, size in one["peaks"].items()}, flush=True)
            write("easyr1", ("transformers", "torch"), [one], of=f"-{version}", keep=True)


if __name__ == "__main__":
    main()
