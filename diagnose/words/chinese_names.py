"""Phases, kinds and facts by their Chinese names, for the summary of an answer. Titles of records carry theirs themselves."""

from __future__ import annotations

from functools import reduce
from operator import or_

from diagnose.vocabulary import FACTS

PHASES = {
    "load": "加载",
    "init": "引擎启动",
    "weight_sync": "权重同步",
    "rollout": "采样",
    "logprob": "旧策略 log-prob",
    "ref_logprob": "参考 log-prob",
    "values": "价值估计",
    "reward": "奖励",
    "critic": "critic 更新",
    "actor_update": "策略更新",
    "optimizer_step": "优化器更新",
    "checkpoint": "保存 checkpoint",
    "eval": "评估",
}

POOLS = {"gpu": "显存", "host": "主机内存"}

# What failed, by kind; ``{pool}`` where the kind leaves it open.
CAUSE_OPEN = "有进程或调用失败，但文本没有说明是否内存耗尽"
KINDS = {
    "gpu_oom": "显存溢出",
    "gpu_oom_raw": "显存溢出",
    "vllm_no_kv_blocks": "引擎没有显存放 KV cache",
    "vllm_free_memory_too_low": "引擎启动时空闲显存不够",
    "host_ram": "主机内存溢出",
    "host_shm": "共享内存已满",
    "memory_growth": "{pool}逐步增长",
    "other": "内存耗尽，但文本没有说明是显存还是主机内存",
}

VERDICTS = {
    "out": "仍放不下",
    "close": "难以判断",
    "fits": "放得下",
    "unknown": "缺少信息",
    "open": "但估算不能解释这次失败",
}

RESULTS = {"same": "不改变训练结果", "may_change": "可能改变训练结果"}

# Those that an estimate may lack or a change may name without a key.
_FACTS = {
    "gpu_model": "显卡型号",
    "gpu_mem_gib": "单卡显存",
    "n_gpus": "总卡数",
    "trainer_gpus": "训练用的卡数",
    "n_nodes": "节点数",
    "gpus_per_node": "每个节点的卡数",
    "others_gib": "单卡上其他进程占用的显存",
    "host_ram_gb": "主机内存",
    "shm_gib": "/dev/shm 的大小",
    "framework": "框架",
    "model": "模型",
    "params_b": "参数量",
    "algo": "算法",
    "full_or_lora": "全参或 LoRA",
    "precision": "权重精度",
    "optimizer": "优化器",
    "optimizer_on_cpu": "优化器状态是否在主机内存里",
    "train_batch_size": "每步的 prompt 数",
    "rollout_n": "每个 prompt 的采样数",
    "micro_batch": "更新的 micro batch",
    "logprob_micro_batch": "log-prob 的 micro batch",
    "ref_logprob_micro_batch": "参考模型的 micro batch",
    "values_micro_batch": "critic 前向（values）的 micro batch",
    "critic_micro_batch": "critic 的 micro batch",
    "micro_tokens": "更新的 token 上限",
    "prompt_length": "prompt 长度上限",
    "response_length": "回答长度上限",
    "max_length": "单条长度上限",
    "real_response_length": "实际回答长度",
    "gpu_memory_utilization": "引擎的显存占比",
    "rollout_tp": "引擎的张量并行",
    "gradient_checkpointing": "激活重计算",
    "strategy": "分片方式",
    "zero_stage": "ZeRO 级别",
    "tp": "张量并行",
    "has_ref": "参考模型",
    "has_critic": "使用 critic",
    "activation_offload": "重计算检查点卸载到主机",
    "dataloader_workers": "数据加载进程数",
    "enforce_eager": "关闭 CUDA graph",
    "eval_micro_batch": "评估的 micro batch",
    "flash_attention": "FlashAttention",
    "fused_optimizer": "fused 优化器",
    "grad_offload": "更新之间卸载梯度",
    "gradient_accumulation": "梯度累积",
    "logits_chunked": "分块计算 logits",
    "lora_rank": "LoRA rank",
    "max_model_len": "引擎的长度上限",
    "max_num_batched_tokens": "引擎每步的 token 数",
    "max_num_seqs": "引擎的并发序列数",
    "max_pixels": "单张图片的像素数",
    "image_tiles": "单张图片的切块数",
    "engine_image_pixels": "引擎单张图片的像素上限",
    "engine_videos": "引擎每个 prompt 的视频数",
    "optimizer_offload": "更新之间卸载优化器状态",
    "param_offload": "阶段之间卸载权重",
    "param_on_cpu": "权重放在主机内存里",
    "precision_aware_optimizer": "precision-aware 优化器",
    "quantization": "基座权重的位数",
    "ref_offload": "参考模型放在主机内存里",
    "remove_padding": "去掉 padding",
    "rollout_mode": "引擎的位置",
    "sleep_level": "引擎的休眠级别",
    "sp": "序列并行",
}


def fact_name(id: str) -> str:
    """In Chinese where it has such a name, else as the English pages call it."""
    return _FACTS.get(id) or (FACTS[id].title if id in FACTS else id)


def joined(*parts: str) -> str:
    """One after the other, with a blank between Latin letters and Chinese ones."""
    return reduce(_joined, parts)


def _joined(before: str, after: str) -> str:
    signs = before[-1:], after[:1]
    latin = [sign.isascii() and sign.isalnum() for sign in signs]
    chinese = ["\u4e00" <= sign <= "\u9fff" for sign in signs]
    return f"{before} {after}" if any(latin) and all(map(or_, latin, chinese)) else before + after


def either(one: str, other: str) -> str:
    """``权重同步或引擎启动``."""
    return joined(one, "或", other)
