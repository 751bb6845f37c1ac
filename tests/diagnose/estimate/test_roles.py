"""Critic, reference and reward model on cards of their own: each phase is told for the cards on which it runs."""

from __future__ import annotations

import pytest

from diagnose.conditions import holds
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

# Llama-3-8B has 8,030,261,248 parameters.
PARAMETERS = 8.03e9
COMMAND = """python3 -m openrlhf.cli.{launcher} --pretrain meta-llama/Meta-Llama-3-8B --reward_pretrain r/m-8b \\
    --actor_num_gpus_per_node 4 --critic_num_gpus_per_node 2 --reward_num_gpus_per_node {reward} --ref_num_gpus_per_node {ref} \\
    --zero_stage 3 --bf16 --gradient_checkpointing --micro_train_batch_size 1 --micro_rollout_batch_size 1 \\
    --prompt_max_len 512 --generate_max_len 512 --init_kl_coef 0.01 {more}"""
ENGINES = "--vllm_num_engines 1 --vllm_tensor_parallel_size 1"
TRAINED = ("weights", "gradients", "optimizer")


def run(more: str = "", launcher: str = "train_ppo_ray", reward: int = 1, ref: int = 1) -> Diagnosis:
    text = COMMAND.format(launcher=launcher, reward=reward, ref=ref, more=f"{ENGINES} {more}")
    return diagnose(text, {"gpu_mem_gib": 80}, current(), ())


def held(found: Diagnosis, phase: str) -> dict[str, float]:
    """Bytes a parameter of everything that stands on the card in this phase but DeepSpeed's buckets, by its name."""
    assert found.estimate is not None
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase(phase)
    assert here is not None
    stands = (term for term in here.terms if term.family == "held" and not term.id.endswith("_bucket"))
    return {term.id: term.bytes / PARAMETERS for term in stands}


def of(role: str, cards: int) -> dict[str, float]:
    """2 bytes of weights, 2 of gradients and 12 of Adam and masters, all over the role's own cards at stage 3; a critic has no head."""
    share = 1 - 128256 * 4096 / PARAMETERS if role == "critic" else 1.0
    return {f"{role}_{part}": share * each / cards for part, each in zip(TRAINED, (2, 2, 12), strict=True)}


@pytest.mark.parametrize(
    ("phase", "stands"),
    [
        ("actor_update", of("actor", 4)),
        ("logprob", of("actor", 4)),
        ("rollout", of("actor", 4)),
        ("critic", of("critic", 2)),
        ("values", of("critic", 2)),
        ("ref_logprob", {"ref_weights": 2.0}),
        ("reward", {"reward_weights": 2.0}),
    ],
)
def test_every_role_has_its_own_cards_under_ray(phase: str, stands: dict[str, float]) -> None:
    """openrlhf/cli/train_ppo_ray.py at 3c3be623: a group without a placement group takes a whole GPU for each of its processes."""
    assert held(run(), phase) == pytest.approx(stands, rel=0.01)


@pytest.mark.parametrize(
    ("phase", "stands"),
    [
        ("actor_update", {**of("actor", 4), "ref_weights": 2 / 4}),
        ("ref_logprob", {**of("actor", 4), "ref_weights": 2 / 4}),
        ("critic", {**of("critic", 2), "reward_weights": 2 / 2}),
        ("reward", {**of("critic", 2), "reward_weights": 2 / 2}),
    ],
)
def test_roles_that_are_put_together_share_their_cards(phase: str, stands: dict[str, float]) -> None:
    found = run("--colocate_actor_ref --colocate_critic_reward", reward=2, ref=4)
    assert held(found, phase) == pytest.approx(stands, rel=0.01)


