"""Write tests/data/trainers/megatron_moe.toml: steps of Megatron-core's layers with experts on the CPU, as run_megatron.py makes them.

python benchmarks/trainers/run_megatron_moe.py
"""

from __future__ import annotations

from typing import Any

from recorder import write
from run_megatron import CONFIG, EACH_LAYER, FULL, PP, TP, point

EXPERTS = {"num_experts": 32, "num_experts_per_tok": 8, "moe_intermediate_size": 192, "decoder_sparse_step": 1}
QWEN3 = {
    **CONFIG,
    **EXPERTS,
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "head_dim": 64,
    "vocab_size": 512,
    "norm_topk_prob": True,
}
MIXTRAL = {
    **CONFIG,
    "model_type": "mixtral",
    "architectures": ["MixtralForCausalLM"],
    "num_hidden_layers": 4,
    "intermediate_size": 704,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 512,
}
DEEPSEEK = {
    **CONFIG,
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "num_hidden_layers": 4,
    "num_key_value_heads": 8,
    "moe_intermediate_size": 192,
    "n_routed_experts": 32,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 192,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "vocab_size": 512,
}


def experts(config: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The options of Megatron for a model's experts."""
    width = config.get("moe_intermediate_size") or config["intermediate_size"]
    found = {
        "num_moe_experts": next(
            config[id] for id in ("num_experts", "num_local_experts", "n_routed_experts") if id in config
        ),
        "moe_router_topk": config["num_experts_per_tok"],
        "moe_ffn_hidden_size": width,
        "moe_grouped_gemm": True,
        "moe_token_dispatcher_type": "alltoall",
        "moe_router_load_balancing_type": "aux_loss",
        "moe_aux_loss_coeff": 1e-3,
        "moe_router_dtype": "fp32",
    }
    if "kv_lora_rank" in config:
        found |= {
            "q_lora_rank": config["q_lora_rank"],
            "kv_lora_rank": config["kv_lora_rank"],
            "qk_head_dim": config["qk_nope_head_dim"],
            "qk_pos_emb_head_dim": config["qk_rope_head_dim"],
            "v_head_dim": config["v_head_dim"],
            "multi_latent_attention": True,
            "rope_type": "rope",
            "moe_shared_expert_intermediate_size": width * config["n_shared_experts"],
            "moe_layer_freq": [0] * config["first_k_dense_replace"] + [1] * (config["num_hidden_layers"] - 1),
        }
    return {**found, **options}


def modules(*names: str) -> tuple[str, dict[str, Any]]:
    """Flags and options that recompute these modules alone."""
    flags = f"--recompute-granularity selective --recompute-modules {' '.join(names)}"
    return flags, {"recompute_granularity": "selective", "recompute_modules": list(names)}


def main() -> None:
    rows, ep = 8, "--expert-model-parallel-size 2"
    layer, act, norm = (modules(name) for name in ("moe", "moe_act", "layernorm"))
    up, shared = modules("mla_up_proj"), modules("shared_experts")
    points = [
        point("qwen3", QWEN3, "", experts(QWEN3), micro_batch=rows),
        point("qwen3-fused", QWEN3, "--moe-permute-fusion", experts(QWEN3, moe_permute_fusion=True), micro_batch=rows),
        point("qwen3-full", QWEN3, EACH_LAYER, experts(QWEN3, **FULL), micro_batch=rows),
        point("qwen3-moe", QWEN3, layer[0], experts(QWEN3, **layer[1]), micro_batch=rows),
        point("qwen3-moe-act", QWEN3, act[0], experts(QWEN3, **act[1]), micro_batch=rows),
        point("qwen3-layernorm", QWEN3, norm[0], experts(QWEN3, **norm[1]), micro_batch=rows),
        point("qwen3-ep2", QWEN3, ep, experts(QWEN3), dp=2, ep=2, micro_batch=4),
        point("qwen3-ep2-full", QWEN3, f"{ep} {EACH_LAYER}", experts(QWEN3, **FULL), dp=2, ep=2, micro_batch=4),
        point("qwen3-tp2-ep2-full", QWEN3, f"{TP} {ep} --expert-tensor-parallel-size 1 {EACH_LAYER}",
              experts(QWEN3, **FULL), tp=2, ep=2, micro_batch=rows),
        point("qwen3-pp2-full", QWEN3, f"{PP} {EACH_LAYER}", experts(QWEN3, **FULL), pp=2, micro_batches=2, micro_batch=4),
        point("mixtral-full", MIXTRAL, EACH_LAYER, experts(MIXTRAL, **FULL), micro_batch=rows),
        point("mixtral-ep2", MIXTRAL, ep, experts(MIXTRAL), dp=2, ep=2, micro_batch=4),
        point("deepseek", DEEPSEEK, "", experts(DEEPSEEK), micro_batch=4),
        point("deepseek-full", DEEPSEEK, EACH_LAYER, experts(DEEPSEEK, **FULL), micro_batch=rows),
        point("deepseek-up-proj", DEEPSEEK, up[0], experts(DEEPSEEK, **up[1]), micro_batch=4),
        point("deepseek-shared", DEEPSEEK, shared[0], experts(DEEPSEEK, **shared[1]), micro_batch=4),
    ]  # fmt: skip
    write("megatron_moe", ("megatron-core", "transformer_engine", "torch"), points)


if __name__ == "__main__":
    main()
