"""A change is written in the keys of the sharding that runs, with all keys that the framework demands beside it."""

from __future__ import annotations

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.patch import patch
from diagnose.types import Change

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
    "3.30 GiB is free."
)
VERL = (
    "python3 -m verl.trainer.main_ppo {config} algorithm.adv_estimator={algo} data.train_batch_size=128 data.max_prompt_length=1024 "
    "data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-32B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 {more} trainer.n_gpus_per_node=8 trainer.nnodes=2\n"
    "16 x H100 80GB, verl 0.6.0\n"
)
MEGATRON_VERL = VERL.format(
    config="--config-name=ppo_megatron_trainer.yaml",
    algo="gae",
    more="actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4",
)
FSDP_VERL = VERL.format(config="", algo="gae", more="")
MEGATRON_SWIFT = (
    "NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 --micro_batch_size 4 "
    "--num_generations 8 --max_length 4096 --max_completion_length 8192 --use_vllm true --vllm_mode colocate --sleep_level 1\n"
    "8 x H100 80GB, one node\n"
)
SLIME = (
    "ray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint /root/Qwen3-4B "
    "--rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 16384 --tensor-model-parallel-size 1 "
    "--use-dynamic-batch-size --max-tokens-per-gpu 20480 --sglang-mem-fraction-static 0.7 slime\n8 x H100 80GB\n"
)
NEMO = (
    "uv run ./examples/run_grpo_math.py --config examples/configs/grpo_math_1B_megatron.yaml policy.model_name=Qwen/Qwen2.5-7B-Instruct "
    "cluster.gpus_per_node=8 cluster.num_nodes=2 policy.megatron_cfg.enabled=true policy.train_micro_batch_size=4 "
    "policy.max_total_sequence_length=8192\nNeMo-RL, 16 x H100 80GB\n"
)
SKYRL = (
    "uv run -m skyrl_train.entrypoints.main_base trainer.strategy={strategy} trainer.policy.model.path=Qwen/Qwen2.5-7B-Instruct "
    "trainer.placement.policy_num_gpus_per_node=8 trainer.micro_train_batch_size_per_gpu=4 trainer.max_prompt_length=2048 "
    "generator.sampling_params.max_generate_length=8192\n8 x H100 80GB\n"
)
PHASES = ("load", "weight_sync", "rollout", "logprob", "critic", "actor_update", "optimizer_step")
FSDP_WORDS = ("fsdp", "dtensor", "optim.optimizer", "enable_gradient_checkpointing", "enable_activation_offload")
MEGATRON_WORDS = ("megatron", "recompute")


def changes(text, phase):
    found = diagnose(text + OOM, {"phase": phase}, current(), ())
    several = found.together.changes if found.together else ()
    return found, [change for one in found.prescriptions for change in one.changes] + list(several)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("text", [MEGATRON_VERL, MEGATRON_SWIFT, SLIME, NEMO, SKYRL.format(strategy="megatron")])
def test_no_key_of_fsdp_is_written_for_megatron(text, phase):
    found, written = changes(text, phase)
    assert found.facts.values["strategy"] == "megatron"
    assert not [change.key for change in written if any(word in change.key for word in FSDP_WORDS)]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("text", [FSDP_VERL, SKYRL.format(strategy="fsdp2")])
def test_no_key_of_megatron_is_written_for_fsdp(text, phase):
    _, written = changes(text, phase)
    assert written
    assert not [change.key for change in written if any(word in change.key for word in MEGATRON_WORDS)]


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (MEGATRON_VERL, "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_"),
        (MEGATRON_SWIFT, "recompute_"),
        (SLIME, "recompute-"),
    ],
)
def test_full_recomputation_comes_with_its_method_and_its_layers(text, head):
    found, _ = changes(text, "actor_update")
    lever = next(one for one in found.prescriptions if one.lever.slug == "checkpointing.activation.on")
    wanted = {"granularity": "full", "method": "uniform", "num_layers": "1"}
    assert {change.key: change.after for change in lever.changes} == {
        head + (name.replace("_", "-") if "-" in head else name): word for name, word in wanted.items()
    }


