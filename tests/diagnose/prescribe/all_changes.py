"""Every change that is advised for a run, whatever phase it failed in."""

from __future__ import annotations

from functools import cache

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
    "3.30 GiB is free.\n"
)

PHASES = ("load", "init", "weight_sync", "rollout", "logprob", "critic", "actor_update", "optimizer_step")

VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator={algo} data.train_batch_size=128 data.max_prompt_length=1024 "
    "data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-32B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 {more} trainer.n_gpus_per_node=8 trainer.nnodes=1\nverl {version}"
)


def written(text, phases=PHASES, **answers):
    """Every change that is advised in any of the phases, as (key, word)."""
    found = []
    for phase in phases:
        found += advised(text, tuple({"phase": phase, **answers}.items()))
    return dict(found)


@cache
def advised(text, answers):
    told = diagnose(text + "\n8 x H100 80GB\n" + OOM, dict(answers), current(), ())
    groups = [one.changes for one in told.prescriptions] + ([told.together.changes] if told.together else [])
    return tuple((change.key, change.after) for changes in groups for change in changes if change.key and change.fact)


def refused(text, slug, phase="actor_update"):
    told = diagnose(text + "\n8 x H100 80GB\n" + OOM, {"phase": phase}, current(), ())
    return {one.lever.slug: one.why for one in told.not_advised if one.reason == "refused"}.get(slug)
