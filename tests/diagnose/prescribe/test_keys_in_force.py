"""A lever writes a key that acts on this run: of its backend, of its role, of the card that runs out."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.patch import patch
from diagnose.types import Diagnosis, Prescription

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 79.11 GiB of which 0.90 GiB "
    "is free. Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the allocated memory {held} GiB is allocated by "
    "PyTorch, and {unused} GiB is reserved by PyTorch but unallocated."
)
FULL = OOM.format(asked="2.30", held="75.00", unused="1.20")
IN_PIECES = OOM.format(asked="4.90", held="61.00", unused="14.10")


def told(text: str) -> Diagnosis:
    return diagnose(text, {}, current(), ())


def given(found: Diagnosis, lever: str) -> Prescription:
    return next(one for one in found.prescriptions if one.lever.slug == lever)


def levers(found: Diagnosis) -> list[str]:
    return [one.lever.slug for one in found.prescriptions]


RLINF = """
cluster:
  num_nodes: 1
  component_placement:
    actor,rollout,reward: all
runner:
  seq_length: 18432
algorithm:
  group_size: 8
  adv_type: grpo
rollout:
  gpu_memory_utilization: 0.55
  model:
    model_path: /m/DeepSeek-R1-Distill-Qwen-1.5B
actor:
  training_backend: {backend}
  micro_batch_size: 1
  {own}
8 x H100 80GB
  File "/w/rlinf/workers/actor/fsdp_actor_worker.py", line 700, in training_step
"""


def test_no_tensor_parallel_of_megatron_is_written_for_fsdp() -> None:
    found = told(RLINF.format(backend="fsdp", own="fsdp_config:\n    strategy: fsdp") + FULL)
    assert "shard.model_parallel.up" not in levers(found)
    (change,) = given(found, "checkpointing.activation.on").changes
    assert change.key == "actor.fsdp_config.gradient_checkpointing"


def test_megatron_keeps_it() -> None:
    found = told(
        RLINF.format(backend="megatron", own="model:\n    tensor_model_parallel_size: 1").replace(
            "fsdp_actor", "megatron_actor"
        )
        + FULL
    )
    assert given(found, "shard.model_parallel.up").changes[0].key == "actor.model.tensor_model_parallel_size"


def test_the_reference_of_a_dpo_run_has_a_batch_of_its_own() -> None:
    text = """
pg_variant: dpo
sequence_length: 512
pretrain: Qwen/Qwen2.5-3B-Instruct
chosen_key: chosen
rejected_key: rejected
actor_train:
  training_args:
    per_device_train_batch_size: 4
  strategy_args:
    strategy_name: megatron_train
reference:
  infer_batch_size: 16
(reference-0 pid=9)   File "/w/roll/pipeline/dpo/actor_worker.py", line 110, in compute_log_probs
8 x A800 80G
"""
    (change,) = given(told(text + FULL), "batch.logprob_micro.down").changes
    assert (change.key, change.before) == ("reference.infer_batch_size", "16")


def test_the_word_for_the_algorithm_hides_no_key_of_the_reference() -> None:
    text = (
        "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-32B-Instruct --train_type full --deepspeed zero3 "
        "--use_vllm true --vllm_mode server --per_device_train_batch_size 1 --num_generations 8 --max_completion_length 2048\n"
        "8 x A100 80GB\n"
    )
    assert told(text).facts.keys["has_ref"] == "beta"


def test_segments_may_grow_where_no_engine_sleeps() -> None:
    text = (
        "python3 train_async.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint /root/Qwen3-4B-Base --debug-train-only "
        "--loss-type sft_loss --use-dynamic-batch-size --max-tokens-per-gpu 9216 --recompute-granularity full\n"
        '(MegatronTrainRayActor pid=2)   File "/root/slime/slime/backends/megatron_utils/model.py", line 330, in train_one_step\n'
        "8 x H100 80GB\n"
    )
    assert levers(told(text + IN_PIECES))[0] == "allocator.expandable_segments"


def test_what_the_trainer_holds_is_left_alone_where_an_engine_on_other_cards_runs_out() -> None:
    text = """
python3 examples/math/gsm8k_rl.py --config a.yaml
rollout:
  backend: "sglang:d4"
actor:
  backend: "fsdp:d4"
  path: Qwen/Qwen2.5-7B-Instruct
  gradient_checkpointing: true
  mb_spec:
    max_tokens_per_mb: 10240
sglang:
  mem_fraction_static: 0.8
cluster:
  n_nodes: 1
  n_gpus_per_node: 8
  File "/sglang/srt/managers/scheduler.py", line 1950, in run_batch
"""
    found = levers(told(text + FULL))
    assert "rollout.gpu_memory_utilization.down" in found
    assert not {"offload.optimizer.on", "offload.param.on", "peft.lora"} & set(found)


def test_fewer_passes_behind_one_gradient_save_an_update_nothing() -> None:
    text = """