@pytest.mark.parametrize(("more", "launcher"), [("--colocate_all_models", "train_ppo_ray"), ("", "train_ppo")])
def test_all_on_the_same_cards_stay_there(more: str, launcher: str) -> None:
    """All in one placement group, or in one process: openrlhf/cli/train_ppo.py at v0.4.2."""
    assert {**of("actor", 4), **of("critic", 4)}.items() <= {
        id: pytest.approx(each, rel=0.01) for id, each in held(run(more, launcher), "critic").items()
    }.items()


@pytest.mark.parametrize("launch", ["deepspeed /x/openrlhf/cli/train_ppo.py", "python3 -m openrlhf.cli.train_ppo_ray"])
def test_roles_whose_counts_nobody_tells_share_what_cards_there_are(launch: str) -> None:
    """Otherwise each would be sharded over all cards, as many times as there are roles."""
    paste = f"{launch} --pretrain meta-llama/Meta-Llama-3-8B --zero_stage 3 --init_kl_coef 0.01"
    found = diagnose(paste, {"gpu_mem_gib": 80, "n_gpus": 8, "framework": "openrlhf"}, current(), ())
    assert {**of("actor", 8), **of("critic", 8)}.items() <= {
        id: pytest.approx(each, rel=0.01) for id, each in held(found, "actor_update").items()
    }.items()


@pytest.mark.parametrize("order", ["--async_train --colocate_all_models", "--colocate_all_models --async_train"])
def test_asynchronous_engines_leave_the_cards_that_all_other_roles_share(order: str) -> None:
    """train_ppo_ray.py at 3c3be623: the engines get the group only without async_enable, critic and reward model get it all the same."""
    found = run(order)
    assert found.facts.values["rollout_mode"] == "server"
    assert {"actor_weights", "critic_weights", "ref_weights"} <= set(held(found, "actor_update"))


@pytest.mark.parametrize(
    ("more", "each"), [("", 2.0), ("--load_in_4bit", 1.05e9 / 8.03e9 * 2 + 6.98e9 / 8.03e9 * 0.516)]
)
def test_a_reference_on_cards_of_its_own_is_a_second_model_beside_adapters(more: str, each: float) -> None:
    """openrlhf/trainer/ray/launcher.py at v0.3.0 and 3c3be623: it is loaded whatever the actor's rank is, in 4 bits where the actor is;
    embedding and head, 1.05 billion of the parameters, stay in bf16."""
    assert held(run(f"--lora_rank 16 {more}"), "ref_logprob") == pytest.approx({"ref_weights": each}, rel=0.01)


def test_what_a_node_parks_is_of_all_roles() -> None:
    text = COMMAND.format(launcher="train_ppo_ray", reward=1, ref=1, more=f"{ENGINES} --adam_offload")
    found = diagnose(text, {"gpu_mem_gib": 80, "gpus_per_node": 8}, current(), ())
    assert found.estimate is not None
    assert found.estimate.host is not None
    parked = {term.id for phase in found.estimate.host.phases if phase.phase == "actor_update" for term in phase.terms}
    assert {"actor_optimizer", "critic_optimizer"} <= parked


def test_a_card_of_an_engine_is_no_remedy_for_one_that_trains() -> None:
    error = (
        '\ntorch.OutOfMemoryError: CUDA out of memory.\n  File "/x/ppo_actor.py", line 200, in training_step_actor\n'
    )
    text = COMMAND.format(launcher="train_ppo_ray", reward=1, ref=1, more=ENGINES) + error
    found = diagnose(text, {"gpu_mem_gib": 80}, current(), ())
    assert found.phase == "actor_update"
    assert "rollout.gpu_memory_utilization.down" not in {one.lever.slug for one in found.prescriptions}
    refused = {one.lever.slug: one.reason for one in found.not_advised}
    assert refused["rollout.gpu_memory_utilization.down"] == "elsewhere"


@pytest.mark.parametrize(
    ("more", "parted"), [("", True), ("--colocate_actor_ref", False), ("--colocate_critic_reward", False)]
)
def test_to_part_the_roles_is_no_remedy_where_all_are_parted(more: str, parted: bool) -> None:
    lever = current().levers["placement.separate_roles"]
    assert holds(lever.on, run(more, ref=4, reward=2).facts.values) is parted


