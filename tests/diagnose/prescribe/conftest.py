from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from diagnose.estimate import estimate
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import Knowledge, current
from diagnose.knowledge.records import Case, Fix
from diagnose.match import match
from diagnose.prescribe import prescribe
from diagnose.prescribe.situation import Situation
from diagnose.types import Ahead, Check, Estimate, Facts, NotAdvised, Paste, Prescription, Together
from diagnose.vocabulary import POOL_OF_KIND, Value

GROUPED = r"""
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.10 GiB.
  File "verl/workers/actor/dp_actor.py", line 248, in update_policy
    loss.backward()

python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo data.train_files=data/kk/instruct/4ppl/train.parquet \
    data.train_batch_size=8 data.max_prompt_length=400 data.max_response_length=2048 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \
    actor_rollout_ref.model.use_remove_padding=True \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.ppo_micro_batch_size=16 \
    actor_rollout_ref.actor.fsdp_config.param_offload=True \
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.n=32 \
    trainer.n_gpus_per_node=4 trainer.nnodes=1
4 x A100 80GB
""".strip()

_RAY = (
    "Memory on the node (IP: 10.0.0.9, ID: ab) where the task (actor ID: cd, name=main_task, pid=7, memory used=0.70GB) was running "
    "was 486.40GB / 503.51GB (0.966021), which exceeds the memory usage threshold of 0.95."
)
ON_THE_HOST = rf"""
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
{_RAY}
8 x A100 80GB on one node

python3 -m verl.trainer.main config=examples/config.yaml \
    worker.actor.model.model_path=Qwen/Qwen2.5-7B-Instruct \
    worker.actor.offload.offload_params=true \
    worker.actor.offload.offload_optimizer=true \
    trainer.n_gpus_per_node=8 trainer.nnodes=1
""".strip()


@dataclass(frozen=True)
class Advice:
    paste: Paste
    facts: Facts
    before: Estimate
    prescriptions: tuple[Prescription, ...]
    together: Together | None
    not_advised: tuple[NotAdvised, ...]
    checks: tuple[Check, ...]
    ahead: Ahead | None

    @property
    def levers(self) -> list[str]:
        return [prescription.lever.slug for prescription in self.prescriptions]

    def refused(self, lever: str) -> NotAdvised:
        return next(one for one in self.not_advised if one.lever.slug == lever)

    def advised(self, lever: str) -> Prescription:
        return next(one for one in self.prescriptions if one.lever.slug == lever)


PRINTED = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 79.10 GiB of which "
    "{free} GiB is free. Process 77 has {held} GiB memory in use. Of the allocated memory 60.00 GiB is allocated by PyTorch, and "
    "{unused} GiB is reserved by PyTorch but unallocated."
)


def printed(asked: float, free: float, held: float, unused: float = 0.5) -> str:
    return PRINTED.format(asked=asked, free=free, held=held, unused=unused)


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    return current()


@pytest.fixture
def advise(knowledge: Knowledge) -> Callable[..., Advice]:
    """The advice on a paste, with answers, and with kind and phase given where the paste is silent."""

    def run(
        text: str, cases: tuple[Case, ...] = (), kind: str | None = None, phase: str | None = None, **answers: Value
    ) -> Advice:
        paste = read(text)
        facts = read_facts(paste, answers, knowledge)
        kind = kind or facts.values.get("oom_kind")
        phase = phase or facts.values.get("phase")
        before = estimate(facts, knowledge.fallback)
        pool = POOL_OF_KIND.get(kind or "")
        near = match(facts, paste.text, cases)
        advisories = tuple(knowledge.advisories.values())
        situation = Situation(facts, before, kind, phase, pool, paste, knowledge.fallback)
        given = prescribe(situation, knowledge, cases, near, advisories)
        return Advice(paste, facts, before, *given)

    return run


def make_case(slug: str, facts: dict[str, Value], *fixes: tuple[str, bool | None]) -> Case:
    return Case(
        slug=slug,
        body="",
        title=slug,
        reviewed=datetime.date(2026, 11, 1),
        sources=(f"https://example.org/{slug}",),
        facts=facts,
        fixes=tuple(Fix(lever=lever, detail="", by="reporter", worked=worked) for lever, worked in fixes),
    )