@pytest.mark.parametrize(
    ("text", "new", "beside"),
    [
        (SLIME, "--colocate", "--recompute-method block --recompute-num-layers 4"),
        (SLIME, "--colocate", "--recompute_method block --recompute_num_layers 4"),
        (
            MEGATRON_VERL,
            "trainer.nnodes=2",
            "recompute_method=block override_transformer_config.recompute_num_layers=4",
        ),
    ],
)
def test_what_stands_beside_a_key_already_is_not_written_again(text, new, beside):
    found, _ = changes(text.replace(new, f"{new} {beside}"), "actor_update")
    lever = next(one for one in found.prescriptions if one.lever.slug == "checkpointing.activation.on")
    assert [change.key[-11:] for change in lever.changes] == ["granularity"]


def test_what_stands_unset_beside_a_key_is_set_in_its_place():
    head = "actor_rollout_ref.actor.megatron.override_transformer_config."
    text = MEGATRON_VERL.replace("trainer.nnodes=2", f"{head}recompute_method=null trainer.nnodes=2")
    found, _ = changes(text, "actor_update")
    lever = next(one for one in found.prescriptions if one.lever.slug == "checkpointing.activation.on")
    method = next(change for change in lever.changes if change.key == head + "recompute_method")
    assert (method.before, method.after) == ("null", "uniform")
    assert method.span is not None


def test_megatron_keeps_all_activations_unless_it_is_told_to_recompute():
    found, _ = changes(MEGATRON_VERL, "actor_update")
    assert found.facts.values["gradient_checkpointing"] is False
    told = MEGATRON_VERL.replace(
        "trainer.nnodes", "actor_rollout_ref.model.enable_gradient_checkpointing=True trainer.nnodes"
    )
    assert changes(told, "actor_update")[0].facts.values["gradient_checkpointing"] is False
    assert changes(FSDP_VERL, "actor_update")[0].facts.values["gradient_checkpointing"] is True


def test_parallel_sizes_divide_the_cards_that_train():
    trainer = {"framework": "roll", "strategy": "megatron", "trainer_gpus": 16, "tp": 1, "model": "Qwen2.5-7B-Instruct"}
    given = {**trainer, "oom_kind": "gpu_oom", "phase": "actor_update", "gpu_model": "H20", "gpu_mem_gib": 96}
    found = diagnose("", {**given, "max_length": 8192, "micro_batch": 4}, current(), ())
    assert "shard.model_parallel.up" in [one.lever.slug for one in found.prescriptions]


LLAMAFACTORY = """
stage: dpo
finetuning_type: full
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
{deepspeed}cutoff_len: 4096
per_device_train_batch_size: 2
bf16: true
llamafactory-cli train run.yaml
8 x A100 80GB, one node
"""


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ("examples/deepspeed/ds_z2_config.json", "examples/deepspeed"),
        ("/data/me/ds_z2_config.json", "‹path›"),  # as the paste is shown
        ("/data/me/mine_zero2.json", "examples/deepspeed"),
        ("", "examples/deepspeed"),
    ],
)
def test_a_file_of_the_framework_is_named_with_its_folder(given, folder):
    found, _ = changes(LLAMAFACTORY.format(deepspeed=f"deepspeed: {given}\n" if given else ""), "actor_update")
    new = {
        one.lever.slug: one.changes[0].after
        for one in found.prescriptions
        if one.changes and one.changes[0].key == "deepspeed"
    }
    assert new["shard.zero_stage.up"] == f"{folder}/ds_z3_config.json"
    if given:
        assert new["offload.optimizer.on"] == f"{folder}/ds_z2_offload_config.json"


# verl's tags: git grep of each key's last word in verl/workers and verl/trainer/config
SINCE = {
    "actor_rollout_ref.model.lora_rank": "0.4",
    "actor_rollout_ref.model.enable_activation_offload": "0.4",
    "actor_rollout_ref.model.use_fused_kernels": "0.4",
    "actor_rollout_ref.actor.optim.optimizer": "0.6.1",
    "actor_rollout_ref.actor.optim.override_optimizer_config": "0.6.1",
}


@pytest.mark.parametrize("phase", ["logprob", "actor_update", "optimizer_step"])
@pytest.mark.parametrize(
    ("version", "unknown"), [("0.3.0", set(SINCE)), ("0.5.0", {k for k in SINCE if SINCE[k] > "0.5"})]
)
def test_no_key_is_written_that_came_with_a_later_version(version, unknown, phase):
    _, written = changes(FSDP_VERL.replace("verl 0.6.0", f"verl {version}"), phase)
    assert written
    assert not {change.key for change in written} & unknown


