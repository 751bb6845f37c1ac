"""What is written is taken by the program that runs, in the version that runs."""

from __future__ import annotations

from functools import cache

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.trial import written_step

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
    "3.30 GiB is free.\n"
)
PHASES = ("load", "init", "weight_sync", "rollout", "logprob", "critic", "actor_update", "optimizer_step")


def written(text, phases=PHASES, **answers):
    """Every change that is advised in any of the phases, as (key, word)."""
    found = []
    for phase in phases:
        found += advised(text, tuple({"phase": phase, **answers}.items()))
    return dict(found)


@cache
def advised(text, answers):
    told = diagnose(text + "\n8 x H100 80GB\n" + OOM, dict(answers), current(), ())
    groups = [one.changes for one in told.prescriptions] + ([told.together.changes] if told.together else [])
    return tuple((change.key, change.after) for changes in groups for change in changes if change.key and change.fact)


VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator={algo} data.train_batch_size=128 data.max_prompt_length=1024 "
    "data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-32B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 {more} trainer.n_gpus_per_node=8 trainer.nnodes=1\nverl {version}"
)


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


def refused(text, slug, phase="actor_update"):
    told = diagnose(text + "\n8 x H100 80GB\n" + OOM, {"phase": phase}, current(), ())
    return {one.lever.slug: one.why for one in told.not_advised if one.reason == "refused"}.get(slug)


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
    "text",
    [
        "swift sft --model Qwen/Qwen3-8B --tuner_type full --per_device_train_batch_size 2 --fsdp fsdp2",
        "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen3-8B --finetuning_type full --fsdp full_shard",
    ],
)
def test_a_run_that_shards_by_one_library_is_not_given_another_beside_it(text: str) -> None:
    assert not [key for key in written(text, ("load", "actor_update", "optimizer_step")) if "deepspeed" in key]


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
