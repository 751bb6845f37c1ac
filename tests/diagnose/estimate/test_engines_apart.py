"""Engines on cards of their own, engines that spread experts, and engines of another kind, as launch scripts ask for them."""

import pytest

from diagnose.units import GIB
from tests.runs import run_of

COMMAND = """
python3 -m {main} algorithm.adv_estimator={adv} actor_rollout_ref.model.path={model} \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=1 actor_rollout_ref.rollout.gpu_memory_utilization=0.8 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 trainer.n_gpus_per_node={each} trainer.nnodes={nodes}{more}
"""
DENSE = "Qwen/Qwen2.5-7B-Instruct"


def run(more="", main="verl.trainer.main_ppo", adv="grpo", model=DENSE, each=8, nodes=1, version=None):
    told = {"gpu_mem_gib": 80, **({"framework_version": version} if version else {})}
    text = COMMAND.format(main=main, adv=adv, model=model, each=each, nodes=nodes, more=more)
    return run_of(text, told)


def terms(found, phase, pool="gpu"):
    return {term.id: term.bytes for term in found.estimate.pool(pool).phase(phase).terms}


APART = " actor_rollout_ref.hybrid_engine=False rollout.nnodes={} rollout.n_gpus_per_node={}"


@pytest.mark.parametrize(
    ("nodes", "each", "engine_nodes", "engine_each", "cards", "trains", "machines"),
    [(2, 6, 2, 2, 16, 12, 2), (1, 4, 1, 4, 8, 4, 1), (8, 8, 8, 8, 128, 64, 16), (4, 8, 12, 8, 128, 32, 16)],
)
def test_cards_of_engines_are_not_the_trainers(nodes, each, engine_nodes, engine_each, cards, trains, machines):
    values = run(APART.format(engine_nodes, engine_each), nodes=nodes, each=each).facts.values
    assert (values["n_gpus"], values["trainer_gpus"], values["n_nodes"]) == (cards, trains, machines)


def test_a_pool_without_nodes_leaves_the_engines_where_the_trainer_is():
    values = run(" actor_rollout_ref.rollout.nnodes=0 actor_rollout_ref.rollout.n_gpus_per_node=8").facts.values
    assert (values["n_gpus"], values["rollout_mode"]) == (8, "colocated")


@pytest.mark.parametrize(
    "main", ["verl.experimental.fully_async_policy.fully_async_main", "verl.experimental.one_step_off_policy.main_ppo"]
)
def test_engines_apart_take_nothing_of_the_trainers_cards(main):
    found = run(APART.format(1, 4), main=main, each=4)
    assert found.facts.values["rollout_mode"] == "server"
    assert not {"kv_pool", "engine_weights", "engine_graphs"} & set(terms(found, "rollout"))


def test_what_a_node_parks_is_of_the_cards_that_train():
    more = " actor_rollout_ref.actor.fsdp_config.optimizer_offload=True"
    alone, beside = run(more, each=4), run(more + APART.format(1, 4), each=4)
    assert terms(alone, "rollout", "host")["actor_optimizer"] == terms(beside, "rollout", "host")["actor_optimizer"]


def test_an_engine_spreads_its_experts_over_its_data_parallel_ranks():
    sparse = "Qwen/Qwen3-30B-A3B"
    whole, spread = (
        terms(run(more, model=sparse), "rollout")["engine_weights"]
        for more in (
            "",
            " actor_rollout_ref.rollout.data_parallel_size=8 actor_rollout_ref.rollout.expert_parallel_size=8",
        )
    )
    experts = 2 * 48 * 128 * 3 * 2048 * 768
    assert whole - spread == pytest.approx(experts * 7 / 8)


def test_sglang_takes_its_share_of_what_is_free_before_it_loads():
    vllm, sglang = (terms(run(f" actor_rollout_ref.rollout.name={name}"), "rollout") for name in ("vllm", "sglang"))
    # weights of the trainer, contexts, NCCL and workspaces stand before it
    before = 4 * 7_615_616_512 / 8 + (2 * 0.5 + 0.7 + 0.2) * GIB
    assert sglang["kv_pool"] == pytest.approx(0.8 * (79.1 * GIB - before) - 2 * 7_615_616_512, rel=0.01)
    assert sglang["kv_pool"] < vllm["kv_pool"]


@pytest.mark.parametrize("adv", ["gpg", "opo", "optimal_token_baseline", "one_that_somebody_registered"])
def test_only_one_estimator_has_a_critic(adv):
    assert run(adv=adv).facts.values["has_critic"] is False


@pytest.mark.parametrize(("adv", "told", "has"), [("gae", "False", False), ("grpo", "True", True)])
@pytest.mark.parametrize("first", [True, False])
def test_a_critic_that_is_switched_outranks_the_estimator(adv, told, has, first):
    switch = f" critic.enable={told}"
    text = COMMAND.format(
        main="verl.trainer.main_ppo", adv=adv, model=DENSE, each=8, nodes=1, more="" if first else switch
    )
    text = text.replace("main_ppo", "main_ppo" + switch) if first else text
    assert run_of(text, {"gpu_mem_gib": 80}).facts.values["has_critic"] is has


@pytest.mark.parametrize(
    ("strategy", "version", "offload", "weights", "copy"),
    [
        ("fsdp", "0.7.0", "True", False, True),
        ("fsdp", "0.5.0", "True", True, True),
        ("fsdp", "0.8.0", "True", True, True),
        ("fsdp", "0.7.0", "False", True, True),
        ("fsdp2", "0.7.0", "True", True, False),
        ("fsdp2", "0.8.0", "False", True, False),
    ],
)
def test_what_stands_twice_while_weights_are_handed_over(strategy, version, offload, weights, copy):
    more = f" actor_rollout_ref.actor.strategy={strategy} actor_rollout_ref.actor.fsdp_config.param_offload={offload}"
    held = terms(run(more, version=version), "weight_sync")
    assert ("actor_weights" in held, "state_dict_copy" in held) == (weights, copy)


def test_a_rank_of_megatron_loads_its_own_part_alone():
    more = (
        " --config-name=ppo_megatron_trainer actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2"
        " actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=4"
    )
    now, before = (run(more, nodes=4, version=version) for version in ("0.7.0", "0.6.0"))
    assert terms(now, "load", "host")["loading"] == pytest.approx(8 * 2 * 7_615_616_512 / 8, rel=0.01)
    assert terms(before, "load", "host")["loading"] == 2 * 7_615_616_512
