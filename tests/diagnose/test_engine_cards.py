"""A process that holds an engine alone, on cards of its own, runs out there: what the trainer holds is on other cards."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text

ENGINE = "(SGLangEngine pid=4521, ip=10.2.2.5)"
RUN = f"""
{{before}}
{ENGINE}   File "/sgl/python/sglang/srt/model_executor/model_runner.py", line 950, in update_weights_from_distributed
{ENGINE}     weight = torch.empty(shape, dtype=target_dtype, device=self.device)
{ENGINE} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 1 has a total capacity of 79.11 GiB
python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 {{place}} --rollout-num-gpus-per-engine 8 \\
    --sglang-mem-fraction-static 0.9 --hf-checkpoint /root/Qwen3-30B-A3B --tensor-model-parallel-size 4 \\
    --expert-model-parallel-size 8 --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 16384
"""
APART = "--rollout-num-gpus 16"


def found(place, before="H100"):
    knowledge = current()
    return diagnose(RUN.format(place=place, before=before), {}, knowledge, tuple(knowledge.cases.values()))


def test_nothing_of_the_trainer_is_advised_for_a_card_of_the_engine():
    diagnosis = found(APART)
    levers = [one.lever.slug for one in diagnosis.prescriptions]
    assert diagnosis.phase == "weight_sync"
    assert levers[0] == "rollout.gpu_memory_utilization.down"
    assert not {"offload.optimizer.on", "shard.pipeline.up", "hardware.more_gpus"} & set(levers)
    assert all(one.after is None for one in diagnosis.prescriptions)


@pytest.mark.parametrize(
    ("before", "said"), [("H100", "engine has cards of its own"), ("训练跑到一半显存爆了", "引擎独占它的卡")]
)
def test_the_answer_says_whose_card_it_is(before, said):
    assert said in to_text(found(APART, before))


def test_on_shared_cards_what_the_trainer_holds_counts():
    assert "engine has cards of its own, and" not in to_text(found("--colocate")).partition("NOT ADVISED")[0]


SYNC = """
2 nodes x 8 A100 80GB
[rank0]:   File "/x/swift/trainers/rlhf_trainer/grpo_trainer.py", line 1020, in _move_full_model_to_vllm
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.15 GiB
swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-72B-Instruct --use_vllm true --vllm_mode server --deepspeed zero3 \\
    --per_device_train_batch_size 1 --num_generations 8 --max_length 4096 --max_completion_length 8192 --tuner_type lora
"""
START = """
ValueError: Free memory on device (61.22/79.11 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).
python open_instruct/grpo_fast.py --model_name_or_path Qwen/Qwen2.5-32B --deepspeed_stage 3 --num_learners_per_node 8 8 \\
    --vllm_num_engines 16 --vllm_tensor_parallel_size 1 --response_length 16384 --pack_length 18432 --max_prompt_token_length 2048
"""


def levers(text):
    knowledge = current()
    return [one.lever.slug for one in diagnose(text, {}, knowledge, tuple(knowledge.cases.values())).prescriptions]


def test_a_trainer_that_sends_weights_to_other_cards_gets_no_room_by_the_engines_share():
    found = levers(SYNC)
    assert found[0] == "sync.gather_batched"
    assert not {"rollout.gpu_memory_utilization.down", "rollout.tensor_parallel.up"} & set(found)


def test_an_engine_that_finds_its_own_card_taken_gets_none_by_offloads_of_the_trainer():
    found = levers(START)
    assert found[0] == "hardware.kill_stale"
    assert not {"offload.param.on", "offload.optimizer.on"} & set(found)


@pytest.mark.parametrize(("place", "first"), [("", "hardware.kill_stale"), ("--colocate_all_models", None)])
def test_what_holds_the_engine_s_own_cards_before_it_starts_is_to_be_ended_first(place, first):
    text = (
        "ValueError: Free memory on device (19.02/44.39 GiB) on startup is less than desired GPU memory utilization (0.9, 39.95 GiB). "
        "Decrease GPU memory utilization or reduce GPU memory used by other processes.\n8 x L40S 48GB\n"
        "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 4 --vllm_num_engines 4 "
        f"--vllm_tensor_parallel_size 1 --vllm_gpu_memory_utilization 0.9 --pretrain Qwen/Qwen3-4B --zero_stage 3 {place}\n"
    )
    knowledge = current()
    levers = [one.lever.slug for one in diagnose(text, {}, knowledge, ()).prescriptions]
    assert (levers[0] == "hardware.kill_stale") is (first is not None)


SERVER = """
AReaL, 2 nodes of H800, allocation_mode=sglang.d8p1t1+d8p1t1, sglang.mem_fraction_static=0.9, actor.path=Qwen/Qwen2.5-7B
  File "/sglang/python/sglang/srt/managers/scheduler.py", line 2571, in run_scheduler_process
  File "/sglang/python/sglang/srt/layers/logits_processor.py", line 512, in _get_logits
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 5 has a total capacity of 79.11 GiB
"""


def test_an_engines_traceback_tells_its_card_also_where_it_tells_no_phase():
    knowledge = current()
    levers = [one.lever.slug for one in diagnose(SERVER, {}, knowledge, ()).prescriptions]
    assert levers[0] == "rollout.gpu_memory_utilization.down"
    assert not {"offload.optimizer.on", "peft.lora", "algo.drop_ref", "hardware.more_gpus"} & set(levers)


BY_ROLE = """
verl, Qwen3-8B on 8 A100 80GB
actor_rollout_ref.hybrid_engine={hybrid} trainer.n_gpus_per_node=6 rollout.n_gpus_per_node=2 rollout.nnodes=1
actor_rollout_ref.rollout.gpu_memory_utilization=0.95 actor_rollout_ref.rollout.tensor_model_parallel_size=2
ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.{role}_sync_rollout_weights() (pid=88, ip=10.0.0.4)
  File "/root/verl/recipe/one_step_off_policy/fsdp_workers.py", line 108, in sync_rollout_weights
    tensor = torch.empty(shape, dtype=dtype, device=get_torch_device().current_device())
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 79.32 GiB of which 512.94 MiB is free.
"""


@pytest.mark.parametrize(
    ("role", "hybrid", "engines"), [("rollout", "False", True), ("actor", "False", False), ("rollout", "True", True)]
)
def test_a_call_by_its_role_tells_whose_card_it_is(role, hybrid, engines):
    diagnosis = diagnose(BY_ROLE.format(role=role, hybrid=hybrid), {}, current(), ())
    levers = [one.lever.slug for one in diagnosis.prescriptions]
    assert diagnosis.phase == "weight_sync"
    assert (levers[0] == "rollout.gpu_memory_utilization.down") is engines
    assert ("offload.optimizer.on" in levers) is (not engines or hybrid == "True")


def test_keys_of_the_asynchronous_trainer_put_the_engine_on_its_own_cards():
    text = "verl OOM in update_actor\n{}.staleness_threshold=0.5\n"
    told = {key: diagnose(text.format(key), {}, current(), ()).facts.values for key in ("async_training", "training")}
    assert told["async_training"]["rollout_mode"] == "server"
    assert told["training"].get("rollout_mode") != "server"
