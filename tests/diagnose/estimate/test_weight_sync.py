"""What a rank gathers under ZeRO-3 to hand its weights to the engine, by version, way of training and place of the engine."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.terms_held import held
from diagnose.estimate.terms_sync import sync_transient
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import PhaseEstimate
from diagnose.units import GIB

CARD = tomllib.loads((Path(__file__).parents[2] / "data" / "trainers" / "card.toml").read_text(encoding="utf-8"))
WHOLE = 2 * 32.76e9 / GIB
RUN = """
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB.
ms-swift=={version}
NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-32B-Instruct --train_type {how} --deepspeed {deepspeed} \\
    --use_vllm true --vllm_mode {mode}{more}
"""
IN_PARTS = " --move_model_batches 16"
SERVED = "--vllm_server_host 10.0.0.2"


def _run(version, how="lora", mode="colocate", more="", deepspeed="zero3"):
    text = RUN.format(version=version, how=how, mode=mode, more=more, deepspeed=deepspeed)
    return diagnose(text, {"phase": "weight_sync"}, current(), ())


def _gathered(*args, **more):
    phase = _run(*args, **more).estimate.gpu.phase("weight_sync")
    return sum(term.bytes for term in phase.terms if term.id == "sync_transient") / GIB


@pytest.mark.parametrize("mode", ["colocate", "server"])
@pytest.mark.parametrize("version", ["3.7.0", "3.11.0", "3.12.2", "3.12.6", "4.1.0"])
def test_adapters_are_merged_into_a_whole_model_wherever_the_engine_is(version, mode):
    """137 GiB of a 72B on each training card, with a server: modelscope/ms-swift issue 4023."""
    assert _gathered(version, mode=mode) == pytest.approx(WHOLE, rel=0.01)


@pytest.mark.parametrize("mode", ["colocate", "server"])
@pytest.mark.parametrize(
    ("version", "whole"), [("3.11.0", False), ("3.12.1", True), ("3.12.5", True), ("3.12.6", False)]
)
def test_parts_help_where_each_is_gathered_by_itself(version, whole, mode):
    """One gather goes around all parts until 3.12.6: modelscope/ms-swift pull request 8091."""
    gathered = _gathered(version, mode=mode, more=IN_PARTS)
    assert gathered == pytest.approx(WHOLE, rel=0.01) if whole else gathered < 5


def test_parts_are_not_advised_where_they_have_no_effect():
    advised = {one.lever.slug for one in _run("3.12.2").prescriptions}
    assert "sync.gather_batched" not in advised
    assert "upgrade.framework" in advised
    assert "sync.gather_batched" in {one.lever.slug for one in _run("3.12.6").prescriptions}


@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_full_training_went_one_parameter_at_a_time_until_3_10(mode):
    assert _gathered("3.9.3", how="full", mode=mode) < 5
    assert _gathered("3.10.0", how="full", mode=mode) == pytest.approx(WHOLE, rel=0.01)


def test_before_3_5_a_server_got_a_whole_model_of_adapters_and_single_parameters_else():
    """TRL v0.16.1 trainer/grpo_trainer.py: _move_model_to_vllm."""
    assert _gathered("3.4.0", more=f"{IN_PARTS} {SERVED}") == pytest.approx(WHOLE, rel=0.01)
    assert _gathered("3.4.0", how="full", more=f" {SERVED}") < 5


def test_stages_that_keep_whole_weights_gather_nothing():
    assert _gathered("3.11.0", deepspeed="zero2") == 0


ADAPTERS = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_response_length=4096 actor_rollout_ref.model.lora_rank=64 "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.rollout.name=vllm "
    "trainer.n_gpus_per_node=4 trainer.nnodes=1 {}\nverl {}"
)
FROM_DISK = "actor_rollout_ref.rollout.load_format=safetensors"
LAYERED = f"{FROM_DISK} actor_rollout_ref.rollout.layered_summon=True"
FSDP2 = "actor_rollout_ref.actor.strategy=fsdp2"


def _sync(more: str, version: str) -> tuple[PhaseEstimate, PhaseEstimate]:
    found = diagnose(ADAPTERS.format(more, version), {"gpu_mem_gib": 80}, current(), ()).estimate
    assert found.gpu is not None
    assert found.host is not None
    card, node = found.gpu.phase("weight_sync"), found.host.phase("weight_sync")
    assert card is not None
    assert node is not None
    return card, node


@pytest.mark.parametrize(
    ("more", "version", "copies"),
    [
        ("", "0.5.0", 8),
        ("", "0.8.0", 8),
        (FSDP2, "0.5.0", 4),
        (FROM_DISK, "0.5.0", 0),  # asleep at level 1 the engine keeps its base
        (FROM_DISK, "0.7.0", 8),  # at level 2 it is sent again each time
        (FROM_DISK, "0.8.0", 0),
        (LAYERED, "0.7.0", 0),
        ("", "0.3.0", 0),
    ],
)
def test_a_base_that_the_engine_lacks_stands_on_the_host_of_every_rank(more: str, version: str, copies: int) -> None:
    """verl issue 2950: 226.2 GiB in four workers, 7.6 billion of 4 bytes twice in each."""
    _, node = _sync(more, version)
    found = sum(term.bytes for term in node.terms if term.id == "handed_over")
    assert found == pytest.approx(copies * 4 * 7_615_616_512, rel=0.001)


def test_adapters_of_fsdp1_are_handed_over_with_the_whole_model_on_the_card() -> None:
    def gathered(more: str, version: str) -> float:
        return sum(term.bytes for term in _sync(more, version)[0].terms if term.id == "sync_transient")

    whole = 0.75 * 4 * 7_615_616_512
    assert gathered("", "0.8.0") == pytest.approx(whole, rel=0.001)
    # before 0.8 the engine’s 3.8 billion parameters wake after it
    assert gathered("", "0.7.0") == pytest.approx(whole - 7_615_616_512, rel=0.01)
    assert gathered(LAYERED, "0.8.0") < whole / 3
    assert gathered(FSDP2, "0.8.0") < whole / 3


def test_a_hand_over_by_layers_is_advised_with_the_key_that_it_needs() -> None:
    ray = (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.1, ID: aa)"
        " where the task was running was 246.4GB / 251.5GB (0.98), which exceeds the memory usage threshold of 0.95."
    )
    found = diagnose(f"{ADAPTERS.format('', '0.5.0')}, 4 x A100 80GB\n{ray}", {}, current(), ())
    advised = next(one for one in found.prescriptions if one.lever.slug == "sync.layered")
    assert [(change.key.rsplit(".", 1)[1], change.after) for change in advised.changes] == [
        ("layered_summon", "true"),
        ("load_format", "safetensors"),
    ]
    assert advised.after is not None
    assert advised.before is not None
    assert advised.after.bytes < advised.before.bytes / 2


FULL = ADAPTERS.replace("actor_rollout_ref.model.lora_rank=64 ", "")
TABLE = 152064 * 3584


@pytest.mark.parametrize(
    ("version", "buckets", "each"), [("0.7.1", 2, 6), ("0.8.0", 1, 6), ("0.9.0", 1, 4)], ids=lambda value: str(value)
)
def test_the_largest_weight_is_whole_beside_the_buffer_that_the_engine_reads(
    version: str, buckets: int, each: int
) -> None:
    """verl workers/engine/fsdp/transformer_impl.py: get_per_tensor_param; bucketed_weight_transfer.py."""
    found = diagnose(FULL.format(FSDP2, version), {"gpu_mem_gib": 80}, current(), ()).estimate.gpu
    assert found is not None
    sync = next(term for term in found.phase("weight_sync").terms if term.id == "sync_transient")
    assert sync.bytes == pytest.approx(buckets * 2 * GIB + each * TABLE)


def test_a_state_dict_of_fsdp_1_may_take_more_than_the_buffer() -> None:
    def taken(more: str) -> int:
        found = diagnose(FULL.format(more, "0.9.0"), {"gpu_mem_gib": 80}, current(), ()).estimate.gpu
        assert found is not None
        return next(term.bytes for term in found.phase("weight_sync").terms if term.id == "sync_transient")

    bucket = "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes"
    assert taken(f"{bucket}=512") == pytest.approx(4 * (2 * TABLE + 3584) + 4 * TABLE)
    assert taken(f"{bucket}=8192") == pytest.approx(8 * GIB + 4 * TABLE)


@pytest.mark.parametrize(
    "point", [one for one in CARD["point"] if "sync_one_by_one" in one.get("after", ())], ids=lambda point: point["id"]
)
def test_weights_that_are_put_together_one_by_one_take_what_a_real_card_measured(point: dict[str, Any]) -> None:
    """FSDP 2 of 0.5B to 8B, each weight whole in fp32 and cast, beside weights and Adam's state."""
    plan = plan_of(diagnose(point["config"], point["answers"], current(), ()).facts, None)
    one_by_one = replace(plan, does={**plan.does, "sync_transient": "fsdp_full_tensor"})
    stands = [held(plan, what) for what in ("actor_weights", "actor_optimizer")]
    found = sum(term.bytes for term in (*stands, *sync_transient(one_by_one)))
    assert found == pytest.approx(point["after"]["sync_one_by_one"], rel=0.05)
