"""What trainers on Megatron print of all their arguments: the same run as its bare command, with what is listed and off."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from tests.diagnose.facts.conftest import OOM, told

RAY = "(MegatronTrainRayActor pid=4711, ip=10.0.0.7) "
FRAME = '  File "/root/slime/slime/backends/megatron_utils/model.py", line 590, in train_one_step\n    losses_reduced = step(\n'


def table(prefix="", **arguments):
    """As Megatron prints them (megatron/training/arguments.py: _print_args)."""
    rows = sorted(f"  {name} {'.' * (48 - len(name))} {value}" for name, value in arguments.items())
    lines = ["-" * 24 + " arguments " + "-" * 24, *rows, "-" * 20 + " end of arguments " + "-" * 21]
    return "\n".join(prefix + line for line in lines) + "\n"


def sizes(answer):
    return {one.phase: {term.id: term.bytes for term in one.terms} for one in answer.estimate.gpu.phases}


# what is listed whether or not it is used (slime v0.3.1, Megatron-LM core_v0.15.3)
SLIME = {
    "actor_num_gpus_per_node": 8, "actor_num_nodes": 1, "critic_num_gpus_per_node": 8, "critic_num_nodes": 1, "use_critic": False,
    "rollout_num_gpus": 8, "rollout_num_gpus_per_engine": 2, "colocate": True, "offload_train": True, "offload_rollout": True,
    "hf_checkpoint": "/root/Qwen3-4B", "advantage_estimator": "grpo", "loss_type": "policy_loss", "kl_coef": 0.0, "use_kl_loss": False,
    "rollout_batch_size": 32, "n_samples_per_prompt": 8, "rollout_max_response_len": 8192, "rollout_max_context_len": None,
    "seq_length": 4096, "micro_batch_size": 1, "use_dynamic_batch_size": True, "max_tokens_per_gpu": 9216,
    "log_probs_max_tokens_per_gpu": 9216, "tensor_model_parallel_size": 2, "sequence_parallel": True,
    "pipeline_model_parallel_size": 1, "context_parallel_size": 1, "recompute_granularity": "full",
    "optimizer_cpu_offload": False, "optimizer_offload_fraction": 1.0, "use_precision_aware_optimizer": False,
    "exp_avg_dtype": "torch.float32", "main_params_dtype": "torch.float32", "sglang_mem_fraction_static": 0.7,
    "sglang_disable_cuda_graph": False, "sglang_context_length": None, "entropy_coef": 0.0,
}  # fmt: skip
COMMAND = (
    "python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint /root/Qwen3-4B --advantage-estimator grpo "
    "--rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --use-dynamic-batch-size --max-tokens-per-gpu 9216 "
    "--tensor-model-parallel-size 2 --sequence-parallel --recompute-granularity full --rollout-num-gpus-per-engine 2 "
    "--sglang-mem-fraction-static 0.7 --entropy-coef 0.0\n"
)


@pytest.mark.parametrize("prefix", ["", RAY])
def test_what_slime_prints_is_the_run_of_its_command(prefix):
    printed, bare = (told(text + FRAME + OOM) for text in (table(prefix, **SLIME), COMMAND))
    assert sizes(printed) == sizes(bare)
    assert {key: printed.facts.values[key] for key in bare.facts.values} == bare.facts.values
    assert [one.lever.slug for one in printed.prescriptions] == [one.lever.slug for one in bare.prescriptions]


def test_what_is_listed_of_a_critic_that_there_is_none_of_has_no_cards():
    found = told(table(**SLIME)).facts.values
    assert (found["n_gpus"], found["trainer_gpus"], found["has_critic"]) == (8, 8, False)
    assert "critic_gpus" not in found


def test_a_critic_of_slime_is_trained_on_the_cards_of_the_actor():
    found = told(table(**{**SLIME, "advantage_estimator": "ppo", "use_critic": True})).facts.values
    assert (found["n_gpus"], found["trainer_gpus"], found["has_critic"]) == (8, 8, True)


@pytest.mark.parametrize(
    ("nodes", "engines", "cards"),
    [
        (1, 4, {"n_gpus": 8, "trainer_gpus": 4, "gpus_per_node": 8, "n_nodes": 1}),
        (2, 16, {"n_gpus": 24, "trainer_gpus": 8}),
    ],
)
def test_engines_of_slime_have_cards_of_their_own_beside_the_trainer(nodes, engines, cards):
    command = (
        f"python3 train_async.py --actor-num-nodes {nodes} --actor-num-gpus-per-node 4 --rollout-num-gpus {engines}"
    )
    one = {
        **SLIME,
        "colocate": False,
        "actor_num_nodes": nodes,
        "actor_num_gpus_per_node": 4,
        "rollout_num_gpus": engines,
    }
    for text in (command, table(**one)):
        found = told(text).facts.values
        assert {key: found[key] for key in cards} == cards


def test_fine_tuning_with_slime_has_no_engine_beside_it():
    one = {**SLIME, "colocate": False, "loss_type": "sft_loss", "rollout_num_gpus": None}
    assert told(table(**one)).facts.values["n_gpus"] == 8


def test_the_length_that_slime_lists_for_megatron_is_none_of_a_row():
    assert "max_length" not in told(table(**SLIME)).facts.values


def test_recomputation_that_is_listed_as_none_is_off():
    assert told(table(**{**SLIME, "recompute_granularity": None})).facts.values["gradient_checkpointing"] is False


@pytest.mark.parametrize(("kl", "switch", "ref"), [(0.001, False, True), (0.0, True, True), (0.0, False, False)])
def test_the_reference_of_slime_is_loaded_for_either_of_the_two(kl, switch, ref):
    assert told(table(**{**SLIME, "kl_coef": kl, "use_kl_loss": switch})).facts.values["has_ref"] is ref


def test_a_switch_that_is_listed_as_off_is_put_on_with_what_needs_it():
    answer = diagnose(table(**SLIME) + FRAME + OOM, {}, current(), ())
    offload = next(one for one in answer.prescriptions if one.lever.slug == "offload.optimizer.step.on")
    written = {change.key: (change.before, change.after) for change in offload.changes}
    assert written == {
        "optimizer_cpu_offload": ("False", "True"),
        "use_precision_aware_optimizer": ("False", "True"),
    }


# Megatron-LM core_v0.15.3, --bf16 --use-distributed-optimizer and sizes; the rest are defaults
MEGATRON = {
    "world_size": 8, "micro_batch_size": 1, "global_batch_size": 128, "seq_length": 4096, "tensor_model_parallel_size": 2,
    "pipeline_model_parallel_size": 2, "sequence_parallel": False, "use_distributed_optimizer": True, "recompute_granularity": None,
    "optimizer_cpu_offload": False, "optimizer_offload_fraction": 1.0, "use_precision_aware_optimizer": False,
    "exp_avg_dtype": "torch.float32", "main_params_dtype": "torch.float32", "attention_backend": "AttnBackend.auto",
    "grpo_group_size": 2, "grpo_kl_beta": 0.001, "grpo_prompts_per_step": 32, "inference_dynamic_batching_buffer_size_gb": 40.0,
    "inference_max_seq_length": 2560, "perform_rl_step": False, "sft": False,
}  # fmt: skip
PRETRAIN = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --micro-batch-size 1 --seq-length 4096 --tensor-model-parallel-size 2 "
    "--pipeline-model-parallel-size 2 --use-distributed-optimizer\n"
)
MODEL = "Megatron-LM, Llama-3.1-8B on H100 80GB\n"


def test_what_megatron_prints_is_the_run_of_its_command():
    printed, bare = (told(MODEL + text + OOM) for text in (table("[default0]:", **MEGATRON), PRETRAIN))
    assert sizes(printed) == sizes(bare)
    assert printed.facts.values["n_gpus"] == bare.facts.values["n_gpus"] == 8


def test_settings_of_samples_that_every_run_lists_are_none_of_a_pretraining():
    found = told(MODEL + table(**MEGATRON)).facts.values
    assert found["algo"] == "pretrain"
    assert not {"has_ref", "rollout_n", "train_batch_size", "kv_pool_gib", "max_model_len"} & found.keys()
    assert "optimizer_cpu_fraction" not in found


def test_they_are_those_of_a_run_that_samples():
    found = told(MODEL + table(**{**MEGATRON, "perform_rl_step": True})).facts.values
    wanted = {
        "algo": "grpo",
        "has_ref": True,
        "rollout_n": 2,
        "train_batch_size": 32,
        "kv_pool_gib": 40.0,
        "ref_offload": True,
    }
    assert {key: found[key] for key in wanted} == wanted


def test_fine_tuning_with_megatron_is_told_by_its_switch():
    assert told(MODEL + table(**{**MEGATRON, "sft": True})).facts.values["algo"] == "sft"


@pytest.mark.parametrize(
    ("printed", "moment"),
    [("torch.float16", "fp16"), ("torch.bfloat16", "bf16"), ("torch.uint8", "fp8"), ("fp16", "fp16")],
)
def test_types_are_read_as_torch_prints_them(printed, moment):
    found = told(MODEL + table(**{**MEGATRON, "use_precision_aware_optimizer": True, "exp_avg_dtype": printed}))
    assert found.facts.values["first_moment"] == moment


def test_masters_are_read_as_torch_prints_them():
    found = told(table(**{**SLIME, "use_precision_aware_optimizer": True, "main_params_dtype": "torch.float16"}))
    assert found.facts.values["masters"] == "fp16"


# what Megatron-SWIFT 4.6.0 prints of any run in one line, among some four hundred others
SWIFT = (
    "[INFO:swift] args: {kind}(model='Qwen/Qwen2.5-7B-Instruct', torch_dtype=torch.bfloat16, max_length=4096, tuner_type='full', "
    "lora_rank=8, rlhf_type={rlhf}, beta=0.1, num_generations=8, max_completion_length=512, use_vllm=True, "
    "vllm_gpu_memory_utilization=0.9, advantage_estimator='grpo', micro_batch_size=1, global_batch_size=16, use_flash_attn=False, "
    "attention_backend='flash', recompute_granularity='selective', tensor_model_parallel_size=2, sequence_parallel=True, "
    "optimizer_cpu_offload=False, optimizer_offload_fraction=1.0)\n"
)
SWIFT_COMMAND = (
    "megatron {kind} --model Qwen/Qwen2.5-7B-Instruct --max_length 4096 --micro_batch_size 1 --global_batch_size 16 "
    "--tensor_model_parallel_size 2 --sequence_parallel true"
)
CARDS = "ms-swift==4.6.0 on 8 GPUs\n"


@pytest.mark.parametrize(
    ("kind", "rlhf", "command", "algo"),
    [
        ("MegatronSftArguments", None, SWIFT_COMMAND.format(kind="sft"), "sft"),
        ("MegatronPretrainArguments", None, SWIFT_COMMAND.format(kind="pt"), "pretrain"),
        ("MegatronRLHFArguments", "'dpo'", SWIFT_COMMAND.format(kind="rlhf") + " --rlhf_type dpo", "dpo"),
        ("MegatronTrainArguments", None, SWIFT_COMMAND.format(kind="sft"), "sft"),
    ],
)
def test_what_megatron_swift_prints_is_the_run_of_its_command(kind, rlhf, command, algo):
    printed = told(CARDS + SWIFT.format(kind=kind, rlhf=rlhf) + OOM)
    bare = told(CARDS + command + "\n" + OOM)
    assert printed.facts.values["algo"] == bare.facts.values["algo"] == algo
    assert sizes(printed) == sizes(bare)
    assert [printed.facts.values[key] for key in ("strategy", "precision", "flash_attention")] == [
        "megatron",
        "megatron",
        True,
    ]


MINDSPEED = """megatron_training:
  stage: ray_grpo
  use_distributed_optimizer: true
