"""A change is written by a key of the program that runs, as its release takes it, and with all that it turns on or off."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis, Prescription


def told(text: str) -> Diagnosis:
    return diagnose(text, {}, current(), ())


def given(found: Diagnosis, lever: str) -> Prescription:
    return next(one for one in found.prescriptions if one.lever.slug == lever)


def levers(found: Diagnosis) -> list[str]:
    return [one.lever.slug for one in found.prescriptions]


OUT = "It dies in the actor update:\ntorch.OutOfMemoryError: CUDA out of memory.\n"
SWIFT_SFT = (
    "ms-swift {version}, 8 x H20 96GB\n"
    "NPROC_PER_NODE=8 megatron sft --load Qwen3-30B-A3B-mcore --tensor_model_parallel_size 2 "
    "--expert_model_parallel_size 4 --micro_batch_size 2 --global_batch_size 16 --packing true --max_length 16384 "
    "--recompute_granularity {how}\n"
    "It dies in the actor update:\n"
)


def test_a_trainer_of_megatron_is_given_no_optimizer_of_transformers() -> None:
    found = told(SWIFT_SFT.format(version="3.9.0", how="selective") + OUT)
    assert "precision.low_bit_optimizer" not in levers(found)


def test_megatrons_optimizer_goes_to_the_host_with_the_switch_that_it_asks_for_and_not_before_there_was_one() -> None:
    given_since = given(told(SWIFT_SFT.format(version="3.9.0", how="selective") + OUT), "offload.optimizer.on")
    assert [one.key for one in given_since.changes] == ["optimizer_cpu_offload", "use_precision_aware_optimizer"]
    assert "offload.optimizer.on" not in levers(told(SWIFT_SFT.format(version="3.4.0", how="selective") + OUT))


def test_a_change_is_told_that_lowers_the_worst_phase_though_a_lower_one_then_has_no_room_either() -> None:
    recomputed = given(
        told(SWIFT_SFT.format(version="3.9.0", how="selective") + "torch.OutOfMemoryError: CUDA out of memory.\n"),
        "checkpointing.activation.on",
    )
    assert recomputed.after
    assert recomputed.before
    assert recomputed.after.bytes < 0.6 * recomputed.before.bytes
    assert recomputed.after_verdict == "out"


def test_an_offload_stays_where_the_word_that_names_it_gives_way_to_one_of_the_next_stage() -> None:
    text = (
        "ms-swift 3.6.0, 8 x A100 40GB\n"
        "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type full --per_device_train_batch_size 4 --torch_dtype "
        "bfloat16 --max_length 4096 --deepspeed zero2_offload\n"
        "It dies in the actor update:\n"
        "torch.OutOfMemoryError: CUDA out of memory.\n"
    )
    found = given(told(text), "shard.zero_stage.up")
    assert [(one.before, one.after) for one in found.changes] == [("zero2_offload", "zero3_offload")]


LLAMA = (
    "LLaMA-Factory {version}, 2 x RTX 4090 24GB\n"
    "llamafactory-cli train conf.yaml\n"
    "model_name_or_path: Qwen/Qwen2.5-32B-Instruct\n"
    "stage: sft\n"
    "finetuning_type: lora\n"
    "cutoff_len: 2048\n"
    "quantization_bit: 4\n"
    "per_device_train_batch_size: 1\n"
    "bf16: true\n"
)
LAUNCHED = "accelerate launch --config_file examples/accelerate/fsdp_config.yaml src/train.py conf.yaml\n"


def test_rows_are_split_by_no_key_of_another_of_its_programs() -> None:
    keys = {one.key for found in told(LLAMA.format(version="0.9.4") + OUT).prescriptions for one in found.changes}
    assert not keys & {"cp_size", "dist_config.cp_size", "context_parallel_size"}


def test_an_offload_is_written_where_the_file_that_shards_is_named() -> None:
    found = told(LAUNCHED + LLAMA.format(version="0.9.4").replace("32B", "72B") + OUT)
    moved = [
        (one.key, one.after) for found in found.prescriptions for one in found.changes if "offload" in found.lever.slug
    ]
    assert ("config_file", "examples/accelerate/fsdp_config_offload.yaml") in moved
    before = told(LAUNCHED + LLAMA.format(version="0.9.2") + OUT)
    assert before.facts.values["param_on_cpu"] is True


def test_a_shipped_script_that_loads_its_models_as_they_are_is_given_no_type() -> None:
    text = (
        "trl {version}, 2 x A6000 48GB\n"
        "accelerate launch --num_processes 2 examples/scripts/ppo/ppo.py --per_device_train_batch_size 16 "
        "--model_name_or_path EleutherAI/pythia-2.8b-deduped --sft_model_path EleutherAI/pythia-2.8b-deduped "
        "--reward_model_path EleutherAI/pythia-2.8b-deduped --response_length 512\n"
    )
    assert "precision.base_bf16" not in levers(told(text.format(version="0.21.0") + OUT))
    assert "precision.bf16" not in levers(told(text.format(version="0.21.0") + OUT))
    later = told(text.format(version="0.27.0") + OUT)
    assert any(one.key == "dtype" for found in later.prescriptions for one in found.changes)


def test_an_engine_alone_is_not_given_cards_by_the_switch_that_parts_all_roles() -> None:
    text = (
        "OpenRLHF 0.7.5, 8 x A100 80GB\n"
        "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen3-8B --micro_train_batch_size 4 --zero_stage 3 --bf16 "
        "--actor_num_gpus_per_node 8 --actor_num_nodes 1 --ref_num_nodes 1 --ref_num_gpus_per_node 8 --vllm_num_engines 4 "
        "--vllm_tensor_parallel_size 2 --colocate_all_models --vllm_gpu_memory_utilization 0.8\n"
        "It dies while the engine generates:\n"
        "torch.OutOfMemoryError: CUDA out of memory.\n"
    )
    keys = {one.key for found in told(text).prescriptions for one in found.changes}
    assert "colocate_all_models" not in keys


@pytest.mark.parametrize(("strategy", "advised"), [("fsdp", True), ("fsdp2", False)])
def test_an_optimizer_in_8_bits_is_given_to_no_run_whose_parameters_fsdp2_parts(strategy: str, advised: bool) -> None:
    text = (
        "verl 0.6.1, 8 x A100 40GB\n"
        f"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.actor.strategy={strategy} "
        "actor_rollout_ref.model.path=Qwen/Qwen2.5-14B-Instruct data.max_prompt_length=512 data.max_response_length=1024 "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 trainer.n_gpus_per_node=8\n"
        "It dies in optimizer.step():\ntorch.OutOfMemoryError: CUDA out of memory.\n"
    )
    assert ("precision.low_bit_optimizer" in levers(told(text))) is advised


ROLL = """ROLL {version}, 8 x A100 80GB
python examples/start_rlvr_pipeline.py --config_path cfg --config_name rlvr_config
rollout_batch_size: 64
prompt_length: 2048
response_length: 8192
num_return_sequences_in_group: 8
adv_estimator: "reinforce"
pretrain: Qwen/Qwen2.5-7B
num_gpus_per_node: 8
actor_train:
  model_args:
    dtype: bf16
  training_args:
    per_device_train_batch_size: 4
    gradient_accumulation_steps: 32
  strategy_args:
    strategy_name: {strategy}
    strategy_config: {{}}
  device_mapping: list(range(0,8))
