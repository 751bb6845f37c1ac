"""Every fact: id, type, unit, words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from diagnose.vocabulary.failure import KINDS, PHASES


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
    _fact("engine_maps_pool", "bool", "failure", "The engine takes its memory at that moment"),
    _fact("worked_before", "bool", "failure", "Worked with older versions"),
    _fact("asks_hardware", "bool", "failure", "Asks what hardware it takes"),
    _fact("planned", "bool", "failure", "Has not run yet"),
    _fact("steps_passed", "bool", "failure", "Some steps went through"),
    # machine
    _fact("gpu_model", "text", "machine", "GPU"),
    _fact("gpu_mem_gib", "number", "machine", "Memory of one GPU", "GB as sold"),
    _fact("n_gpus", "int", "machine", "GPUs of the whole run"),
    _fact("trainer_gpus", "int", "machine", "GPUs that train"),
    _fact("n_nodes", "int", "machine", "Nodes"),
    _fact("gpus_per_node", "int", "machine", "GPUs per node"),
    _fact("cards_per_process", "int", "machine", "Cards that one process sees"),
    _fact("host_ram_gb", "number", "machine", "Host RAM per node", "GiB"),
    # run
    _fact("framework", "text", "run", "Framework"),
    _fact("framework_version", "text", "run", "Version"),
    _fact("model", "text", "run", "Model"),
    _fact("params_b", "number", "run", "Parameters", "billions"),
    _fact("teacher", "text", "run", "Teacher model"),
    _fact("teacher_b", "number", "run", "Teacher's parameters", "billions"),
    _fact("teacher_is_base", "bool", "run", "Teacher is the model before training"),
    _fact("teacher_zero_stage", "int", "memory", "ZeRO stage of the teacher"),
    _fact("multimodal", "bool", "run", "Reads images"),
    _fact("dataset", "text", "run", "Data set"),
    _fact("trains", "bool", "run", "Trains a model"),
    _fact("algo", "text", "run", "Algorithm"),
    _fact(
        "full_or_lora",
        "choice",
        "run",
        "Training",
        full="full parameters",
        part="a part of the layers",
        lora="LoRA",
        qlora="QLoRA",
    ),
    _fact("trained_layers", "int", "run", "Decoder layers that are trained"),
    _fact("partial_training", "bool", "run", "Trains less than is counted"),
    _fact("lora_rank", "int", "run", "LoRA rank"),
    _fact(
        "lora_layers",
        "choice",
        "run",
        "Layers with adapters",
        all_linear="all linear layers",
        query_value="query and value",
        query_key_value="query, key and value",
        attention="all of the attention",
    ),
    _fact("trains_embeddings", "bool", "run", "Embedding and head trained beside adapters"),
    _fact("trains_vision", "bool", "run", "Vision tower trained whole beside adapters"),
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
    _fact("autocast", "bool", "run", "Computes under autocast"),
    _fact("fp16_overflows", "bool", "run", "Activations leave the range of fp16"),
    _fact("fp32_activations", "bool", "run", "Activations in fp32 beside 16-bit products"),
    _fact(
        "quantization",
        "choice",
        "run",
        "Base weights in",
        nf4="nf4",
        int4="int4",
        int8="int8",
        fp8="fp8",
        nvfp4="nvfp4",
        none="16 bits",
    ),
    _fact("experts_quantized", "bool", "run", "Experts of one tensor quantized as well"),
    _fact("double_quant", "bool", "run", "Scales of the 4-bit weights quantized as well"),
    _fact("norms_fp32", "bool", "run", "Norms cast to fp32 beside quantized layers"),
    _fact("optimizer", "text", "run", "Optimizer"),
    _fact("optimizer_rank", "int", "run", "Rank of projected gradients"),
    _fact("gradients_by_layer", "bool", "run", "Each gradient used and dropped as it comes"),
    _fact("retriever", "bool", "run", "Retrieval index on these GPUs"),
    _fact("only_validates", "bool", "run", "Validates and trains nothing"),
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
    _fact("max_steps", "int", "sizes", "Optimizer steps of the whole run"),
    _fact("prompt_length", "int", "sizes", "Prompt limit", "tokens"),
    _fact("response_length", "int", "sizes", "Response limit", "tokens"),
    _fact("max_length", "int", "sizes", "Length limit of a row", "tokens"),
    _fact("real_prompt_length", "int", "sizes", "Real prompt length", "tokens"),
    _fact("real_response_length", "int", "sizes", "Real response length", "tokens"),
    _fact("longest_prompt_length", "int", "sizes", "Longest real prompt", "tokens"),
    _fact("longest_response_length", "int", "sizes", "Longest real response", "tokens"),
    _fact("longest_met_length", "int", "sizes", "Longest row in so few steps", "tokens"),
    _fact("usual_response_length", "int", "sizes", "Usual response in public runs", "tokens"),
    _fact("start_length", "int", "sizes", "First prompt kept for training", "tokens"),
    _fact("max_turns", "int", "sizes", "Turns of a conversation"),
    _fact("max_pixels", "int", "sizes", "Pixels of an image"),
    _fact("image_pixels", "int", "sizes", "Pixels of a usual image"),
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
    _fact("first_stage_layers", "int", "memory", "Layers of the first pipeline stage"),
    _fact("last_stage_layers", "int", "memory", "Layers of the last pipeline stage"),
    _fact("mtp_layers", "int", "memory", "Layers that predict further tokens"),
    _fact("sp", "int", "memory", "Sequence parallel"),
    _fact("ep", "int", "memory", "Expert parallel"),
    _fact("etp", "int", "memory", "Tensor parallel of each expert"),
    _fact("sequence_parallel", "bool", "memory", "Tensor-parallel ranks split the sequence too"),
    _fact("param_offload", "bool", "memory", "Weights offloaded between phases"),
    _fact("optimizer_offload", "bool", "memory", "Adam state offloaded between updates"),
    _fact("grad_offload", "bool", "memory", "Gradients offloaded between updates"),
    _fact("ref_offload", "bool", "memory", "Reference weights on the host"),
    _fact("critic_param_offload", "bool", "memory", "Critic weights offloaded between phases"),
    _fact("critic_optimizer_offload", "bool", "memory", "Critic Adam state offloaded between updates"),
    _fact("param_on_cpu", "bool", "memory", "Weights live on the host"),
    _fact("optimizer_on_cpu", "bool", "memory", "Optimizer lives on the host"),
    _fact("optimizer_cpu_fraction", "number", "memory", "Share of the optimizer on the host"),
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
    _fact("reentrant_checkpointing", "bool", "memory", "Layers recomputed in a backward pass of their own"),
    _fact("activation_offload", "bool", "memory", "Checkpoints offloaded"),
    _fact("flash_attention", "bool", "memory", "FlashAttention"),
    _fact("remove_padding", "bool", "memory", "Padding removed"),
    _fact("entropy_in_loss", "bool", "memory", "Entropy in the loss"),
    _fact("logits_chunked", "bool", "memory", "Logits in chunks"),
    _fact("fused_loss", "bool", "memory", "Cross-entropy in one compiled kernel"),
    _fact("fused_optimizer", "bool", "memory", "Fused optimizer step"),
    _fact("freeze_vision", "bool", "memory", "Vision tower frozen"),
    _fact("sync_batches", "int", "memory", "Weight sync in parts"),
    _fact("sync_ref", "bool", "memory", "Reference brought up to date during the run"),
    _fact("sync_bucket_mib", "int", "memory", "Weight-sync buffer", "MiB"),
    _fact("expandable_segments", "bool", "memory", "Expandable segments"),
    _fact("dataloader_workers", "int", "memory", "Dataloader workers"),
    _fact("ray_memory_threshold", "number", "memory", "Ray's memory threshold"),
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
    _fact("rollout_ep", "int", "engine", "GPUs over which the engine spreads experts"),
    _fact("sleep_level", "int", "engine", "Engine sleep level"),
    _fact("enforce_eager", "bool", "engine", "CUDA graphs off"),
    _fact("engine_lora", "bool", "engine", "Adapter handed to the engine by itself"),
    _fact("engine_lora_rank", "int", "engine", "Adapter rank that the engine has room for"),
    _fact("engine_shares_weights", "bool", "engine", "Engine works with the trainer's own base weights"),
    _fact("max_model_len", "int", "engine", "Engine length limit", "tokens"),
    _fact("max_num_seqs", "int", "engine", "Concurrent sequences"),
    _fact("max_num_batched_tokens", "int", "engine", "Tokens per engine step"),
    _fact("swap_space_gib", "number", "engine", "Swap space per GPU", "GiB"),
    _fact(
        "engine_quantization", "choice", "engine", "Engine's weights in", fp8="fp8", int8="int8", int4="int4", nf4="nf4"
    ),
    _fact("kv_cache_dtype", "choice", "engine", "Engine's cache in", auto="the type of the weights", fp8="fp8"),
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

# What follows from printed figures and from the estimate; only the ranks of a lever may name these beside the facts.
SIGNS = {
    "fragmented": "the message leaves more free than was asked for, or much reserved that nothing uses",
    "foreign_gib": "GiB on the card that neither this process holds nor anybody can have",
    "judged": "true: the estimate lacks nothing, and the limit is known",
    "explained": "false: the settings that are known leave a third of the card free in every phase",
}
