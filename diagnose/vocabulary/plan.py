"""What a framework file may say beside its keys: batch units and residents."""

from __future__ import annotations

# What a key's written number counts. UNITS of diagnose/batch.py has two functions for each, there and back.
BATCH_UNITS = {
    "sequences_per_gpu": "sequences that one GPU takes in one pass",
    "sequences_accumulated": "sequences that one GPU takes before a step; divided by the gradient accumulation",
    "global_sequences": "sequences of all GPUs in one pass; divided by the data-parallel size",
    "global_sequences_times_n": "divided by the data-parallel size, then multiplied by the samples per prompt",
    "max_length_rows": "a token budget written as rows of the longest length",
    "tokens_times_sp": "tokens per GPU before the sequence is split among the sequence-parallel ranks",
    "tokens_per_gpu": "tokens that one GPU takes in one pass",
    "prompts": "prompts of the whole run",
    "image_tokens": "pixels of an image, written as the tokens that they become",
    "bytes": "a size in GiB, written in bytes",
    "bytes_of_mib": "a size in MiB, written in bytes",
}

# What can stay in memory. A framework file says in which phases, on which pool and under which condition.
RESIDENTS = {
    "actor_weights": "the trained model's weights, as the trainer stores them (its shard)",
    "second_shard": "its weights a second time, split over a group of GPUs alone (ZeRO++’s hpZ)",
    "actor_gradients": "its gradients (its shard)",
    "actor_optimizer": "Adam state and, where the trainer keeps them apart, fp32 masters (its shard)",
    "actor_masters": "the fp32 masters alone, 4 bytes a parameter, where an offload of the Adam state leaves them (its shard)",
    "actor_moments": "Adam's moments alone: actor_optimizer less the masters (its shard)",
    "gathered_weights": "the whole trained model in bf16, gathered from its shards so that the trainer itself can generate",
    "sampled_scores": "fp32 scores over the vocabulary of every token that the trainer itself sampled, kept until the next ones are there",
    "scores_on_the_way": "the same scores while they are sampled, token by token and stacked, beside those of the step before",
    "ref_weights": "the frozen reference model (its shard)",
    "teacher_weights": "a frozen teacher beside the reference of a run with rewards (its shard)",
    "critic_weights": "the critic's weights (its shard)",
    "critic_gradients": "the critic's gradients (its shard)",
    "critic_optimizer": "the critic's Adam state (its shard)",
    "critic_masters": "the fp32 masters of its optimizer alone, before a first step has made Adam's moments (its shard)",
    "reward_weights": "a reward model's weights",
    "reward_engine": "a reward model's own engine: its share of a card while it is awake; on the host its weights while it sleeps",
    "engine_weights": "the rollout engine's own copy of the weights, split by its tensor parallel size",
    "kv_pool": "the engine's KV cache, as large as its rule makes it",
    "engine_graphs": "CUDA graphs and workspaces of the engine",
    "state_dict_copy": "a second copy of the trainer's shard, made to hand the weights to the engine",
    "model_copy": "a second copy of the whole trained model on each GPU, which a trainer makes by accident and keeps",
    "shm_model": "a copy of the model's files in /dev/shm, once a node, which nobody takes away",
    "swap_space": "pinned host memory that the engine sets aside for swapped sequences",
    "host_cache": "the engine's second KV cache, in page-locked host memory",
    "ref_gradient_buffer": "pinned buffer as large as the reference shard that FSDP1 CPU offload makes and never uses",
}
