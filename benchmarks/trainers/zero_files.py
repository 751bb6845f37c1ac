"""What runs of a 7B through DeepSpeed share, small or at their real size: its shape and DeepSpeed's files."""

from __future__ import annotations

from typing import Any

WIDE = {"hidden_size": 3584, "intermediate_size": 18944, "vocab_size": 152064}
REST = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
}
REAL = {**REST, **WIDE}
MINICPM = {  # the sizes of openbmb/MiniCPM-2B-sft-bf16 in Llama's layers
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 2304,
    "intermediate_size": 5760,
    "num_hidden_layers": 40,
    "num_attention_heads": 36,
    "num_key_value_heads": 36,
    "vocab_size": 122753,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}
OFFLOADED: dict[str, Any] = {
    key: {"device": "cpu", "pin_memory": True} for key in ("offload_optimizer", "offload_param")
}
DEFAULTS: dict[str, Any] = {"stage": 3}  # what DeepSpeed takes where a file says nothing
# of ms-swift's and LLaMA-Factory's files
ZERO: dict[int, dict[str, Any]] = {
    2: {"stage": 2, "overlap_comm": False, "reduce_bucket_size": 200_000_000},
    3: {
        "stage": 3,
        "overlap_comm": False,
        "reduce_bucket_size": "auto",
        "sub_group_size": 1_000_000_000,
        "stage3_prefetch_bucket_size": "auto",
        "stage3_param_persistence_threshold": 35_840,
        "stage3_max_live_parameters": 1_000_000_000,
        "stage3_max_reuse_distance": 1_000_000_000,
    },
}


def configuration(zero: dict[str, Any]) -> dict[str, Any]:
    """DeepSpeed's file around a ``zero_optimization``."""
    return {
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "bf16": {"enabled": True},
        "zero_optimization": zero,
    } | ({"zero_force_ds_cpu_optimizer": False} if "offload_optimizer" in zero else {})