"""


@pytest.mark.parametrize(
    ("version", "strategy", "packed"),
    [("0.2.1", "megatron_train", True), ("0.1.3", "megatron_train", False), ("0.2.1", "deepspeed_train", False)],
)
def test_rows_are_packed_where_the_strategy_and_the_release_pack_them(
    version: str, strategy: str, packed: bool
) -> None:
    found = told(ROLL.format(version=version, strategy=strategy) + OUT)
    keys = {one.key for lever in found.prescriptions for one in lever.changes}
    assert ("actor_train.use_sequence_packing" in keys) is packed


def test_an_offload_of_fsdp_is_given_to_no_run_of_deepspeed() -> None:
    text = (
        "skyrl-train 0.2.0, 8 x A100 40GB\n"
        "uv run -m skyrl_train.entrypoints.main_base trainer.strategy=deepspeed trainer.policy.model.path=Qwen/Qwen2.5-14B-Instruct "
        "trainer.placement.policy_num_gpus_per_node=8 trainer.micro_train_batch_size_per_gpu=4 trainer.max_prompt_length=2048 "
        "generator.sampling_params.max_generate_length=8192\n"
    )
    keys = {one.key for lever in told(text + OUT).prescriptions for one in lever.changes}
    assert not keys & {"trainer.policy.fsdp_config.cpu_offload", "trainer.fused_lm_head_logprob"}
