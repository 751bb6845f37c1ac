"""Write tests/data/trainers/verl-<version>.toml: updates and passes of verl's own FSDP workers on the CPU, as one rank of several.

pip install verl==<version> --no-deps
python benchmarks/trainers/run_verl.py [ID …]

The worker is built from verl's own configuration by what a command overrides; the engine is left out.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import as_card
import card_group
import torch
from passes import PROMPT, RESPONSE, mark_passes, rows
from recorder import Recorder, in_fork, loads_counted, write
from small_model import NARROW, saved

VERSION = version("verl")
NEW = tuple(int(part) for part in VERSION.split(".")[:2])
ROWS = 8  # of a step, over all ranks
SIZES = {
    "data.max_prompt_length": PROMPT,
    "data.max_response_length": RESPONSE,
    "data.train_batch_size": 4,
    "actor_rollout_ref.rollout.n": 2,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 2,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.model.use_remove_padding": True,
    "actor_rollout_ref.model.enable_gradient_checkpointing": True,
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 1,
    "trainer.nnodes": 1,
}


def configured(options: dict[str, Any]) -> Any:
    """verl's own ppo_trainer.yaml under these overrides."""
    import verl
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        return compose("ppo_trainer", [f"{key}={value}" for key, value in options.items()])


@cache
def workers() -> Any:
    """verl.workers.fsdp_workers, imported as where there is a GPU, and run as where there is none."""
    as_card.be()
    os.environ["DISABLE_WORKER_INIT"] = "1"
    if NEW < (0, 4):
        import verl.workers.fsdp_workers as found

        as_card.named_cuda()
        found.DataProto.to = lambda self, *_: self
        return found
    import verl.utils.device as device

    device.is_cuda_available = True
    import verl.workers.actor.dp_actor
    import verl.workers.critic.dp_critic

    device.is_cuda_available = False
    if find_spec("verl.utils.attention_utils"):
        import flash_attn.bert_padding as padding
        import verl.utils.attention_utils as attention

        plain = (padding.index_first_axis, padding.pad_input, padding.rearrange, padding.unpad_input)
        attention._get_attention_functions = lambda: plain
    import verl.workers.fsdp_workers as found

    for module in (verl.workers.actor.dp_actor, verl.workers.critic.dp_critic, found):
        for name in ("is_cuda_available", "get_device_name"):
            if hasattr(module, name):
                setattr(module, name, getattr(device, name))
    return found


def told(count: int, real: tuple[int, int]) -> Any:
    """Rows of one rank in verl's own container."""
    from verl import DataProto

    tensors = rows(count, real, NARROW["vocab_size"])
    lengths = tensors["attention_mask"].sum(-1).tolist()
    return DataProto.from_dict(
        tensors=tensors,
        meta_info={"temperature": 1.0, "global_token_num": lengths, "micro_batch_size": 4, "use_dynamic_bsz": False},
    )


def actor(options: dict[str, Any], real: tuple[int, int], ranks: int) -> dict[str, int]:
    found, config = workers(), configured(options).actor_rollout_ref
    card_group.start(ranks)
    with Recorder() as recorder, loads_counted():
        worker = found.ActorRolloutRefWorker(config, "actor")
        worker.init_model()
        count = ROWS // ranks * worker.ulysses_sequence_parallel_size
        data = told(count, real)
        worker.update_actor(data)
        mark_passes(recorder, worker.actor, "actor_update", "logprob")
        recorder.wrap(worker.actor_optimizer, "step", "optimizer_step")
        worker.compute_log_prob(data)
        worker.update_actor(data)
    return recorder.peaks()


