"""SGLang's second cache in a node's RAM, and what a trainer that starts behind its engines holds there and when."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.units import GIB

RUN = (
    "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --tensor-model-parallel-size 8 "
    "--rollout-num-gpus-per-engine 4 --sglang-mem-fraction-static 0.8 --hf-checkpoint /models/Qwen3-32B --advantage-estimator grpo "
    "--use-kl-loss --optimizer-cpu-offload {more}\nslime 0.3.1, 8x H200, 1TB RAM\n"
)
REFUSED = (
    "ValueError: Not enough host memory available. Requesting 320.00 GB but only have 211.37 GB free. "
    "Please reduce the size of the hierarchical cache."
)
CACHE = "--sglang-enable-hierarchical-cache"


def found(more="", text=""):
    return diagnose(RUN.format(more=more) + text, {}, current(), ())


def term(said, phase, pool="host"):
    return next((one for one in said.estimate.pool(pool).phase(phase).terms if one.id == "host_cache"), None)


def held(said, phase, pool="host"):
    return {one.id for one in said.estimate.pool(pool).phase(phase).terms}


def test_no_cache_stands_there_unless_it_is_asked_for():
    assert term(found(), "rollout") is None
    assert term(found("--sglang-hicache-ratio 2"), "rollout") is None


def test_it_is_twice_the_cache_of_every_card_by_default():
    said = found(CACHE)
    pool = next(one for one in said.estimate.gpu.phase("rollout").terms if one.id == "kv_pool")
    assert term(said, "rollout").bytes == pytest.approx(2 * 8 * pool.bytes, rel=1e-6)
    assert term(found(f"{CACHE} --sglang-hicache-ratio 4"), "rollout").bytes == pytest.approx(
        2 * term(said, "rollout").bytes, rel=1e-6
    )


def test_a_size_outranks_the_ratio_and_is_each_ranks_in_gb():
    assert term(found(f"{CACHE} --sglang-hicache-ratio 4 --sglang-hicache-size 30"), "init").bytes == 8 * 30 * 10**9


@pytest.mark.parametrize(("more", "there"), [("", True), (" --sglang-release-hicache", False)])
def test_it_stays_while_the_engine_sleeps_unless_it_is_given_back(more, there):
    said = found(CACHE + more)
    assert (term(said, "actor_update") is not None) is there
    assert term(said, "rollout") is not None


def test_the_engine_starts_before_the_trainer_holds_anything():
    said = found()
    assert not {"actor_weights", "actor_optimizer", "ref_weights"} & held(said, "init")
    assert {"actor_weights", "actor_optimizer", "ref_weights"} <= held(said, "rollout")
    assert not {"actor_weights", "actor_gradients"} & held(said, "init", "gpu")


def test_a_trainer_that_ends_holds_nothing_while_the_engine_answers():
    said = found("--release-train --save /ckpt --update-weight-transport disk")
    for pool in ("host", "gpu"):
        assert not {"actor_weights", "actor_optimizer", "actor_gradients", "ref_weights"} & held(said, "rollout", pool)
    assert {"actor_weights", "ref_weights"} <= held(said, "actor_update")


def test_a_refused_cache_is_made_smaller_before_anything_else():
    said = found(f"{CACHE} --sglang-hicache-size 40", REFUSED)
    assert (said.kind, said.phase) == ("host_ram", "init")
    first = said.prescriptions[0]
    assert first.lever.slug == "rollout.host_cache.down"
    assert [(one.key, one.before, one.after) for one in first.changes] == [("sglang-hicache-size", "40", "20")]
    assert (first.before.bytes - first.after.bytes) / GIB == pytest.approx(8 * 20 * 10**9 / GIB, abs=0.1)


def test_the_message_alone_tells_of_the_cache():
    said = diagnose(f"verl 0.7 with sglang\n{REFUSED}", {}, current(), ())
    slugs = [one.lever.slug for one in said.prescriptions]
    assert said.facts.values["host_cache"] is True
    assert "rollout.host_cache.off" in slugs


def test_nobody_without_it_is_told_to_leave_it_out():
    text = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."
    assert not [one for one in found("", text).prescriptions if one.lever.slug.startswith("rollout.host_cache")]


@pytest.mark.parametrize(
    ("command", "there"),
    [
        (
            "python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
            "actor_rollout_ref.rollout.name=sglang trainer.n_gpus_per_node=8 actor_rollout_ref.rollout.gpu_memory_utilization=0.5 "
            "+actor_rollout_ref.rollout.engine_kwargs.sglang.enable_hierarchical_cache=True "
            "+actor_rollout_ref.rollout.engine_kwargs.sglang.hicache_size=10",
            8 * 10 * 10**9,
        ),
        (
            "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --tp 4 --mem-fraction-static 0.8 "
            "--enable-hierarchical-cache --hicache-size 10",
            None,
        ),
    ],
)
def test_other_launchers_have_keys_of_their_own(command, there):
    said = diagnose(f"{command}\n8x H100 80GB, verl 0.7", {}, current(), ())
    assert said.facts.values["host_cache_gb"] == 10
    if there:
        assert term(said, "actor_update").bytes == there
