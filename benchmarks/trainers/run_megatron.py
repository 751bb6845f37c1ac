"""Write tests/data/trainers/megatron.toml: steps of Megatron-core on the CPU, with Transformer Engine's modules.

pip install megatron-core transformer_engine einops pydantic onnx onnxscript (transformer_engine with --no-deps)
python benchmarks/trainers/run_megatron.py
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import megatron_cpu
import te_kernels
import torch

megatron_cpu.install()
te_kernels.install()

from megatron.core import parallel_state, tensor_parallel  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig  # noqa: E402
from megatron.core.models.gpt import GPTModel, gpt_layer_specs  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig  # noqa: E402
from recorder import Recorder, in_processes, write  # noqa: E402

CONFIG = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 512,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 1408,
    "vocab_size": 8192,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
LENGTH = 512


def megatron_config(config: dict[str, Any], options: dict[str, Any]) -> TransformerConfig:
    """What a launcher makes of a model's config.json and of its own flags."""
    latent = "kv_lora_rank" in config
    known: dict[str, Any] = {
        "num_layers": config["num_hidden_layers"],
        "hidden_size": config["hidden_size"],
        "num_attention_heads": config["num_attention_heads"],
        "num_query_groups": None if latent else config["num_key_value_heads"],
        "kv_channels": config.get("head_dim"),
        "ffn_hidden_size": config["intermediate_size"],
        "qk_layernorm": config["model_type"] in ("qwen3", "qwen3_moe") or latent,
        "add_qkv_bias": config["model_type"] == "qwen2",
        "add_bias_linear": False,
        "normalization": "RMSNorm",
        "gated_linear_unit": True,
        "activation_func": torch.nn.functional.silu,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "bf16": True,
        "params_dtype": torch.bfloat16,
        "pipeline_dtype": torch.bfloat16,
        "use_cpu_initialization": True,
        "bias_activation_fusion": True,
        "apply_rope_fusion": not latent,
        "gradient_accumulation_fusion": True,
        "variable_seq_lengths": False,
    }
    return (MLATransformerConfig if latent else TransformerConfig)(**{**known, **options})


def parts(config: dict[str, Any], settings: TransformerConfig, stages: int, virtual: int | None) -> list[GPTModel]:
    """The parts of the model that this rank holds."""
    found = []
    for part in range(virtual or 1):
        vp = {} if virtual is None else {"vp_stage": part}
        if virtual:
            parallel_state.set_virtual_pipeline_model_parallel_rank(part)
        if settings.num_moe_experts:
            layers = gpt_layer_specs.get_gpt_decoder_block_spec(settings, use_transformer_engine=True, **vp)
        else:
            layers = gpt_layer_specs.get_gpt_layer_with_transformer_engine_spec(qk_layernorm=settings.qk_layernorm)
        further = {}
        if settings.mtp_num_layers:
            further["mtp_block_spec"] = gpt_layer_specs.get_gpt_mtp_block_spec(
                settings, layers, use_transformer_engine=True, **vp
            )
        model = GPTModel(
            settings,
            layers,
            vocab_size=config["vocab_size"],
            max_sequence_length=LENGTH,
            pre_process=parallel_state.is_pipeline_first_stage(ignore_virtual=False, **vp),
            post_process=parallel_state.is_pipeline_last_stage(ignore_virtual=False, **vp),
            parallel_output=True,
            share_embeddings_and_output_weights=config["tie_word_embeddings"],
            position_embedding_type="rope",
            rotary_base=1000000,
            **further,
            **vp,
        )
        found.append(model.bfloat16())
    return found


def train(config: dict[str, Any], options: dict[str, Any], run: dict[str, Any]) -> dict[str, int]:
    """Three steps of one rank; the first one makes the optimizer's state."""
    if not torch.distributed.is_initialized():
        megatron_cpu.join()
    tp, pp, ep = (run.get(id, 1) for id in ("tp", "pp", "ep"))
    virtual = run.get("virtual")
    with Recorder() as recorder:
        parallel_state.initialize_model_parallel(
            tp, pp, virtual, expert_model_parallel_size=ep, expert_tensor_parallel_size=run.get("etp", 1)
        )
        tensor_parallel.model_parallel_cuda_manual_seed(7)
        torch.manual_seed(torch.distributed.get_rank())
        sizes = {"tensor_model_parallel_size": tp, "pipeline_model_parallel_size": pp, "expert_model_parallel_size": ep}
        sizes |= {"virtual_pipeline_model_parallel_size": virtual, "expert_tensor_parallel_size": run.get("etp", 1)}
        settings = megatron_config(config, {**sizes, "sequence_parallel": tp > 1 and run.get("sp", True), **options})
        buffers = DistributedDataParallelConfig(
            grad_reduce_in_fp32=run.get("gradients_fp32", True),
            use_distributed_optimizer=True,
            overlap_grad_reduce=run.get("overlap", False),
            overlap_param_gather=run.get("overlap", False),
        )
        model = [DistributedDataParallel(settings, buffers, part) for part in parts(config, settings, pp, virtual)]
        adam = {key: value for key, value in run.items() if key.startswith(("use_precision", "exp_avg", "main_"))}
        optimizer = get_megatron_optimizer(
            OptimizerConfig(optimizer="adam", lr=1e-5, bf16=True, use_distributed_optimizer=True, **adam), model
        )
        settings.finalize_model_grads_func = _finalize
        settings.grad_scale_func = optimizer.scale_loss
        recorder.wrap(optimizer, "step", "optimizer_step")
        recorder.wrap(sys.modules[__name__], "update", "actor_update")
        for _ in range(3):
            for part in model:
                part.zero_grad_buffer()
            optimizer.zero_grad()
            update(model, config, run)
            optimizer.step()
    return recorder.peaks(skip=1)