def critic(options: dict[str, Any], real: tuple[int, int], ranks: int) -> dict[str, int]:
    found, config = workers(), configured(options).critic
    card_group.start(ranks)
    with Recorder() as recorder, loads_counted():
        if NEW >= (0, 6):
            from verl.utils.config import omega_conf_to_dataclass

            config = omega_conf_to_dataclass(config)
        worker = found.CriticWorker(config)
        worker.init_model()
        data = told(ROWS // ranks, real)
        worker.update_critic(data)
        mark_passes(recorder, worker.critic, "critic", "values")
        worker.compute_values(data)
        worker.update_critic(data)
    return recorder.peaks()


def point(
    folder: Path,
    name: str,
    run: Any = actor,
    ranks: int = 2,
    real: tuple[int, int] = (PROMPT, RESPONSE),
    **options: Any,
) -> Any:
    paste = {**SIZES, "trainer.n_gpus_per_node": ranks, **{_KEYS[key]: value for key, value in options.items()}}
    paste["algorithm.adv_estimator"] = "gae" if run is critic else "grpo"
    if run is critic:
        paste["critic.ppo_micro_batch_size_per_gpu"] = 2
        # the actor, which is not there, is on the host meanwhile
        paste |= {f"{_ACTOR}fsdp_config.{what}_offload": True for what in ("param", "optimizer")}
    model = {"actor_rollout_ref.model.path": folder, **({"critic.model.path": folder} if run is critic else {})}
    words = " ".join(f"{key}={value}" for key, value in paste.items())
    return {
        "id": name,
        "paste": f"python3 -m verl.trainer.main_ppo {words}\nverl=={VERSION}\ntransformers=={version('transformers')}",
        "config": json.dumps(NARROW),
        "answers": {"real_prompt_length": real[0], "real_response_length": real[1]},
        "peaks": in_fork(run, {**paste, **model}, real, ranks),
    }


_ACTOR = "actor_rollout_ref.actor."
_KEYS = {
    "checkpointing": "actor_rollout_ref.model.enable_gradient_checkpointing",
    "remove_padding": "actor_rollout_ref.model.use_remove_padding",
    "entropy": _ACTOR + "entropy_coeff",
    "strategy": _ACTOR + "strategy",
    "compile": "+" * (NEW < (0, 3)) + _ACTOR + "use_torch_compile",
    "dtype": "+" * (NEW < (0, 6)) + _ACTOR + "fsdp_config.model_dtype",
    "micro": _ACTOR + "ppo_micro_batch_size_per_gpu",
    "batch": "data.train_batch_size",
    "mini": _ACTOR + "ppo_mini_batch_size",
    "lora": "actor_rollout_ref.model.lora_rank",
    "sp": _ACTOR + "ulysses_sequence_parallel_size",
    "shard": _ACTOR + "fsdp_config.fsdp_size",
    "packed": _ACTOR + "use_dynamic_bsz",
    "tokens": _ACTOR + "ppo_max_token_len_per_gpu",
    "fused": "actor_rollout_ref.model.use_fused_kernels",
    "liger": "actor_rollout_ref.model.use_liger",
    "chunked": _ACTOR + "entropy_from_logits_with_chunking",
    "entropy_again": _ACTOR + "entropy_checkpointing",
    "critic_padding": "critic.model.use_remove_padding",
    "critic_checkpointing": "critic.model.enable_gradient_checkpointing",
    "critic_strategy": "critic.strategy",
}
POINTS: dict[str, dict[str, Any]] = {
    "actor": {},
    "actor-no-checkpointing": {"checkpointing": False},
    "actor-padded": {"remove_padding": False, "real": (64, 96)},
    "actor-short": {"real": (64, 96)},
    "actor-padded-entropy": {"remove_padding": False, "entropy": 0.001},
    "actor-entropy": {"entropy": 0.001},
    "actor-4-ranks": {"ranks": 4},
    "actor-8-ranks": {"ranks": 8, "micro": 1},
    "actor-tokens": {"packed": True, "tokens": 512},
    # an old critic does not multiply its mini batch by the samples of a prompt
    "critic": {"run": critic, "critic_padding": True, **({"mini": 8, "batch": 8} if NEW < (0, 3) else {})},
    "critic-padded": {"run": critic, "real": (64, 96)},
    "critic-no-checkpointing": {"run": critic, "critic_padding": True, "critic_checkpointing": False},
}
if NEW >= (0, 4):
    POINTS |= {
        "actor-bf16": {"dtype": "bf16"},
        "actor-fsdp2": {"strategy": "fsdp2"},
        "actor-fsdp2-bf16-8-ranks": {"strategy": "fsdp2", "dtype": "bf16", "ranks": 8, "micro": 1},
        "actor-lora": {"lora": 16},
        "actor-lora-fsdp2": {"lora": 16, "strategy": "fsdp2"},
        "actor-entropy-chunked": {"entropy": 0.001, "chunked": True},
        "actor-entropy-again": {"entropy": 0.001, "entropy_again": True},
        "actor-eager-entropy": {"entropy": 0.001, "compile": False},
        "actor-ulysses": {"sp": 2, "ranks": 4},
        "actor-hybrid": {"shard": 2, "ranks": 4},
        "actor-fused": {"fused": True},
        "critic-fsdp2": {"run": critic, "critic_padding": True, "critic_strategy": "fsdp2", "strategy": "fsdp2"},
    }


def main() -> None:
    torch.set_num_threads(1)
    workers()
    with tempfile.TemporaryDirectory() as place:
        folder = saved(Path(place), NARROW)
        for name in sys.argv[1:] or POINTS:
            one = point(folder, name, **POINTS[name])
            print(name, {phase: round(size / 1e6, 1) for phase, size in one["peaks"].items()}, flush=True)
            write("verl", ("verl", "transformers", "torch"), [one], of=f"-{VERSION}", keep=True)


if __name__ == "__main__":
    main()
