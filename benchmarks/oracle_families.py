"""Small models of published families, each with the kind of layer that a record of the catalogue says that it has."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import transformers
from oracle_measure import FUSED, Setting

BASE = {"hidden": 256, "layers": 4, "heads": 8, "kv_heads": 2, "intermediate": 704, "vocab": 1000}
VOCAB = BASE["vocab"]
_NAMES = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "intermediate": "intermediate_size",
    "vocab": "vocab_size",
    "head_dim": "head_dim",
    "active": "num_experts_per_tok",
    "width": "moe_intermediate_size",
    "dense_layers": "first_k_dense_replace",
    "key": "kv_lora_rank",
    "query": "q_lora_rank",
    "plain": "qk_nope_head_dim",
    "rotary": "qk_rope_head_dim",
    "value": "v_head_dim",
}
_SPARSE = {"experts": 8, "active": 2, "width": 192}
_LATENT = {"kv_heads": 1, "head_dim": 40, "key": 64, "plain": 32, "rotary": 16, "value": 32, "query": 96}
_ONE_GROUP = {"n_group": 1, "topk_group": 1, "num_key_value_heads": 8}
_ALL = {"layer_types": ["full_attention"] * BASE["layers"]}
_NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attention_dropout": 0.0}


@dataclass(frozen=True)
class Family:
    """``record``: whose kind of layer; ``shape``: numbers beside ``BASE``, by the record's names; ``more``: what else its class takes."""

    config: str
    record: str
    shape: dict[str, int] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, int]:
        return {**BASE, **self.shape}

    def kept_settings(self) -> list[Setting]:
        """What is asked of its decoder."""
        base = Setting(attention=FUSED)
        return [base, *self._of_dense(base)]

    def step_settings(self) -> list[Setting]:
        """What is asked of its whole step."""
        base = Setting(rows=4, checkpointing="on")
        return [base, replace(base, checkpointing="off"), *self._of_dense(base)]

    def _of_dense(self, base: Setting) -> list[Setting]:
        """Experts are stacked parameters, which adapters on linear layers leave out, and autocast does not know grouped_mm."""
        return [] if "experts" in self.shape else [replace(base, precision="mixed"), replace(base, lora_rank=8)]

    def made(self) -> transformers.PretrainedConfig:
        """The transformers configuration; the number of experts goes by each of the names that these classes have for it.

        A record's one head of latent attention stands for what the cache holds: the configuration has others.
        """
        cached = ("head_dim", "kv_heads") if "key" in self.shape else ()
        named = {_NAMES[key]: number for key, number in self.numbers.items() if key in _NAMES and key not in cached}
        experts = self.shape.get("experts")
        counts = dict.fromkeys(("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"), experts)
        ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        return getattr(transformers, self.config)(**ends, **({**named, **(counts if experts else {}), **self.more}))