adv_estimator: reinforce
rollout_batch_size: 64
num_return_sequences_in_group: 8
prompt_length: 2048
response_length: 4096
pretrain: Qwen/Qwen2.5-7B
actor_train:
  training_args:
    per_device_train_batch_size: 1
    gradient_accumulation_steps: 64
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      tensor_model_parallel_size: 1
      recompute_granularity: full
  device_mapping: list(range(0,8))
  File "/w/roll/distributed/strategy/megatron_strategy.py", line 700, in train_step
8 x A800 80G
"""
    assert "batch.accumulation.down" not in levers(told(text + FULL))


def test_a_smaller_pass_comes_first_where_the_update_ran_out_though_it_seems_to_fit() -> None:
    text = """
python -m skyrl.train.entrypoints.main_base trainer.algorithm.advantage_estimator=grpo trainer.policy.model.path=zai-org/GLM-4.7-Flash \\
  trainer.placement.colocate_all=true trainer.strategy=megatron trainer.placement.policy_num_gpus_per_node=8 \\
  trainer.policy.megatron_config.tensor_model_parallel_size=1 trainer.policy.megatron_config.expert_model_parallel_size=8 \\
  trainer.policy.megatron_config.optimizer_config_kwargs.optimizer_cpu_offload=true trainer.remove_microbatch_padding=true \\
  trainer.train_batch_size=128 trainer.policy_mini_batch_size=64 trainer.micro_train_batch_size_per_gpu=4 \\
  trainer.max_prompt_length=256 generator.sampling_params.max_generate_length=512 generator.n_samples_per_prompt=5
8 x H100 80GB
  File "/w/skyrl/backends/skyrl_train/workers/megatron/megatron_worker.py", line 870, in forward_backward
torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, unhandled cuda error
Cuda failure 2 'out of memory'
"""
    assert levers(told(text))[0] == "batch.micro.down"


def test_an_engine_over_two_nodes_may_take_four() -> None:
    text = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=meta-llama/Llama-3.1-405B-Instruct "
        "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.tensor_model_parallel_size={} data.train_batch_size=64 "
        "data.max_prompt_length=1024 data.max_response_length=2048 actor_rollout_ref.rollout.n=4 "
        "trainer.n_gpus_per_node=8 trainer.nnodes=8\n"
        '  File "/opt/vllm/worker/worker.py", line 140, in determine_available_memory\n8 x H100 80GB per node\n'
    )
    change = given(told(text.format(16) + FULL), "rollout.tensor_parallel.up").changes[0]
    assert (change.before, change.after) == ("16", "32")
    eight = told(text.format(8) + FULL)
    assert "rollout.tensor_parallel.up" not in levers(eight)


def test_a_fault_of_deepspeed_s_offload_is_not_asked_after_where_megatron_shards() -> None:
    text = (
        "python3 train.py --colocate --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint /root/Qwen3-30B-A3B "
        "--optimizer-cpu-offload --use-precision-aware-optimizer --max-tokens-per-gpu 9216 --use-dynamic-batch-size\n"
        '(MegatronTrainRayActor pid=2)   File "/root/slime/slime/backends/megatron_utils/model.py", line 330, in train_one_step\n'
        "8 x H100 80GB\n"
    )
    assert "deepspeed" not in [check.advisory.package for check in told(text + FULL).checks]


SLIME = """
dmesg: Out of memory: Killed process 123 (ray::MegatronTr) total-vm:900000000kB, anon-rss:500000000kB, file-rss:0kB, shmem-rss:0kB
slime, 8x H100 80GB on one node
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint /root/Qwen3-8B --advantage-estimator grpo \\
 --use-kl-loss --kl-loss-coef 0.00 --kl-loss-type low_var_kl --kl-coef 0.00 \\
 --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 16384 --tensor-model-parallel-size 2 \\
 --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.8
"""


def test_it_takes_out_the_switch_that_loads_the_reference() -> None:
    found = told(SLIME)
    (change,) = given(found, "algo.drop_ref").changes
    assert (change.key, change.after) == ("use-kl-loss", "false")
    (line,) = [line.text for line in patch(found.paste, [change], found.facts.framework) if line.mark == "+"]
    assert line.startswith(" --kl-loss-coef 0.00")
    assert "use-kl-loss" not in line


def test_one_switch_brings_weights_and_adam_back_to_the_cards() -> None:
    found = told(
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.0.0.1, ID: abc) where the task (actor ID: x, name=DTensorPolicyWorker.__init__, pid=100, memory "
        "used=40.00GB) was running was 250.10GB / 256.00GB (0.976953), which exceeds the memory usage threshold of 0.95.\n"
        "8x H100 80GB\n"
        "uv run examples/run_grpo.py policy.model_name=Qwen/Qwen2.5-7B-Instruct policy.dtensor_cfg.enabled=true "
        "policy.dtensor_cfg.cpu_offload=true cluster.gpus_per_node=8 cluster.num_nodes=1 "
        "policy.max_total_sequence_length=4096 policy.train_micro_batch_size=1\n"
    )
    (change,) = given(found, "offload.optimizer.off").changes
    assert (change.key, change.before, change.after) == ("policy.dtensor_cfg.cpu_offload", "true", "false")
    assert not [one for one in found.not_advised if one.lever.slug == "offload.param.off" and one.reason == "absent"]
