"""The closed vocabulary: every kind, phase, fact, batch unit, resident and behaviour that a record may name.

A word that stands here is implemented by one documented function or term; a record that uses another word is refused by
the content check. Fact ids are exactly the names of the batch interface, so that answers, questions, records and the
query string speak of the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Value = bool | int | float | str
Origin = Literal["read", "answered", "default", "assumed", "derived"]
Pool = Literal["gpu", "host"]

KINDS = {
    "gpu_oom": "GPU memory",
    "gpu_oom_raw": "GPU memory, refused by the driver or a library",
    "vllm_no_kv_blocks": "no room for the engine's KV cache",
    "vllm_free_memory_too_low": "too little free GPU memory when the engine starts",
    "host_ram": "host RAM",
    "host_shm": "shared memory",
    "memory_growth": "memory grows over steps",
    "other": "not settled",
}

# Which pool a kind is about; the kinds that are missing here do not settle it.
POOL_OF_KIND: dict[str, Pool] = {
    "gpu_oom": "gpu",
    "gpu_oom_raw": "gpu",
    "vllm_no_kv_blocks": "gpu",
    "vllm_free_memory_too_low": "gpu",
    "host_ram": "host",
    "host_shm": "host",
}

# In the order of a step. "once" phases stand first, "sometimes" last.
PHASES = {
    "load": "load",
    "init": "engine start",
    "weight_sync": "weight sync",
    "rollout": "rollout",
    "logprob": "old log-prob",
    "ref_logprob": "reference log-prob",
    "values": "values",
    "reward": "reward",
    "critic": "critic update",
    "actor_update": "actor update",
    "optimizer_step": "optimizer step",
    "checkpoint": "checkpoint",
    "eval": "evaluation",
}
PHASE_GROUPS = {
    "load": "once",
    "init": "once",
    "checkpoint": "sometimes",
    "eval": "sometimes",
}  # the others: every step

ONLINE_ALGOS = ("grpo", "ppo", "dapo", "rloo", "reinforce++", "remax", "gspo", "dr_grpo")


@dataclass(frozen=True, slots=True)
class FactSpec:
    """One fact: its id, the type of its value, words for people and, for a choice, its options (value → words)."""

    id: str
    type: Literal["int", "number", "bool", "text", "choice"]
    group: Literal["failure", "machine", "run", "sizes", "memory", "engine", "measured"]
    title: str
    unit: str = ""
    options: tuple[tuple[str, str], ...] = ()


def _fact(id: str, type: str, group: str, title: str, unit: str = "", **options: str) -> FactSpec:
    return FactSpec(id, type, group, title, unit, tuple(options.items()))  # type: ignore[arg-type]


_ALL = (
    FactSpec("oom_kind", "choice", "failure", "Kind", options=tuple(KINDS.items())),
    FactSpec("phase", "choice", "failure", "Phase", options=tuple(PHASES.items())),
    _fact("step", "int", "failure", "Step"),
    # machine
    _fact("gpu_model", "text", "machine", "GPU"),
    _fact("gpu_mem_gib", "number", "machine", "Memory of one GPU", "GB as sold"),
    _fact("n_gpus", "int", "machine", "GPUs of the whole run"),
    _fact("trainer_gpus", "int", "machine", "GPUs that train"),
    _fact("n_nodes", "int", "machine", "Nodes"),
    _fact("gpus_per_node", "int", "machine", "GPUs per node"),
    _fact("host_ram_gb", "number", "machine", "Host RAM per node", "GiB"),
    # run
    _fact("framework", "text", "run", "Framework"),
    _fact("framework_version", "text", "run", "Version"),
    _fact("model", "text", "run", "Model"),
    _fact("params_b", "number", "run", "Parameters", "billions"),
    _fact("algo", "text", "run", "Algorithm"),
    _fact("full_or_lora", "choice", "run", "Training", full="full parameters", lora="LoRA", qlora="QLoRA"),
    _fact("lora_rank", "int", "run", "LoRA rank"),
    _fact("trains_embeddings", "bool", "run", "Embedding and head trained beside adapters"),
    _fact(
        "precision",
        "choice",
        "run",
        "Precision",
        bf16="all bf16",
        fp16="all fp16",
        mixed="fp32 masters",
        fp32="fp32",
        megatron="bf16 with fp32 main weights and gradients",
    ),
    _fact("quantization", "choice", "run", "Base weights in", nf4="nf4", int4="int4", int8="int8", fp8="fp8"),
    _fact("optimizer", "text", "run", "Optimizer"),
    _fact("has_ref", "bool", "run", "Reference model"),
    _fact("has_critic", "bool", "run", "Critic"),
    _fact("has_reward_model", "bool", "run", "Reward model on the GPUs"),
    _fact("torch_version", "text", "run", "torch"),
    # sizes
    _fact("train_batch_size", "int", "sizes", "Prompts per step"),
    _fact("rollout_n", "int", "sizes", "Samples per prompt"),
    _fact("mini_batch_size", "int", "sizes", "Prompts per optimizer step"),
    _fact("micro_batch", "int", "sizes", "Update micro batch", "sequences per GPU"),
    _fact("logprob_micro_batch", "int", "sizes", "Log-prob micro batch", "sequences per GPU"),
    _fact("critic_micro_batch", "int", "sizes", "Critic micro batch", "sequences per GPU"),
    _fact("dynamic_batch", "bool", "sizes", "Micro batches packed by tokens"),
    _fact("micro_tokens", "int", "sizes", "Update token budget", "tokens per GPU"),
    _fact("logprob_tokens", "int", "sizes", "Log-prob token budget", "tokens per GPU"),
    _fact("critic_tokens", "int", "sizes", "Critic token budget", "tokens per GPU"),
    _fact("gradient_accumulation", "int", "sizes", "Gradient accumulation"),
    _fact("prompt_length", "int", "sizes", "Prompt limit", "tokens"),
    _fact("response_length", "int", "sizes", "Response limit", "tokens"),
    _fact("max_length", "int", "sizes", "Length limit of a row", "tokens"),
    _fact("real_prompt_length", "int", "sizes", "Real prompt length", "tokens"),
    _fact("real_response_length", "int", "sizes", "Real response length", "tokens"),
    _fact("start_length", "int", "sizes", "First prompt kept for training", "tokens"),
    _fact("max_turns", "int", "sizes", "Turns of a conversation"),
    _fact("max_pixels", "int", "sizes", "Pixels of an image"),
    _fact("images_per_prompt", "int", "sizes", "Images of a prompt"),
    _fact("val_batch_size", "int", "sizes", "Prompts per validation call"),
    # memory settings of the trainer
    _fact(
        "strategy",
        "choice",
        "memory",
        "Sharding",
        fsdp="FSDP",
        fsdp2="FSDP2",
        deepspeed="DeepSpeed",
        ddp="DDP",
        megatron="Megatron",
        none="none",
    ),
    _fact("zero_stage", "int", "memory", "ZeRO stage (3 = fully sharded)"),
    _fact("shard_size", "int", "memory", "GPUs of a shard group"),
    _fact("tp", "int", "memory", "Tensor parallel"),
    _fact("pp", "int", "memory", "Pipeline parallel"),
    _fact("sp", "int", "memory", "Sequence parallel"),
    _fact("ep", "int", "memory", "Expert parallel"),
    _fact("param_offload", "bool", "memory", "Weights offloaded between phases"),
    _fact("optimizer_offload", "bool", "memory", "Adam state offloaded between updates"),
    _fact("grad_offload", "bool", "memory", "Gradients offloaded between updates"),
    _fact("ref_offload", "bool", "memory", "Reference weights on the host"),
    _fact("critic_param_offload", "bool", "memory", "Critic weights offloaded between phases"),
    _fact("critic_optimizer_offload", "bool", "memory", "Critic Adam state offloaded between updates"),
    _fact("param_on_cpu", "bool", "memory", "Weights live on the host"),
    _fact("optimizer_on_cpu", "bool", "memory", "Optimizer lives on the host"),
    _fact(
        "gradient_checkpointing",
        "choice",
        "memory",
        "Activation checkpointing",
        true="on",
        false="off",
        full="full",
        selective="selective",
    ),
    _fact("activation_offload", "bool", "memory", "Checkpoints offloaded"),
    _fact("flash_attention", "bool", "memory", "FlashAttention"),
    _fact("remove_padding", "bool", "memory", "Padding removed"),
    _fact("entropy_in_loss", "bool", "memory", "Entropy in the loss"),
    _fact("logits_chunked", "bool", "memory", "Logits in chunks"),
    _fact("fused_optimizer", "bool", "memory", "Fused optimizer step"),
    _fact("freeze_vision", "bool", "memory", "Vision tower frozen"),
    _fact("sync_batches", "int", "memory", "Weight sync in parts"),
    _fact("sync_bucket_mib", "int", "memory", "Weight-sync buffer", "MiB"),
    _fact("expandable_segments", "bool", "memory", "Expandable segments"),
    _fact("dataloader_workers", "int", "memory", "Dataloader workers"),
    _fact("ray_memory_threshold", "number", "memory", "Ray's memory threshold", "fraction"),
    # engine
    _fact("rollout_engine", "choice", "engine", "Rollout engine", vllm="vLLM", sglang="SGLang", hf="transformers"),
    _fact(
        "rollout_mode",
        "choice",
        "engine",
        "Engine's place",
        colocated="on the training GPUs",
        server="on GPUs of its own",
    ),
    _fact("engine_version", "text", "engine", "Engine version"),
    _fact("gpu_memory_utilization", "number", "engine", "GPU memory utilization"),
    _fact("rollout_tp", "int", "engine", "Engine tensor parallel"),
    _fact("sleep_level", "int", "engine", "Engine sleep level"),
    _fact("enforce_eager", "bool", "engine", "CUDA graphs off"),
    _fact("max_model_len", "int", "engine", "Engine length limit", "tokens"),
    _fact("max_num_seqs", "int", "engine", "Concurrent sequences"),
    _fact("max_num_batched_tokens", "int", "engine", "Tokens per engine step"),
    _fact("swap_space_gib", "number", "engine", "Swap space per GPU", "GiB"),
    # what a message measured; the batch interface gives these under "numbers"
    _fact("tried_alloc_gib", "number", "measured", "Asked for", "GiB"),
    _fact("gpu_total_gib", "number", "measured", "Capacity as printed", "GiB"),
    _fact("gpu_free_gib", "number", "measured", "Free as printed", "GiB"),
    _fact("process_gib", "number", "measured", "Held by the process", "GiB"),
    _fact("torch_allocated_gib", "number", "measured", "Allocated by torch", "GiB"),
    _fact("torch_reserved_gib", "number", "measured", "Reserved but unallocated", "GiB"),
    _fact("node_used_gb", "number", "measured", "Used on the node", "GiB"),
    _fact("node_total_gb", "number", "measured", "Total of the node", "GiB"),
)

FACTS: dict[str, FactSpec] = {spec.id: spec for spec in _ALL}
NUMBERS = tuple(spec.id for spec in _ALL if spec.group == "measured") + ("step",)

# What a key's written number counts. Each has a function of the same name in diagnose/batch.py, there and back.
BATCH_UNITS = {
    "sequences_per_gpu": "sequences that one GPU takes in one pass",
    "global_sequences": "sequences of all GPUs in one pass; divided by the data-parallel size",
    "global_sequences_times_n": "divided by the data-parallel size, then multiplied by the samples per prompt",
    "max_length_rows": "a token budget written as rows of the longest length",
    "tokens_times_sp": "tokens per GPU before the sequence is split among the sequence-parallel ranks",
    "tokens_per_gpu": "tokens that one GPU takes in one pass",
    "prompts": "prompts of the whole run",
}

# What can stay in memory. A framework file says in which phases, on which pool and under which condition.
RESIDENTS = {
    "actor_weights": "the trained model's weights, as the trainer stores them (its shard)",
    "actor_gradients": "its gradients (its shard)",
    "actor_optimizer": "Adam state and, where the trainer keeps them apart, fp32 masters (its shard)",
    "actor_masters": "the fp32 masters alone, 4 bytes a parameter, where an offload of the Adam state leaves them (its shard)",
    "actor_moments": "Adam's moments alone: actor_optimizer less the masters (its shard)",
    "gathered_weights": "the whole trained model in bf16, gathered from its shards so that the trainer itself can generate",
    "ref_weights": "the frozen reference model (its shard)",
    "critic_weights": "the critic's weights (its shard)",
    "critic_gradients": "the critic's gradients (its shard)",
    "critic_optimizer": "the critic's Adam state (its shard)",
    "reward_weights": "a reward model's weights",
    "engine_weights": "the rollout engine's own copy of the weights, split by its tensor parallel size",
    "kv_pool": "the engine's KV cache, as large as its rule makes it",
    "engine_graphs": "CUDA graphs and workspaces of the engine",
    "state_dict_copy": "a second copy of the trainer's shard, made to hand the weights to the engine",
    "swap_space": "pinned host memory that the engine sets aside for swapped sequences",
    "ref_gradient_buffer": "pinned buffer as large as the reference shard that FSDP1 CPU offload makes and never uses",
}

# What a framework does. A behaviour has one value out of its options, or a number where there are none.
BEHAVIOURS: dict[str, tuple[str, tuple[str, ...]]] = {
    "weight_bytes": ("bytes a parameter that the trainer stores for the trained model", ()),
    "gradient_bytes": ("bytes a parameter of its stored gradients", ()),
    "optimizer_bytes": ("bytes a parameter of Adam state and separate masters", ()),
    "ref_bytes": ("bytes a parameter of the reference model as it is stored", ()),
    "gather": ("what is put together for a forward pass", ("fsdp_units", "zero3", "none")),
    "logits_forward_bytes": ("bytes that one logit takes in a pass without gradient", ()),
    "logits_train_bytes": ("bytes that one logit takes at the start of the backward pass, all copies together", ()),
    "logits_rows": ("for which tokens logits are made", ("all", "response")),
    "loss_by_row": (
        "whether log-probs are taken row by row, so that a pass without gradient holds one row's copy",
        ("yes", "no"),
    ),
    "dynamic_length": ("what one row may measure", ("prompt_and_response", "start_and_prompt", "packed")),
    "sync_transient": (
        "what handing the weights over needs beside the residents",
        ("fsdp_full_tensor", "gather_model", "gather_in_parts", "gather_tensor", "bucket", "none"),
    ),
    "adam_temporaries": (
        "what the optimizer step needs for a moment",
        ("foreach", "fp32_gradients", "largest_shard", "none"),
    ),
    "load_on_gpu": ("what stands on the GPU while the trainer loads", ("shard_and_root", "whole_model", "shard")),
    "load_on_host": (
        "what loading takes on a node",
        ("one_rank_fp32", "every_rank_fp32", "one_rank_bf16", "every_rank_bf16", "none"),
    ),
    "kv_rule": (
        "how the engine sizes its KV cache",
        ("share_of_total", "share_of_free", "share_of_total_less_others", "dense"),
    ),
    "processes_per_gpu": ("processes with a CUDA context on one GPU", ()),
    "host_processes_per_gpu": ("Python processes on the host for one GPU", ()),
    "pinned_rounding": ("how host copies are rounded", ("power_of_two", "exact")),
    "checkpoint_on_host": ("what saving takes on a node", ("sharded_all", "whole_fp32", "whole_bf16", "none")),
    "sleep_backup": ("whether the sleeping engine keeps its weights on the host", ("yes", "no")),
    "images_on_host": ("copies of the step's image tensors on the host", ()),
}
