"""How a change is spelled in the place of what stands there: flags, words, switches, parts of a word."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from tests.diagnose.prescribe.all_changes import OOM, VERL, written


def test_a_key_that_the_trainers_file_does_not_name_is_added_and_not_overridden():
    """volcengine/verl v0.7.0 verl/trainer/config/optim/megatron.yaml: override_optimizer_config is empty"""
    text = (
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator=grpo data.max_prompt_length=1024 "
        "data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8 trainer.nnodes=1 "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4\n"
        "8 x A100 40GB torch.OutOfMemoryError: CUDA out of memory in the actor update\n"
    )
    told = {one.lever.slug: one for one in diagnose(text + "verl 0.7.0", {}, current(), ()).prescriptions}
    lines = {slug: " ".join(line.text for line in one.patch if line.mark == "+") for slug, one in told.items()}
    assert (
        " ++actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=true "
        in lines["offload.optimizer.on"]
    )
    assert "with ++ in front" in told["offload.optimizer.on"].why
    assert (
        " actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform"
        in lines["checkpointing.activation.on"]
    )
    older = {one.lever.slug: one for one in diagnose(text + "verl 0.5.0", {}, current(), ()).prescriptions}
    written = [change.key for one in older.values() for change in one.changes]
    assert not [key for key in written if "override_optimizer_config" in key]


@pytest.mark.parametrize("version", ["0.5.0", "0.7.0", "0.8.0", "0.9.0"])
@pytest.mark.parametrize("phase", ["values", "critic", "actor_update", "logprob", "weight_sync"])
def test_what_is_advised_stands_in_the_patch_of_the_command(version: str, phase: str) -> None:
    text = VERL.format(algo="gae", more="critic.ppo_micro_batch_size_per_gpu=4", version=version)
    told = diagnose(text + "\n8 x H100 80GB\n" + OOM, {"phase": phase}, current(), ())
    for one in told.prescriptions:
        lines = " ".join(line.text for line in one.patch if line.mark == "+")
        missing = [change.key for change in one.changes if one.patch and change.key and f"{change.key}=" not in lines]
        assert not missing, (one.lever.slug, lines)


@pytest.mark.parametrize("phase", ["values", "reward"])
def test_no_flag_of_a_script_and_no_key_of_the_actor_is_written_for_a_pass_of_another_role(phase: str) -> None:
    """Newer critics pack by tokens alone, and ``log_prob_micro_batch_size`` without its path is simpleRL-reason's."""
    keys = written(VERL.format(algo="gae", more="", version="0.8.0"), (phase,))
    assert keys
    assert not [key for key in keys if "log_prob" in key]


def test_a_flag_of_a_script_is_changed_where_it_is_pasted() -> None:
    text = "bash train_grpo_math_tune_ray.sh --model_name Qwen-2.5-7B --log_prob_micro_batch_size 320"
    assert "log_prob_micro_batch_size" in written(text, ("logprob",))


@pytest.mark.parametrize(
    ("present", "after"),
    [
        ("'full_shard auto_wrap'", "'full_shard auto_wrap offload'"),
        ('"full_shard auto_wrap"', '"full_shard auto_wrap offload"'),
        ("full_shard", '"full_shard offload"'),
    ],
)
def test_a_word_keeps_its_other_parts_and_stays_one_word(present: str, after: str) -> None:
    text = f"trl sft --model_name_or_path Qwen/Qwen3-8B --fsdp {present} --per_device_train_batch_size 4\n8 x A100 40GB\n{OOM}"
    told = diagnose(text, {"phase": "optimizer_step"}, current(), ())
    (offload,) = (one for one in told.prescriptions if one.lever.slug == "offload.optimizer.on")
    assert [line.text for line in offload.patch if line.mark == "+"] == [text.split("\n")[0].replace(present, after)]


def test_no_word_is_written_in_the_place_of_a_number() -> None:
    text = (
        "uv run torchrun --nproc-per-node=8 src/prime_rl/trainer/rl/train.py --model.name Qwen/Qwen3-4B --model.seq-len 16384 "
        "--model.ac --model.lora.rank 16\ntorch.OutOfMemoryError: CUDA out of memory.\n8 x H100 80GB, 1 node, 512 GB RAM"
    )
    told = diagnose(text, {"phase": "load", "model": "Qwen2.5-7B-Instruct"}, current(), ())
    (one,) = (one for one in told.prescriptions if one.lever.slug == "peft.qlora")
    assert one.patch == ()


def test_a_batch_that_its_key_cannot_make_smaller_is_left() -> None:
    """Eight of all cards are one prompt of each: the four samples of a prompt stay together."""
    text = (
        "python3 -m verl.trainer.main_ppo data.train_batch_size=256 data.n_samples=4 algorithm.adv_estimator=rloo "
        "actor_rollout_ref.actor.ppo_micro_batch_size=8 reward_model.rm_type=prime trainer.n_gpus_per_node=8 verl 0.1"
    )
    assert "actor_rollout_ref.actor.ppo_micro_batch_size" not in written(text, ("actor_update",))
    larger = text.replace("micro_batch_size=8", "micro_batch_size=32")
    assert written(larger, ("actor_update",))["actor_rollout_ref.actor.ppo_micro_batch_size"] in ("16", "8")


@pytest.mark.parametrize(("present", "after"), [("true", "false"), ("True", "False")])
def test_a_switch_that_turns_something_off_is_turned_off(present: str, after: str) -> None:
    text = (
        "python examples/start_rlvr_pipeline.py --config_name rlvr\npretrain: Qwen/Qwen2.5-7B\nactor_train:\n  model_args:\n"
        f"    disable_gradient_checkpointing: {present}\n    dtype: bf16\n  training_args:\n    per_device_train_batch_size: 1\n"
        "  strategy_args:\n    strategy_name: deepspeed_train\n    strategy_config: ${deepspeed_zero3}\n"
        "  device_mapping: list(range(0,8))\nnum_gpus_per_node: 8\nROLL\n"
    )
    assert written(text, ("actor_update",))["actor_train.model_args.disable_gradient_checkpointing"] == after
