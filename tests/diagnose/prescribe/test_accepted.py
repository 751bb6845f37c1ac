"""What is written is taken by the program that runs, in the version that runs."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from tests.diagnose.prescribe.all_changes import OOM, PHASES, VERL, refused, written


@pytest.mark.parametrize(
    ("program", "version", "heads"),
    [
        # two stand at the top: v0.5.0 trainer/config/sft_trainer.yaml
        (
            "fsdp_sft_trainer data.micro_batch_size_per_gpu=4 model.partial_pretrain=",
            "0.5.0",
            ("data.", "model.", "ulysses_sequence_parallel_size", "use_remove_padding"),
        ),
        ("sft_trainer engine=fsdp model.path=", "0.8.0", ("data.", "model.", "engine.")),
    ],
)
def test_a_supervised_trainer_is_given_its_own_keys_alone(program, version, heads):
    text = f"torchrun --nproc_per_node=8 -m verl.trainer.{program}Qwen/Qwen2.5-14B-Instruct data.max_length=8192\nverl {version}"
    keys = written(text, ("load", "actor_update", "optimizer_step"))
    assert keys
    assert not [key for key in keys if not key.startswith(heads)]


def test_the_older_supervised_trainer_offloads_with_fsdp1_alone():
    text = (
        "torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.micro_batch_size_per_gpu=4 data.max_length=8192 "
        "model.partial_pretrain=Qwen/Qwen2.5-14B-Instruct {more}\nverl 0.5.0"
    )
    keys = written(text.format(more="model.strategy=fsdp"), ("actor_update", "optimizer_step"))
    assert keys["model.fsdp_config.cpu_offload"] == "true"
    assert keys["model.fsdp_config.offload_params"] == "True"
    assert "model.fsdp_config.cpu_offload" not in written(text.format(more=""), ("actor_update", "optimizer_step"))


@pytest.mark.parametrize(
    ("key", "version", "there"),
    [
        ("actor_rollout_ref.actor.freeze_vision_tower", "0.5.0", False),
        ("actor_rollout_ref.actor.freeze_vision_tower", "0.6.0", True),
        ("critic.model.fsdp_config.optimizer_offload", "0.7.0", True),
        ("critic.model.fsdp_config.optimizer_offload", "0.8.0", False),
        ("critic.fsdp.optimizer_offload", "0.8.0", True),
        ("critic.fsdp.optimizer_offload", "0.7.0", False),
    ],
)
def test_a_key_is_written_in_the_versions_that_have_it(key, version, there):
    assert (key in written(VERL.format(algo="gae", more="", version=version))) == there


@pytest.mark.parametrize(
    ("engine", "version", "key"),
    [
        ("vllm", "0.7.0", None),
        ("sglang", "0.7.0", "actor_rollout_ref.rollout.update_weights_bucket_megabytes"),
        ("vllm", "0.8.0", "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes"),
    ],
)
def test_the_sync_bucket_has_the_key_of_its_engine_and_version(engine, version, key):
    text = VERL.format(algo="grpo", more=f"actor_rollout_ref.rollout.name={engine}", version=version)
    facts = diagnose(text + "\n8 x H100 80GB\n" + OOM, {}, current(), ()).facts
    assert facts.keys.get("sync_bucket_mib") == key


def test_megatrons_rows_are_packed_unless_its_own_key_says_otherwise():
    more = "--config-name=ppo_megatron_trainer actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4"
    for version in ("0.5.0", "0.7.0"):
        assert "actor_rollout_ref.model.use_remove_padding" not in written(
            VERL.format(algo="grpo", more=more, version=version)
        )
    off = f"{more} actor_rollout_ref.actor.megatron.use_remove_padding=False"
    keys = written(VERL.format(algo="grpo", more=off, version="0.7.0"))
    assert keys["actor_rollout_ref.actor.megatron.use_remove_padding"] == "True"


SWIFT = (
    "NPROC_PER_NODE=8 swift rlhf --rlhf_type {algo} --model Qwen/Qwen2.5-7B-Instruct --train_type full --deepspeed zero3 "
    "--per_device_train_batch_size 4 --max_length 8192 --max_completion_length 8192 {more}\nms-swift 3.8.0"
)


LLAMAFACTORY = (
    "llamafactory-cli train x.yaml\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: full\n"
    "cutoff_len: 8192\nper_device_train_batch_size: 2\n{more}"
)


OPENRLHF = (
    "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/{model} --actor_num_gpus_per_node 8 --micro_train_batch_size 4 "
    "--prompt_max_len 1024 --generate_max_len 8192 --advantage_estimator group_norm --n_samples_per_prompt 8\nOpenRLHF 0.10.2"
)


UPDATE = ("actor_update", "logprob")


def test_a_fused_loss_is_refused_beside_what_the_trainer_refuses_with_it():
    text = SWIFT.format(algo="grpo", more="--padding_free true --attn_impl flash_attn")
    assert "use_liger_kernel" not in written(text, UPDATE)
    assert refused(text, "logits.chunked") == "GRPO takes one of use_liger_kernel and padding_free."


def test_nothing_is_written_that_the_trainer_refuses_beside_its_fused_loss():
    keys = written(SWIFT.format(algo="grpo", more="--use_liger_kernel true"), UPDATE)
    assert keys
    assert not {"padding_free", "packing", "sequence_parallel_size"} & set(keys)


def test_a_fused_loss_is_written_where_nothing_stands_against_it():
    text = SWIFT.format(algo="grpo", more="--attn_impl flash_attn")
    assert written(text, ("actor_update",))["use_liger_kernel"] == "true"
    assert "use_liger_kernel" not in written(text, ("logprob",))  # whose log-probs do not go through it


def test_what_is_refused_together_is_not_brought_together_by_a_set_of_changes():
    told = diagnose(
        SWIFT.format(algo="grpo", more="") + "\n8 x A10 24GB\n" + OOM, {"phase": "actor_update"}, current(), ()
    )
    keys = {change.key for change in told.together.changes} if told.together else set()
    assert not {"use_liger_kernel", "padding_free"} <= keys
    assert not {"use_liger_kernel", "sequence_parallel_size"} <= keys


def test_rows_are_packed_with_the_attention_that_this_needs():
    keys = written(SWIFT.format(algo="grpo", more=""), UPDATE)
    assert (keys["padding_free"], keys["attn_impl"]) == ("true", "flash_attn")


@pytest.mark.parametrize("algo", ["kto", "orpo", "rm"])
def test_a_preference_loss_is_not_given_the_sequence_parallelism_that_it_refuses(algo):
    assert "sequence_parallel_size" not in written(SWIFT.format(algo=algo, more=""), ("actor_update",))


def test_weights_in_16_bits_are_refused_beside_zero_3_and_written_without():
    zero3 = LLAMAFACTORY.format(more="deepspeed: examples/deepspeed/ds_z3_config.json\n")
    assert "pure_bf16" not in written(zero3, ("load", "actor_update", "optimizer_step"))
    assert "pure_bf16" in written(LLAMAFACTORY.format(more=""), ("load", "actor_update", "optimizer_step"))


@pytest.mark.parametrize(("model", "packed"), [("Qwen2.5-7B-Instruct", True), ("Qwen2.5-VL-7B-Instruct", False)])
def test_samples_with_images_are_not_packed_where_the_trainer_refuses_it(model, packed):
    keys = written(OPENRLHF.format(model=model), UPDATE)
    assert bool({"packing_samples", "ring_attn_size", "use_dynamic_batch"} & set(keys)) == packed


def test_an_offload_that_accumulation_forbids_is_never_written():
    text = (
        "python3 -m verl.trainer.main config=examples/config.yaml worker.actor.model.model_path=Qwen/Qwen2.5-7B-Instruct "
        "worker.actor.fsdp.enable_cpu_offload=false worker.actor.offload.offload_params=false trainer.n_gpus_per_node=8\nEasyR1"
    )
    assert "worker.actor.fsdp.enable_cpu_offload" not in written(text)


def lines_of(text, phase, answers=None):
    """The lines of every patch, new ones first of all."""
    told = diagnose(text + "\n8 x H100 80GB\n" + OOM, {"phase": phase, **(answers or {})}, current(), ())
    return [line.text for one in told.prescriptions for line in one.patch if line.mark == "+"]


@pytest.mark.parametrize("beside", ["", " --ref_reward_offload"])
def test_a_flag_that_takes_no_word_is_given_none(beside):
    new = [line for phase in PHASES for line in lines_of(OPENRLHF.format(model="Qwen2.5-7B-Instruct") + beside, phase)]
    assert [line for line in new if "--adam_offload" in line or "--packing_samples" in line]
    assert not [line for line in new if " true" in line.lower()]


def test_what_must_stand_beside_a_flag_takes_no_word_either():
    text = (
        "ray job submit --address=http://127.0.0.1:8265 -- python3 slime/train.py \\\n   --actor-num-gpus-per-node 8 \\\n"
        "   --hf-checkpoint /root/Qwen3-32B \\\n"
        "   --tensor-model-parallel-size 2 \\\n   --use-dynamic-batch-size \\\n   --max-tokens-per-gpu 8192\n"
    )
    new = " ".join(line for phase in PHASES for line in lines_of(text, phase))
    assert {"--optimizer-cpu-offload", "--use-precision-aware-optimizer"} <= set(new.split())
    assert " true" not in new.lower()


@pytest.mark.parametrize("program", ["train_sft", "train_dpo", "train_rm"])
def test_a_trainer_without_samples_is_given_no_key_of_sampling(program):
    text = (
        f"deepspeed --module openrlhf.cli.{program} --pretrain Qwen/Qwen2.5-7B-Instruct --max_len 8192 --zero_stage 3 "
        "--micro_train_batch_size 4 --train_batch_size 128\nOpenRLHF 0.9.5"
    )
    keys = written(text)
    assert "adam_offload" in keys
    assert not [
        key
        for key in keys
        if key.startswith(("rollout", "vllm", "deepspeed_enable_sleep", "ref_reward", "use_dynamic"))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "swift sft --model Qwen/Qwen3-8B --tuner_type full --per_device_train_batch_size 2 --fsdp fsdp2",
        "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen3-8B --finetuning_type full --fsdp full_shard",
    ],
)
def test_a_run_that_shards_by_one_library_is_not_given_another_beside_it(text: str) -> None:
    assert not [key for key in written(text, ("load", "actor_update", "optimizer_step")) if "deepspeed" in key]