def test_a_frozen_fork_gets_no_key_of_a_later_base():
    frame = '  File "/root/TinyZero/verl/workers/actor/dp_actor.py", line 146, in _optimizer_step\n'
    _, written = changes(FSDP_VERL.replace(", verl 0.6.0\n", "\n") + frame, "optimizer_step")
    assert written
    assert not {change.key for change in written} & set(SINCE)


def test_another_optimizer_is_written_with_the_module_that_holds_it():
    found, _ = changes(FSDP_VERL.replace("verl 0.6.0", "verl 0.7.0"), "optimizer_step")
    given = next(one for one in found.prescriptions if one.lever.slug == "precision.low_bit_optimizer")
    assert {change.key.rsplit(".", 1)[-1]: change.after for change in given.changes} == {
        "optimizer": "AdamW8bit",
        "optimizer_impl": "bitsandbytes.optim",
    }


TRL = (
    "trl=={version}\naccelerate launch --num_processes 4 --config_file zero2.yaml grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct "
    "--per_device_train_batch_size 8 --num_generations 8 --max_completion_length 4096 --bf16 true\nfrom trl import GRPOTrainer\n"
    "4 x A100 80GB\n"
)


@pytest.mark.parametrize(
    ("version", "right", "wrong"),
    [
        (
            "0.16.0",
            {"precision": "torch_dtype"},
            {"dtype", "use_liger_kernel", "use_liger_loss", "activation_offloading"},
        ),
        (
            "0.22.0",
            {"precision": "torch_dtype", "logits_chunked": "use_liger_loss"},
            {"dtype", "use_liger_kernel", "activation_offloading"},
        ),
        (
            "0.29.0",
            {"precision": "dtype", "logits_chunked": "use_liger_kernel"},
            {"torch_dtype", "use_liger_loss", "activation_offloading"},
        ),
    ],
)
def test_an_argument_has_the_name_of_its_release_and_of_its_trainer(version, right, wrong):
    found, written = changes(TRL.format(version=version), "actor_update")
    assert found.facts.values["algo"] == "grpo"
    assert {fact: found.facts.keys.get(fact) for fact in right} == right
    assert not {change.key for change in written} & wrong


FILE = """
{
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": %s,
    "overlap_comm": true,
    "offload_optimizer": {
      "device": "cpu"
    }
  },
  "train_micro_batch_size_per_gpu": "auto"
}
8 x A100 40GB
"""
OWN_FILE = {
    "ms-swift": "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full --deepspeed my_z{}.json --max_length 1024",
    "trl": "trl sft --model_name_or_path Qwen/Qwen2.5-7B-Instruct --deepspeed my_z{}.json --max_length 1024 --bf16 true",
    "llamafactory": "llamafactory-cli train --stage sft --do_train true --finetuning_type full --deepspeed my_z{}.json "
    "--model_name_or_path Qwen/Qwen2.5-7B-Instruct --cutoff_len 1024 --bf16 true",
    "plain": "deepspeed train.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --deepspeed my_z{}.json --bf16 true",
}


@pytest.mark.parametrize("trainer", OWN_FILE)
def test_a_file_of_deepspeeds_that_is_shown_gets_its_own_numbers(trainer):
    found, _ = changes(OWN_FILE[trainer].format(2) + FILE % 2, "actor_update")
    made = next(one for one in found.prescriptions if one.lever.slug == "shard.zero_stage.up")
    assert ("zero_optimization.stage", "2", "3") in {(one.key, one.before, one.after) for one in made.changes}
    assert '    "stage": 3,' in [line.text for line in made.patch if line.mark == "+"]


@pytest.mark.parametrize("trainer", ["ms-swift", "trl", "llamafactory"])
def test_a_smaller_bucket_goes_into_the_file_beside_the_stage(trainer):
    text = OWN_FILE[trainer].format(2) + FILE % 2
    facts = read_facts(read(text), {}, current())
    paste, framework = read(text), facts.framework
    new = Change("reduce_bucket", "zero_optimization.reduce_bucket_size", None, "50000000")
    lines = [line.text for line in patch(paste, (new,), framework) if line.mark == "+"]
    assert lines == ['    "reduce_bucket_size": 50000000,']