def test_more_cards_for_every_role_halve_the_shards_of_the_one_that_runs_out() -> None:
    error = (
        '\ntorch.OutOfMemoryError: CUDA out of memory.\n  File "/x/ppo_critic.py", line 200, in training_step_critic\n'
    )
    text = COMMAND.format(launcher="train_ppo_ray", reward=1, ref=1, more=ENGINES) + error
    found = diagnose(text, {"gpu_mem_gib": 48}, current(), ())
    assert found.phase == "critic"
    more = next(one for one in found.prescriptions if one.lever.slug == "hardware.more_gpus")
    assert {change.fact: change.after for change in more.changes}["critic_gpus"] in ("4", 4)


@pytest.mark.parametrize(("apart", "critic"), [("", {"critic"}), ("colocate_actor_ref = False", {"critic"})])
def test_open_reasoner_zero_trains_its_critic_on_other_cards_unless_all_are_together(
    apart: str, critic: set[str]
) -> None:
    """orz/ppo/trainer.py at 3fdd9a0: build_models; playground/orz_32b_ppo.py has colocate_all = False."""
    counts = "\n".join(f"{role}_num_nodes = 32\n{role}_num_gpus_per_node = 1" for role in ("actor", "critic", "ref"))
    text = f"python -m playground.orz_32b_ppo\ncolocate_all = False\n{counts}\n{apart}\npretrain = 'Qwen/Qwen2.5-32B'"
    found = diagnose(text, {"gpu_mem_gib": 80, "n_gpus": 96}, current(), ())
    roles = {phase: {id.partition("_")[0] for id in held(found, phase)} for phase in ("critic", "actor_update")}
    assert roles == {"critic": critic, "actor_update": {"actor"}}


def parked(found: Diagnosis, phase: str = "critic") -> dict[str, str]:
    """What a node keeps on the host of its cards, as the formula says it."""
    assert found.estimate is not None
    assert found.estimate.host is not None
    here = found.estimate.host.phase(phase)
    assert here is not None
    return {term.id: term.how for term in here.terms if term.family == "held"}


def offloaded(counts: dict[str, int], **answers: int) -> Diagnosis:
    roles = " ".join(f"--{role}_num_gpus_per_node {cards}" for role, cards in counts.items())
    text = f"python3 -m openrlhf.cli.train_ppo_ray --pretrain meta-llama/Meta-Llama-3-8B {roles} --zero_stage 3 --adam_offload {ENGINES}"
    return diagnose(text, {"gpu_mem_gib": 80, **answers}, current(), ())


def test_what_a_role_parks_is_sharded_by_its_own_cards() -> None:
    host = parked(offloaded({"actor": 4, "critic": 2}, gpus_per_node=8))
    assert "÷ 4 GPUs × 12 B × 4 GPUs" in host["actor_optimizer"]
    assert "÷ 2 GPUs × 12 B × 2 GPUs" in host["critic_optimizer"]


def test_a_node_parks_no_more_cards_than_it_has() -> None:
    """Eight cards each: on one node stand those that park most, which are as many of the critic or of the actor."""
    host = parked(offloaded({"actor": 8, "critic": 8}, gpus_per_node=8))
    assert len({what.partition("_")[0] for what in host}) == 1
    host = parked(offloaded({"actor": 6, "critic": 2, "ref": 8}, gpus_per_node=8))
    assert {what.partition("_")[0] for what in host} == {"actor", "critic"}


def test_a_cpu_optimizer_keeps_the_gradients_of_the_critic_on_the_host_too() -> None:
    """deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/zero/stage_1_and_2.py:585, stage3.py:1289."""
    found = offloaded({"actor": 4, "critic": 2}, gpus_per_node=8)
    assert "critic_gradients" in parked(found)
    assert set(held(found, "critic")) == {"critic_weights"}
