"""What a traceback proves of how a run is sharded, and what is said where a setting tells otherwise."""

import pytest

TRAINERS = {
    "trl": "from trl import GRPOTrainer, GRPOConfig",
    "llamafactory": "llamafactory-cli train a.yaml",
    "ms-swift": "swift sft",
}


def failed_in(path, started="from trl import GRPOTrainer, GRPOConfig"):
    return (
        f"{started}\nTraceback (most recent call last):\n"
        f'  File "/env/lib/python3.11/site-packages/{path}", line 12, in step\n    work()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    )


@pytest.mark.parametrize("started", TRAINERS.values(), ids=TRAINERS)
@pytest.mark.parametrize(
    ("path", "strategy", "stage"),
    [
        ("deepspeed/runtime/zero/partition_parameters.py", "deepspeed", 3),
        ("deepspeed/runtime/zero/stage_1_and_2.py", "deepspeed", 2),
        ("torch/distributed/fsdp/_flat_param.py", "fsdp", 3),
        ("torch/distributed/fsdp/_fully_shard/_fsdp_param.py", "fsdp2", 3),
        ("torch/nn/modules/linear.py", "ddp", 0),
    ],
)
def test_a_frame_proves_how_the_run_is_sharded(values, started, path, strategy, stage):
    found = values(failed_in(path, started))
    assert (found["strategy"], found["zero_stage"]) == (strategy, stage)


def test_which_of_two_stages_a_frame_does_not_tell(facts, values):
    failed = failed_in("deepspeed/runtime/zero/stage_1_and_2.py")
    assert facts(failed).stated["zero_stage"].origin == "assumed"
    assert values(f"we run ZeRO-1\n{failed}")["zero_stage"] == 1


@pytest.mark.parametrize("told", ["we run deepspeed zero3", "accelerate launch train.py --deepspeed zero3"])
def test_a_stage_that_the_frame_leaves_no_room_for_is_not_taken(facts, told):
    found = facts(f"{told}\n{failed_in('deepspeed/runtime/zero/stage_1_and_2.py')}")
    assert found.values["zero_stage"] == 2
    assert [note for note in found.notes if "code of ZeRO-1 and ZeRO-2" in note]


def test_a_model_that_is_moved_whole_is_not_sharded_whatever_is_told(facts):
    failed = failed_in("transformers/trainer.py").replace("work()", "self._move_model_to_device(model, args.device)")
    found = facts(f"we run deepspeed zero3\n{failed}")
    assert (found.values["strategy"], found.values["zero_stage"]) == ("ddp", 0)
    assert found.notes == (
        "“deepspeed zero3” is told, but line 5 proves otherwise: The Trainer moves the whole model to the card, so neither DeepSpeed nor"
        " FSDP is on. The estimate goes by the line.",
    )


def test_the_run_that_failed_outranks_a_written_setting_and_the_contradiction_is_said(facts):
    found = facts(f"accelerate launch train.py --deepspeed zero2\n{failed_in('deepspeed/runtime/zero/stage3.py')}")
    assert found.values["zero_stage"] == 3
    assert [note for note in found.notes if "deepspeed = zero2" in note and "code of ZeRO-3" in note]


def test_nothing_else_is_taken_from_a_setting_that_is_not_in_force(values):
    told = "from trl import GRPOTrainer\naccelerate launch train.py --deepspeed zero3_offload.json\n"
    moved = failed_in("transformers/trainer.py").replace("work()", "self._move_model_to_device(model, args.device)")
    assert values(told)["optimizer_on_cpu"] is True
    assert not values(told + moved).get("optimizer_on_cpu")
    assert not values(told + moved).get("param_on_cpu")


def test_an_answer_outranks_a_frame(values):
    assert values(failed_in("deepspeed/runtime/zero/stage3.py"), zero_stage=2)["zero_stage"] == 2


def test_frames_of_two_runs_prove_nothing(values):
    failed = failed_in("deepspeed/runtime/zero/stage3.py") + "\n" + failed_in("deepspeed/runtime/zero/stage_1_and_2.py")
    assert values(f"accelerate launch train.py --deepspeed zero2\n{failed}")["zero_stage"] == 2


def test_a_frame_of_the_critic_does_not_tell_how_the_policy_is_sharded(values):
    failed = failed_in("torch/distributed/fsdp/_flat_param.py", "python -m verl.trainer.main_ppo").replace(
        "work()", 'work()\n  File "verl/workers/critic/dp_critic.py", line 90, in update_critic'
    )
    told = "actor_rollout_ref.actor.strategy=fsdp2 critic.strategy=fsdp\n"
    assert values(told + failed)["strategy"] == "fsdp2"


MEGATRON = (
    "megatron/core/transformer/transformer_layer.py",
    "verl/workers/actor/megatron_actor.py",
    "verl/workers/megatron_workers.py",
)


@pytest.mark.parametrize("path", MEGATRON)
def test_a_frame_of_megatron_leaves_no_key_of_another_strategy(facts, path):
    found = facts(failed_in(path, "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo"))
    assert (found.values["strategy"], found.values["zero_stage"]) == ("megatron", 1)
    assert found.keys["optimizer_offload"].startswith("actor_rollout_ref.actor.megatron.")


def test_a_frame_of_the_reference_yields_to_how_the_policy_is_set(values):
    started = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo"
    failed = failed_in(MEGATRON[0], started).replace(
        "work()", 'work()\n  File "verl/workers/engine_workers.py", line 90, in compute_ref_log_prob'
    )
    assert values(failed)["strategy"] == "megatron"
    assert values(f"{failed}\n{started} actor_rollout_ref.actor.strategy=fsdp2")["strategy"] == "fsdp2"


def test_an_import_of_megatron_proves_nothing(values):
    failed = failed_in(MEGATRON[0], "python3 -m verl.trainer.main_ppo").replace("in step", "in <module>")
    assert values(failed).get("strategy") != "megatron"


def test_the_wrapper_of_fsdp_proves_nothing_against_a_run_that_it_does_not_shard(facts):
    failed = failed_in("torch/distributed/fsdp/_flat_param.py")
    found = facts(f"fsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n{failed}")
    assert (found.values["strategy"], found.values["zero_stage"]) == ("ddp", 0)
    assert not found.notes


def test_nothing_is_said_where_setting_and_frame_agree(facts):
    assert not facts(
        f"accelerate launch train.py --deepspeed zero3\n{failed_in('deepspeed/runtime/zero/stage3.py')}"
    ).notes
