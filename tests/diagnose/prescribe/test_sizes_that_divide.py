"""Sizes that a trainer or its engine refuses at its start are not advised: groups, copies, heads, steps."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.trial import written_step
from tests.diagnose.prescribe.all_changes import OOM, VERL, refused, written

TRL = (
    "accelerate launch --num_processes 8 grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 2 "
    "--num_generations {n} --gradient_accumulation_steps 4 --max_prompt_length 512 --max_completion_length 2048\n"
    "from trl import GRPOTrainer\ntrl {version}"
)


@pytest.mark.parametrize(("version", "n", "kept"), [("0.16.1", 16, False), ("0.16.1", 8, True), ("0.17.0", 16, True)])
def test_a_smaller_pass_still_holds_whole_groups_where_the_trainer_asks_for_them(version, n, kept):
    text = TRL.format(n=n, version=version)
    assert ("per_device_train_batch_size" in written(text, ("actor_update",))) == kept
    if not kept:
        assert refused(text, "batch.micro.down") == "8 rows hold no whole number of groups of 16 samples."


def test_fewer_samples_leave_no_rest_of_a_mini_batch():
    text = VERL.replace("train_batch_size=128", "train_batch_size=256").format(
        algo="grpo",
        version="0.7.0",
        more="actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.rollout.n=5",
    )
    uneven = text.replace("micro_batch_size_per_gpu=2", "micro_batch_size_per_gpu=80")
    assert "actor_rollout_ref.rollout.n" not in written(uneven, ("rollout", "actor_update"))
    assert refused(uneven, "rollout.n.down") == "A mini batch of 64 rows on each rank is no multiple of 80."


@pytest.mark.parametrize(("version", "kept"), [("0.6.0", False), ("0.7.0", True)])
def test_a_step_of_the_engine_holds_a_row_where_the_trainer_asks_for_it(version, kept):
    told = diagnose(VERL.format(algo="grpo", more="", version=version) + "\n8 x H100 80GB\n" + OOM, {}, current(), ())
    run = Situation(told.facts, told.estimate, told.kind, "init", "gpu", told.paste, current().fallback)
    lever = current().levers["rollout.max_num_batched_tokens.down"]
    assert (written_step(lever, run, {"max_num_batched_tokens": 4096}) is not None) == kept
    assert written_step(lever, run, {"max_num_batched_tokens": 6144}) is not None


def test_sizes_that_cut_the_cards_divide_them_together():
    more = (
        "--config-name=ppo_megatron_trainer actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 "
        "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=4"
    )
    keys = written(VERL.format(algo="grpo", more=more, version="0.7.0"))
    assert "actor_rollout_ref.actor.megatron.context_parallel_size" not in keys
    assert "actor_rollout_ref.actor.megatron.tensor_model_parallel_size" not in keys


def test_a_smaller_pass_holds_whole_groups_also_where_neither_cards_nor_model_are_told():
    text = (
        "args = GRPOConfig(per_device_train_batch_size=3, num_generations=3, max_completion_length=8)\n"
        "from trl import GRPOTrainer\ntrl 0.29.0\nOOM in the update"
    )
    told = diagnose(text, {}, current(), ())
    assert "3 rows hold no whole number of groups of 2 samples." in {one.why for one in told.not_advised}
    smaller = next(one for one in told.prescriptions if one.lever.slug == "batch.micro.down")
    assert {change.key: change.after for change in smaller.changes} == {
        "per_device_train_batch_size": "1",
        "gradient_accumulation_steps": "3",
    }


def test_a_size_that_a_variable_holds_gets_no_second_key_beside_it():
    text = (
        "python3 -m verl.trainer.main_ppo data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
        "actor_rollout_ref.actor.ppo_micro_batch_size={} trainer.n_gpus_per_node=4 trainer.nnodes=1\n"
        "CUDA out of memory in update_policy"
    )
    own, variable = (diagnose(text.format(value), {}, current(), ()).prescriptions for value in ("16", "$MICRO"))
    assert [change.key for one in own if one.lever.slug == "batch.micro.down" for change in one.changes]
    assert not [change.key for one in variable if one.lever.slug == "batch.micro.down" for change in one.changes]


ORLHF = (
    "8 x A100 80GB\nOpenRLHF 0.9.5\npython3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 "
    "--vllm_num_engines {engines} --vllm_tensor_parallel_size {ranks} --colocate_all_models --vllm_gpu_memory_utilization 0.9 "
    "--pretrain Qwen/Qwen2.5-32B-Instruct --zero_stage 3 --bf16\n(EngineCore_0 pid=7) " + OOM
)


def test_more_cards_for_each_engine_leave_fewer_engines_on_the_same_cards():
    lever = current().levers["rollout.tensor_parallel.up"]
    told = diagnose(ORLHF.format(engines=8, ranks=1), {}, current(), ())
    run = Situation(told.facts, told.estimate, told.kind, "init", "gpu", told.paste, current().fallback)
    made = written_step(lever, run, {"rollout_tp": 2})
    assert made is not None
    assert {change.key: change.after for change in made.changes} == {
        "vllm_tensor_parallel_size": "2",
        "vllm_num_engines": "4",
    }
    odd = diagnose(ORLHF.format(engines=1, ranks=4), {}, current(), ())
    run = Situation(odd.facts, odd.estimate, odd.kind, "init", "gpu", odd.paste, current().fallback)
    assert written_step(lever, run, {"rollout_tp": 8}) is None


SLIME = (
    "slime 0.3\n8 x H100 80GB\npython3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate "
    "--hf-checkpoint Qwen/Qwen3-30B-A3B --tensor-model-parallel-size 4 --expert-tensor-parallel-size 1 "
    "--expert-model-parallel-size {ep} --pipeline-model-parallel-size 1 --max-tokens-per-gpu 20480 --use-dynamic-batch-size "
    "--rollout-max-response-len 16384\n" + OOM
)


def test_a_trainer_s_ranks_have_whole_heads_of_key_and_value():
    keys = written(SLIME.format(ep=8), ("actor_update", "optimizer_step"))  # 32 heads, of which key and value have 4
    assert "tensor-model-parallel-size" not in keys


def test_copies_of_all_experts_divide_the_cards():
    lever = current().levers["shard.pipeline.up"]
    for ep, kept in ((8, False), (4, True)):
        told = diagnose(SLIME.format(ep=ep), {}, current(), ())
        run = Situation(told.facts, told.estimate, told.kind, "actor_update", "gpu", told.paste, current().fallback)
        assert (written_step(lever, run, {"pp": 2}) is not None) == kept


@pytest.mark.parametrize(("core", "splits"), [("megatron-core==0.15.2", False), ("mcore 0.16.0", True), ("", False)])
def test_ranks_share_heads_of_key_and_value_where_megatron_takes_it(core, splits):
    """NVIDIA/Megatron-LM core_v0.15.0 and core_v0.16.0 megatron/core/transformer/transformer_config.py: num_query_groups"""
    text = (
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator=grpo data.max_prompt_length=1024 "
        "data.max_response_length=8192 actor_rollout_ref.model.path=Qwen/Qwen2.5-3B-Instruct trainer.n_gpus_per_node=8 trainer.nnodes=1 "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4\nverl 0.7.0\n"
    )
    key = "actor_rollout_ref.actor.megatron.tensor_model_parallel_size"
    assert (key in written(text + core, ("actor_update",))) is splits
