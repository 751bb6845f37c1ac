"""Write tests/data/trainers/openrlhf.toml: phases of OpenRLHF's own roles on the CPU, which the estimator is held against.

pip install --no-deps openrlhf==0.8.5
pip install deepspeed==0.17.1 transformers==4.52.4 peft torchdata einops
python benchmarks/trainers/run_openrlhf.py

The roles are OpenRLHF's classes, without Ray around them and without engines. Attention keeps what FlashAttention keeps; the loss of
flash-attn, whose kernel is Triton's, is put in plain torch with the same tensors. All rows are full.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.update({"DS_ACCELERATOR": "cpu", "DS_SKIP_CUDA_CHECK": "1", "OMP_NUM_THREADS": "1"})

import torch
from recorder import in_processes, loads_counted, write
from run_deepspeed import alone
from small_model import CONFIG, saved
from stand_ins import without_cards
from storages import Storages

PROMPT, RESPONSE = 128, 384


class _Parsed(Exception):
    """Ends the command where it would start Ray."""


def arguments(flags: str) -> Any:
    """The command's own arguments, as it hands them to its ``train``."""
    import ray

    def found() -> Any:
        raise _Parsed(sys._getframe(1).f_locals["args"])

    ray.is_initialized = found
    sys.argv = ["train_ppo_ray", *flags.split()]
    try:
        runpy.run_module("openrlhf.cli.train_ppo_ray", run_name="__main__")
    except _Parsed as parsed:
        return parsed.args[0]