def _finalize(model: list[Any], tokens: Any = None, **more: Any) -> None:
    from megatron.core.distributed import finalize_model_grads

    finalize_model_grads(model, tokens, **more)


def update(model: list[Any], config: dict[str, Any], run: dict[str, Any]) -> None:
    """The forward and backward passes of one step."""
    rows = run.get("micro_batch", 2)

    def batches() -> Any:
        while True:
            yield torch.randint(0, config["vocab_size"], (rows, LENGTH + 1))

    def loss(output: torch.Tensor) -> tuple[torch.Tensor, dict]:
        return output.float().mean(), {}

    def forward(data: Any, part: Any) -> Any:
        batch = next(data)
        tokens, labels = batch[:, :-1].contiguous(), batch[:, 1:].contiguous()
        places = torch.arange(LENGTH).expand(rows, -1)
        return part(tokens, places, None, labels=labels), loss

    get_forward_backward_func()(
        forward_step_func=forward,
        data_iterator=[batches() for _ in model] if len(model) > 1 else batches(),
        model=model if len(model) > 1 else model[0],
        num_microbatches=run.get("micro_batches", 1),
        seq_length=LENGTH,
        micro_batch_size=rows,
        forward_only=False,
    )


def point(
    name: str, config: dict[str, Any], flags: str = "", options: dict[str, Any] | None = None, **run: Any
) -> dict[str, Any]:
    """A run of so many processes as its parts ask for; ``flags`` are those of a launcher that say the same."""
    cards = run.get("tp", 1) * run.get("pp", 1) * run.get("dp", 1)
    rows, copies = run.get("micro_batch", 2), cards // (run.get("tp", 1) * run.get("pp", 1))
    sizes = f"--micro-batch-size {rows} --global-batch-size {rows * copies * run.get('micro_batches', 1)} --seq-length {LENGTH}"
    command = f"torchrun --nproc_per_node {cards} pretrain_gpt.py --bf16 --use-distributed-optimizer {sizes} {flags}"
    return {
        "id": name,
        "paste": f"{command.strip()}\nmegatron-core=={version('megatron-core')}",
        "config": json.dumps(config),
        "answers": {"n_gpus": cards},
        "peaks": in_processes(cards, train, config, options or {}, run),
    }


EACH_LAYER = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
FULL = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
TP = "--tensor-model-parallel-size 2 --sequence-parallel"
PP = "--pipeline-model-parallel-size 2"


def dense() -> list[dict[str, Any]]:
    qwen3 = {**CONFIG, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 64}
    llama = {**CONFIG, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    tied = {**CONFIG, "tie_word_embeddings": True}
    long = {**llama, "vocab_size": 512}
    mlp = {"recompute_granularity": "selective", "recompute_modules": ["mlp"]}
    return [
        point("qwen2", CONFIG),
        point("qwen2-full", CONFIG, EACH_LAYER, FULL),
        point("qwen3", qwen3, "--main-grads-dtype fp32"),
        point("llama-rows", long, "", micro_batch=8),
        point("llama-rows-full", long, EACH_LAYER, FULL, micro_batch=8),
        point("llama-rows-mlp", long, "--recompute-granularity selective --recompute-modules mlp", mlp, micro_batch=8),
        point("tied", tied),
        point("tp2", CONFIG, TP, tp=2),
        point("tp2-whole-sequence", CONFIG, "--tensor-model-parallel-size 2", tp=2, sp=False),
        point("tp2-full", CONFIG, f"{TP} {EACH_LAYER}", FULL, tp=2),
        point("pp2", CONFIG, PP, pp=2, micro_batches=4),
        point("pp2-tied", tied, PP, pp=2, micro_batches=4),
        point("pp2-rows", long, PP, pp=2, micro_batches=4, micro_batch=4),
        point("pp2-rows-full", long, f"{PP} {EACH_LAYER}", FULL, pp=2, micro_batches=4, micro_batch=8),
        point("dp2", CONFIG, dp=2),
        point("dp2-overlap", CONFIG, "--overlap-grad-reduce --overlap-param-gather", dp=2, overlap=True),
    ]


def main() -> None:
    write("megatron", ("megatron-core", "transformer_engine", "torch"), dense())


if __name__ == "__main__":
    main()