@pytest.mark.parametrize("program", ["trl sft", "deepspeed train.py"])
def test_buckets_are_advised_with_figures_where_the_file_is_shown_and_not_where_nothing_is_known_of_them(program):
    command = (
        f"{program} --model_name_or_path Qwen/Qwen2.5-7B-Instruct --use_peft true --lora_r 16 --deepspeed my_z2.json --bf16 true "
        "--per_device_train_batch_size 1 --max_length 2048 --gradient_checkpointing true --dtype bfloat16\n"
    )
    file = '{\n  "zero_optimization": {\n    "stage": 2,\n    "overlap_comm": true\n  }\n}\n'
    oom = "8 x RTX 4090 24GB\n" + OOM.replace("79.11", "23.64").replace("5.80", "1.32").replace("3.30", "0.60")
    shown = diagnose(command + file + oom, {"phase": "actor_update"}, current(), ())
    given = next(one for one in shown.prescriptions if one.lever.slug == "shard.zero_bucket.down")
    assert given.after.bytes < given.before.bytes - 10**9
    assert '    "reduce_bucket_size": 50000000' in [line.text for line in given.patch if line.mark == "+"]
    assert all(one.before != "true" or one.after in ("true", "false") for p in shown.prescriptions for one in p.changes)
    named = diagnose(command + oom, {"phase": "actor_update"}, current(), ())
    assert "shard.zero_bucket.down" not in {one.lever.slug for one in named.prescriptions}


SUPERVISED_VERL = (
    "torchrun --nproc_per_node=8 --nnodes=2 -m verl.trainer.sft_trainer engine=megatron engine.tensor_model_parallel_size=2 "
    "engine.pipeline_model_parallel_size=1 engine.expert_model_parallel_size={ep} data.use_dynamic_bsz=False data.max_length=4096 "
    "data.micro_batch_size_per_gpu=1 model.path=Qwen/{model} {more}\n16 x H100 80GB\n"
)


def test_supervised_training_of_verl_is_split_by_the_keys_of_its_engine():
    text = SUPERVISED_VERL.format(ep=1, model="Qwen3-30B-A3B", more="")
    found, _ = changes(text, "optimizer_step")
    split = {
        change.key: change.after for one in found.prescriptions for change in one.changes if change.fact in ("tp", "pp")
    }
    assert split == {"engine.tensor_model_parallel_size": "4", "engine.pipeline_model_parallel_size": "2"}


def test_supervised_training_of_verl_that_recomputes_is_read():
    more = "engine.override_transformer_config.recompute_granularity=full"
    found, _ = changes(SUPERVISED_VERL.format(ep=1, model="Qwen3-8B", more=more), "actor_update")
    assert found.facts.values["gradient_checkpointing"] is True


def test_layers_that_do_not_divide_are_not_cut_into_stages():
    text = SLIME.replace("Qwen3-4B", "DeepSeek-V3") + "--pipeline-model-parallel-size 1\n"  # 61 layers
    found, _ = changes(text, "actor_update")
    assert "shard.pipeline.up" not in [one.lever.slug for one in found.prescriptions]


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (
            MEGATRON_VERL + "actor_rollout_ref.actor.megatron.optimizer_offload=True\n",
            "actor_rollout_ref.actor.optim.override_optimizer_config.",
        ),
        (SKYRL.format(strategy="megatron"), "trainer.policy.megatron_config.optimizer_config_kwargs."),
    ],
)
def test_what_is_offloaded_between_the_phases_may_stay_on_the_host_in_the_update(text, head):
    found, _ = changes(text, "optimizer_step")
    lever = next(one for one in found.prescriptions if one.lever.slug == "offload.optimizer.step.on")
    wanted = {
        "optimizer_cpu_offload": "true",
        "optimizer_offload_fraction": "1.0",
        "use_precision_aware_optimizer": "true",
    }
    assert {change.key: change.after for change in lever.changes} == {
        head + name: word for name, word in wanted.items()
    }


def test_nothing_stays_on_the_host_in_the_update_where_the_optimizer_is_there_already():
    text = SKYRL.format(strategy="megatron").replace(
        "trainer.micro_train",
        "trainer.policy.megatron_config.optimizer_config_kwargs.optimizer_cpu_offload=true trainer.micro_train",
    )
    found, _ = changes(text, "optimizer_step")
    assert "offload.optimizer.step.on" not in [one.lever.slug for one in found.prescriptions]
