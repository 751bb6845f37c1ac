"""The order of what is advised, as it turned out in reports: what works and breaks nothing behind it stands before what does."""

from __future__ import annotations

NO_BLOCKS = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
ENGINES = (
    "python3 -m openrlhf.cli.train_ppo_ray --vllm_num_engines 8 --vllm_tensor_parallel_size 1 --colocate_all_models"
    " --vllm_gpu_memory_utilization {share} --pretrain {model} --actor_num_gpus_per_node 8 --zero_stage 3 --adam_offload"
    " --micro_train_batch_size 1 --micro_rollout_batch_size 1 --prompt_max_len 1024 --generate_max_len 4096 --vllm_enable_sleep\n"
    "8 x A100 80GB\n"
)
KILLED = (
    "Llama-2-70b, 8 x A800 80GB, {ram} memory\n"
    "deepspeed ./train_ppo.py --pretrain meta-llama/Llama-2-70b-chat-hf --reward_pretrain ./rm-70b --zero_stage {stage} --bf16"
    " --micro_train_batch_size 1\n"
    "Loading checkpoint shards:  40%|████      | 6/15 [03:12<04:40, 31.2s/it]\n"
    "Out of memory: Killed process 88120 (python) total-vm:168121220kB, anon-rss:131002112kB, file-rss:81232kB\n"
)


def test_a_larger_share_that_leaves_the_weight_sync_less_room_stands_behind_a_split_of_the_engine(advise):
    found = advise(NO_BLOCKS + ENGINES.format(share=0.6, model="Qwen/Qwen2.5-32B-Instruct"))
    split, share = found.prescriptions[:2]
    assert (split.lever.slug, share.lever.slug) == ("rollout.tensor_parallel.up", "rollout.gpu_memory_utilization.up")
    assert "The weight sync then needs" in share.why


def test_a_larger_share_that_nothing_later_lacks_stands_first(advise):
    found = advise(NO_BLOCKS + ENGINES.format(share=0.2, model="Qwen/Qwen2.5-7B-Instruct"))
    assert found.levers[0] == "rollout.gpu_memory_utilization.up"
    assert "then needs" not in found.prescriptions[0].why


def test_copies_of_all_processes_that_fill_a_node_while_they_load_are_loaded_in_shards(advise):
    first = advise(KILLED.format(stage=2, ram="1TB")).prescriptions[0]
    assert first.lever.slug == "load.in_shards"
    assert [(change.key, change.after) for change in first.changes] == [("zero_stage", "3")]


def test_a_model_that_is_loaded_in_shards_is_told_no_stage(advise):
    assert "load.in_shards" not in advise(KILLED.format(stage=3, ram="1TB")).levers


def test_a_reference_of_dpo_is_offloaded_by_its_own_key(advise):
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB. GPU 3 has a total capacity of 79.11 GiB.\n"
        "deepspeed --module openrlhf.cli.train_dpo --micro_train_batch_size 1 --pretrain Qwen/Qwen2.5-32B --max_len 4096 --zero_stage 3"
        " --gradient_checkpointing --adam_offload\n8*H100 80GB"
    )
    given = next(one for one in advise(text).prescriptions if one.lever.slug == "offload.ref.on")
    assert [change.key for change in given.changes] == ["ref_offload"]


def test_a_pair_of_long_rows_is_split_over_more_cards_first(advise):
    """OpenRLHF's limits of prompt and response are those of samples: rows of a data set are as long as max_len."""
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB. GPU 3 has a total capacity of 79.11 GiB.\n"
        "deepspeed --module openrlhf.cli.train_dpo --micro_train_batch_size 1 --pretrain Qwen/Qwen2.5-14B-Instruct --max_len 32768"
        " --zero_stage 3 --ring_attn_size 2 --packing_samples --flash_attn --gradient_checkpointing\n8*H100 80GB"
    )
    found = advise(text)
    assert not {"prompt_length", "response_length", "logprob_micro_batch"} & set(found.facts.values)
    assert found.levers[0] == "shard.sequence_parallel.up"


def test_more_cards_that_come_close_stand_behind_what_these_cards_can_do(advise):
    text = (
        "TinyZero on 2xA100 40GB\nexport N_GPUS=2 BASE_MODEL=Qwen/Qwen2.5-3B ROLLOUT_TP_SIZE=2\nbash ./scripts/train_tiny_zero.sh\n"
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.critic_update_critic() (pid=10412)\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 1 has a total capacity of 39.39 GiB.\n"
        "I didn't touch train_tiny_zero.sh (micro batch 8, gpu util .4)"
    )
    levers = advise(text).levers
    assert "checkpointing.critic.on" in levers[:3]
    assert "hardware.more_gpus" not in levers[:3]


def test_weights_that_engine_and_trainer_share_are_loaded_in_4_bits_where_they_fill_the_share(advise):
    text = (
        'model, tokenizer = FastLanguageModel.from_pretrained(model_name = "unsloth/Qwen3-4B-Base", max_seq_length = 8192, '
        "load_in_4bit = False, fast_inference = True, max_lora_rank = 32, gpu_memory_utilization = 0.6)\n"
        f"Tesla T4. Num GPUs = 1. Max memory: 14.741 GB. vLLM: 0.8.5.post1.\n{NO_BLOCKS}"
    )
    first = advise(text, engine_version="0.8.5.post1").prescriptions[0]
    assert [(change.key, change.after) for change in first.changes] == [("load_in_4bit", "True")]
    assert first.after_verdict == "fits"


def test_a_smaller_share_comes_first_where_a_hand_over_has_far_more_in_use_than_it_takes(advise):
    text = (
        "OOM during refit, Llama 3.3 70B, colocated\n"
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::VllmGenerationWorker.wake_up() / update_weights_from_ipc_handles\n"
        '  File "/opt/nemo-rl/nemo_rl/models/generation/vllm_backend.py", line 131, in update_weights_from_ipc_handles\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
        "903.62 MiB is free.\n"
        "policy.generation.vllm_cfg.gpu_memory_utilization=0.8 tensor_parallel_size=8, policy.megatron_cfg.enabled=true tp 8 pp 4 , "
        "8 nodes x 8 h100\n"
    )
    found = advise(text)
    assert found.facts.values["phase"] == "weight_sync"
    assert found.levers[0] == "rollout.gpu_memory_utilization.down"