def role(kind: Any, ranks: int, *args: Any) -> Any:
    """A role of OpenRLHF with its model on this rank."""
    one = kind(ranks, int(os.environ["RANK"]), os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
    one.init_model_from_pretrained(*args)
    return one


def sampled(rows: int, vocab: int) -> dict[str, torch.Tensor]:
    """Full rows, as an engine would have sampled them."""
    sequences = torch.randint(2, vocab, (rows, PROMPT + RESPONSE))
    acted = torch.zeros(rows, PROMPT + RESPONSE - 1, dtype=torch.bool)
    acted[:, PROMPT - 1 :] = True
    return {"sequences": sequences, "action_mask": acted, "attention_mask": torch.ones_like(sequences)}


def roles_of(args: Any, folder: Path, ranks: int, names: tuple[str, ...], recorder: Storages) -> dict[str, Any]:
    """The roles of these names, each marked by its phases."""
    from openrlhf.trainer.ray import launcher, ppo_actor, ppo_critic
    from openrlhf.utils import get_strategy
    from openrlhf.utils.deepspeed import deepspeed as strategies

    plain = strategies.init_device_mesh
    strategies.init_device_mesh = lambda _, *shape, **dimensions: plain("cpu", *shape, **dimensions)
    ppo_actor.get_physical_gpu_id = lambda: "0"
    strategy, made = get_strategy(args), {}
    if "actor" in names:
        made["actor"] = actor = role(ppo_actor.PolicyModelActor, ranks, strategy, str(folder), 10)
        actor.trainer.vllm_engines = []
        recorder.wrap(actor.trainer, "training_step", "actor_update")
        recorder.wrap(actor.actor.model, "step", "optimizer_step")
        recorder.wrap(actor, "forward", "logprob")
        recorder.wrap(actor, "broadcast_to_vllm", "weight_sync")
    if "ref" in names:
        made["ref"] = role(launcher.ReferenceModelActor, ranks, strategy, str(folder))
        recorder.wrap(made["ref"], "forward", "ref_logprob")
    if "critic" in names:
        made["critic"] = critic = role(ppo_critic.CriticModelActor, ranks, strategy, str(folder), 10)
        recorder.wrap(critic, "forward", "values")
        recorder.wrap(critic.trainer, "training_step", "critic")
    return made


def experience(made: dict[str, Any], rows: int) -> None:
    """Put rows, and what the roles say of them, into the buffers of those that train."""
    from openrlhf.trainer.ppo_utils.experience_maker import Experience

    batch = sampled(rows, CONFIG["vocab_size"])
    told = {name: one.forward(**batch) for name, one in made.items()}
    some = next(iter(told.values())).float()
    one = torch.ones(rows)
    made_of = {
        "action_log_probs": told.get("actor"),
        "base_action_log_probs": told.get("ref"),
        "values": told.get("critic"),
        "advantages": some,
        "returns": some,
        "info": {"reward": one, "response_length": one, "total_length": one, "kl": one, "return": one},
    }
    for name in set(made) - {"ref"}:
        made[name].append(Experience(**batch, **made_of))


def run(folder: Path, ranks: int, flags: str, names: tuple[str, ...]) -> dict[str, int]:
    """Rounds of log-probs, updates and weight sync of these roles; the first, which makes Adam's state, does not count."""
    alone()
    without_cards()
    args = arguments(f"--pretrain {folder} {flags}")
    with Storages() as recorder, loads_counted():
        made = roles_of(args, folder, ranks, names, recorder)
        for _ in range(2):
            recorder.calls.clear()
            for _ in range(args.train_batch_size // ranks // args.micro_rollout_batch_size):
                experience(made, args.micro_rollout_batch_size)
            if "critic" in made:
                made["critic"].fit()
            if "actor" in made:
                made["actor"].fit(0.01)
            if args.colocate_all_models:
                made["actor"].broadcast_to_vllm()
    return recorder.peaks()


SIZES = "--micro_train_batch_size 2 --micro_rollout_batch_size 4"
LENGTHS = f"--prompt_max_len {PROMPT} --generate_max_len {RESPONSE}"
ONE = "--advantage_estimator reinforce --remote_rm_url http://rm --bf16 --flash_attn"
ALL = ("actor", "ref", "critic")
PACKED = "--init_kl_coef 0 --packing_samples"
COLOCATED = "--remote_rm_url http://rm --bf16 --flash_attn --colocate_all_models --packing_samples"
RUNS: list[tuple[str, int, str, dict[str, Any]]] = [
    ("zero2", 2, f"{ONE} {PACKED} --zero_stage 2 --gradient_checkpointing", {}),
    ("zero3", 2, f"{ONE} {PACKED} --zero_stage 3 --gradient_checkpointing", {}),
    ("zero2-padded", 2, f"{ONE} --init_kl_coef 0 --zero_stage 2", {}),
    ("zero2-overlap", 2, f"{ONE} {PACKED} --zero_stage 2 --overlap_comm", {}),
    ("zero2-lora", 2, f"{ONE} {PACKED} --zero_stage 2 --lora_rank 16", {}),
    ("zero3-lora", 2, f"{ONE} {PACKED} --zero_stage 3 --lora_rank 16", {}),
    ("zero2-fp32-sums", 2, f"{ONE} {PACKED} --zero_stage 2 --grad_accum_dtype fp32", {}),
    ("zero3-hpz", 4, f"{ONE} {PACKED} --zero_stage 3 --zpg 2", {}),
    ("zero2-colocated", 2, f"{COLOCATED} --zero_stage 2", {"roles": ALL}),
    ("zero3-colocated", 2, f"{COLOCATED} --zero_stage 3", {"roles": ALL}),
]


def point(folder: Path, name: str, ranks: int, own: str, roles: tuple[str, ...] = ("actor",)) -> dict[str, Any]:
    """A point of these flags beside those that all have."""
    batch = f"--train_batch_size {4 * ranks} --rollout_batch_size {4 * ranks}"
    told = f"--actor_num_nodes 1 --actor_num_gpus_per_node {ranks} {SIZES} {LENGTHS} {batch} {own}"
    if "--colocate_all_models" in own:
        told += " --vllm_num_engines 2 --vllm_enable_sleep"
        told += f" --ref_num_gpus_per_node {ranks} --critic_num_gpus_per_node {ranks} --critic_num_nodes 1 --ref_num_nodes 1"
    else:
        told += " --vllm_num_engines 1"
    peaks = in_processes(ranks, run, folder, ranks, told, roles)
    print(name, {phase: f"{peak / 1e6:.1f}" for phase, peak in peaks.items()}, flush=True)
    packages = " ".join(
        f"{name}=={importlib.metadata.version(name)}" for name in ("openrlhf", "deepspeed", "transformers")
    )
    return {
        "id": name,
        "paste": f"{packages}\npython3 -m openrlhf.cli.train_ppo_ray --pretrain m {told}",
        "config": json.dumps(CONFIG),
        "answers": {"trainer_gpus": ranks, "real_prompt_length": PROMPT, "real_response_length": RESPONSE},
        "peaks": peaks,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = saved(Path(place), CONFIG)
        points = [point(folder, name, ranks, own, **more) for name, ranks, own, more in RUNS]
    write("openrlhf", ("openrlhf", "deepspeed", "transformers", "torch"), points)


if __name__ == "__main__":
    main()