FAMILIES = {
    "gemma": Family("GemmaConfig", "gemma-2b", {"head_dim": 64}),
    "gemma-2": Family("Gemma2Config", "gemma-2-2b", {"head_dim": 64}, _ALL),
    "gemma-3": Family("Gemma3TextConfig", "gemma-3-1b", {"head_dim": 64}, _ALL),
    "phi-3": Family("Phi3Config", "phi-3-mini", {"kv_heads": 8}, _NO_DROPOUT),
    "phi-4-mini": Family("Phi3Config", "phi-4-mini", {}, {**_NO_DROPOUT, "tie_word_embeddings": True}),
    "glm-4": Family("Glm4Config", "glm-4-9b-0414", {"head_dim": 32}),
    "olmo-3": Family("Olmo3Config", "olmo-3-7b", {}, _ALL),
    "smollm3": Family("SmolLM3Config", "smollm3-3b"),
    "seed-oss": Family(
        "SeedOssConfig", "seed-oss-36b", {"head_dim": 32}, {"attention_dropout": 0.0, "residual_dropout": 0.0}
    ),
    "ernie-4.5": Family("Ernie4_5Config", "ernie-4.5-0.3b", {"head_dim": 32}),
    "qwen3.5": Family("Qwen3_5TextConfig", "qwen3.5-4b", {"head_dim": 32}, {**_ALL, "tie_word_embeddings": True}),
    "qwen3-next": Family(
        "Qwen3NextConfig",
        "qwen3-next-80b-a3b",
        {"head_dim": 32, **_SPARSE, "shared": 192},
        {**_ALL, "shared_expert_intermediate_size": 192},
    ),
    "qwen1.5-moe": Family(
        "Qwen2MoeConfig", "qwen1.5-moe-a2.7b", {**_SPARSE, "shared": 384}, {"shared_expert_intermediate_size": 384}
    ),
    "mixtral": Family("MixtralConfig", "mixtral-8x7b", {**_SPARSE, "width": 704}),
    "olmoe": Family("OlmoeConfig", "olmoe-1b-7b", {**_SPARSE, "width": 704}),
    "minimax-m2": Family("MiniMaxM2Config", "minimax-m2", {"head_dim": 32, **_SPARSE, "width": 704}),
    "hunyuan": Family(
        "HunYuanMoEV1Config",
        "hunyuan-a13b",
        {"head_dim": 32, **_SPARSE, "width": 704, "shared": 704},
        {"moe_topk": 2},
    ),
    "gpt-oss": Family("GptOssConfig", "gpt-oss-20b", {"head_dim": 32, **_SPARSE, "width": 704}),
    "ernie-4.5-moe": Family(
        "Ernie4_5_MoeConfig",
        "ernie-4.5-21b-a3b",
        {**_SPARSE, "shared": 384, "dense_layers": 1},
        {"moe_k": 2, "moe_num_shared_experts": 2, "moe_layer_start_index": 1},
    ),
    "glm-4.5": Family(
        "Glm4MoeConfig",
        "glm-4.5-air",
        {"head_dim": 32, **_SPARSE, "shared": 192, "dense_layers": 1},
        {"n_shared_experts": 1, "n_group": 1, "topk_group": 1},
    ),
    "deepseek-v2": Family(
        "DeepseekV2Config",
        "deepseek-v2-lite",
        {**_SPARSE, **_LATENT, "shared": 384, "dense_layers": 1, "query": 0},
        {"n_shared_experts": 2, "q_lora_rank": None, **_ONE_GROUP},
    ),
    "deepseek-v3": Family(
        "DeepseekV3Config",
        "deepseek-v3",
        {**_SPARSE, **_LATENT, "shared": 192, "dense_layers": 1},
        {"n_shared_experts": 1, **_ONE_GROUP},
    ),
    "glm-4.7-flash": Family(
        "Glm4MoeLiteConfig",
        "glm-4.7-flash",
        {**_SPARSE, **_LATENT, "shared": 192, "dense_layers": 1, "value": 48},
        {"n_shared_experts": 1, **_ONE_GROUP},
    ),
    "llama-4": Family(
        "Llama4TextConfig",
        "llama-4-scout-17b-16e",
        {"head_dim": 32, **_SPARSE, "active": 1, "width": 704, "shared": 704},
        {"intermediate_size_mlp": 704, **_ALL},
    ),
}

# Those whose whole step is measured, with PyTorch's own attention: its kernel on the CPU takes values as wide as queries only.
STEPS = (
    "gemma-3",
    "phi-4-mini",
    "glm-4",
    "olmo-3",
    "ernie-4.5",
    "qwen3.5",
    "mixtral",
    "qwen3-next",
    "glm-4.5",
    "glm-4.7-flash",
)

# vision towers by the record that has one of their kind
TOWERS = {
    "qwen3-vl": "qwen3-vl-8b",
    "internvl": "internvl3-8b",
    "siglip": "gemma-3-4b",
    "clip": "llava-1.5-7b",
}
TOWER = {"hidden": 320, "intermediate": 1280}