actor_config:
  micro_batch_size: 4
  tensor_model_parallel_size: 2
"""


@pytest.mark.parametrize(("modules", "kind"), [("[]", "full"), ("None", "full"), ("['linear_qkv']", "lora")])
def test_a_rank_that_mindspeed_lists_makes_no_adapters(modules, kind):
    listed = table(
        "(IntegratedWorker pid=7) ", lora_r=16, lora_alpha=32, lora_target_modules=modules, micro_batch_size=4
    )
    assert told(MINDSPEED + listed).facts.values["full_or_lora"] == kind


def test_preference_data_of_roll_are_those_of_dpo():
    pairs = "sequence_length: 512\nchosen_key: chosen\nrejected_key: rejected\n"
    assert (
        told(pairs + "pretrain: Qwen/Qwen2.5-3B\nactor_train:\n  device_mapping: list(range(0,8))\n").facts.values[
            "algo"
        ]
        == "dpo"
    )


def test_engines_count_beside_the_one_role_that_is_left():
    command = (
        "python3 -m openrlhf.cli.train_ppo_ray --ref_num_nodes 1 --ref_num_gpus_per_node 4 --actor_num_nodes 1 --actor_num_gpus_per_node 4 "
        "--vllm_num_engines 4 --vllm_tensor_parallel_size 1 --init_kl_coef 0 --advantage_estimator reinforce\n"
    )
    found = told(command).facts.values
    assert (found["has_ref"], found["n_gpus"], found["trainer_gpus"]) == (False, 8, 4)
    assert "ref_gpus" not in found


def test_a_script_of_somebody_s_own_is_not_the_trainer_of_that_name():
    assert (
        told("accelerate launch --num_processes 8 train_rl.py --use_vllm true\n" + OOM).facts.values.get("framework")
        != "megatron-lm"
    )
