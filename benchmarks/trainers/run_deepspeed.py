"""Write tests/data/trainers/deepspeed.toml: steps of transformers' Trainer through DeepSpeed on the CPU, by ZeRO stage and precision.

pip install deepspeed transformers accelerate peft datasets
python benchmarks/trainers/run_deepspeed.py

DeepSpeed runs on its CPU accelerator with gloo between the ranks. Its fused Adam is the one that it compiles for the CPU; torch's takes
all tensors at once, as on a card.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.update({"DS_ACCELERATOR": "cpu", "DS_SKIP_CUDA_CHECK": "1", "OMP_NUM_THREADS": "1"})

import torch
import transformers
from accelerate import DistributedType, PartialState
from datasets import Dataset
from deepspeed.runtime.engine import DeepSpeedEngine
from recorder import in_processes, loads_counted, write
from small_model import CONFIG, saved_weights
from storages import Storages
from torch.optim import adam, adamw, lr_scheduler

LENGTH = 512
SMALL = {"reduce_bucket_size": 5_000_000}
LIVE = {"stage3_max_live_parameters": 4_000_000, "stage3_max_reuse_distance": 4_000_000}
GATHER = {**LIVE, "stage3_prefetch_bucket_size": 1_000_000, "stage3_param_persistence_threshold": 10_000}
AUTO = {
    "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto",
    "stage3_max_live_parameters": 1e9,
    "stage3_max_reuse_distance": 1e9,
}


def alone() -> None:
    """The names by which a single rank finds itself, as ``torchrun`` gives them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": port}.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # gloo alone
    lr_scheduler.zip = lambda *lists, strict=False: zip(
        *lists, strict=False
    )  # as torch before 2.10: DeepSpeed drops an empty group


def all_at_once() -> None:
    """Let torch's Adam take all tensors at once where nothing is asked for: its choice on a card, not on the CPU."""

    def chosen(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
        return False, True

    adam._default_to_fused_or_foreach = adamw._default_to_fused_or_foreach = chosen


def no_card_needed() -> None:
    """Let transformers take bf16, and accelerate DeepSpeed with gloo, where there is no card."""
    transformers.training_args.is_torch_bf16_gpu_available = lambda: True
    PartialState._prepare_backend = lambda *_: ("gloo", DistributedType.MULTI_CPU)


class AfterFirstStep(transformers.TrainerCallback):
    """Marks phases once Adam's state is there."""

    def __init__(self, recorder: Storages) -> None:
        self.recorder, self.trainer = recorder, None

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 1:
            self.recorder.wrap(self.trainer, "compute_loss", "actor_update")
            self.recorder.wrap(DeepSpeedEngine, "backward", "actor_update")
            self.recorder.wrap(DeepSpeedEngine, "step", "optimizer_step")


def train(folder: Path, run: dict[str, Any], lora: bool) -> dict[str, int]:
    """Three steps, of which the first makes the state."""
    alone()
    all_at_once()
    no_card_needed()
    rows = Dataset.from_list([{"input_ids": list(range(2, 2 + LENGTH)), "labels": list(range(2, 2 + LENGTH))}] * 64)
    with Storages() as recorder, loads_counted():
        args = transformers.TrainingArguments(
            str(folder / "out"), max_steps=3, report_to=[], save_strategy="no", ddp_backend="gloo", **run
        )
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.bfloat16)
        if lora:
            from peft import LoraConfig, get_peft_model

            model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear"))
        marks = AfterFirstStep(recorder)
        marks.trainer = trainer = transformers.Trainer(
            model, args, train_dataset=rows, data_collator=transformers.default_data_collator, callbacks=[marks]
        )
        trainer.train()
    return recorder.peaks()


def command(ranks: int, run: dict[str, Any], lora: bool) -> str:
    """What a person would paste: packages, command and configuration."""
    told = " ".join(f"--{name} {value}" for name, value in run.items() if name != "deepspeed")
    packages = " ".join(f"{name}=={sys.modules[name].__version__}" for name in ("deepspeed", "transformers", "torch"))
    adapters = " --use_peft --lora_r 16 --lora_dropout 0 --lora_target_modules all-linear" if lora else ""
    line = f"torchrun --nproc_per_node {ranks} train.py --deepspeed ds.json --model_name_or_path m {told}{adapters}"
    return f"{packages}\n{line} --max_length {LENGTH}\nds.json:\n{json.dumps(run['deepspeed'], indent=1)}"


def point(folder: Path, name: str, ranks: int, zero: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A point of ``zero_optimization``; ``types`` stands beside it in DeepSpeed's configuration, the rest is Trainer's."""
    types, lora, optimizer = (
        more.pop("types", {"bf16": {"enabled": True}}),
        more.pop("lora", False),
        more.pop("optimizer", None),
    )
    configuration = {
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        **types,
        **({"optimizer": optimizer} if optimizer else {}),
        "zero_optimization": zero,
    }
    own = {"bf16": True} if "bf16" in types else {"fp16": True}
    run = {
        "per_device_train_batch_size": 2,
        **({} if optimizer else {"optim": "adamw_torch"}),
        "gradient_checkpointing": False,
        "gradient_accumulation_steps": 1,
        **own,
        **more,
        "deepspeed": configuration,
    }
    peaks = in_processes(ranks, train, folder, run, lora)
    print(name, {phase: round(peak / 1e6, 1) for phase, peak in peaks.items()}, flush=True)
    return {
        "id": name,
        "paste": command(ranks, run, lora),
        "config": json.dumps(CONFIG),
        "answers": {"n_gpus": ranks, "real_response_length": LENGTH},
        "peaks": peaks,
    }


FP32_SUMS = {"types": {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}}
FUSED = {"optim": "adamw_torch_fused"}
RUNS: list[tuple[str, int, dict[str, Any], dict[str, Any]]] = [
    ("zero2", 2, {"stage": 2}, {}),
    ("zero3", 2, {"stage": 3}, {}),
    ("zero2-bucket", 2, {"stage": 2, **SMALL}, {}),
    ("zero1-bucket", 2, {"stage": 1, **SMALL}, {}),
    ("zero2-overlap", 2, {"stage": 2, "overlap_comm": True, **SMALL}, FUSED),
    ("zero3-live", 2, {"stage": 3, **SMALL, **GATHER}, {}),
    (
        "zero3-half-live",
        2,
        {
            "stage": 3,
            **SMALL,
            **GATHER,
            "stage3_max_live_parameters": 12_000_000,
            "stage3_max_reuse_distance": 12_000_000,
        },
        FUSED,
    ),
    ("zero3-auto", 2, {"stage": 3, **AUTO}, FUSED),
    ("zero2-checkpointing", 2, {"stage": 2, **SMALL}, {"gradient_checkpointing": True, **FUSED}),
    ("zero3-live-checkpointing", 2, {"stage": 3, **SMALL, **GATHER}, {"gradient_checkpointing": True, **FUSED}),
    ("zero0", 2, {"stage": 0}, {}),
    ("zero2-accumulates", 2, {"stage": 2, **SMALL}, {"gradient_accumulation_steps": 2, **FUSED}),
    ("zero1-accumulates", 2, {"stage": 1, **SMALL}, {"gradient_accumulation_steps": 2, **FUSED}),
    ("zero2-lora", 2, {"stage": 2, **SMALL}, {"lora": True, **FUSED}),
    ("zero3-lora", 2, {"stage": 3, **SMALL, **GATHER}, {"lora": True, **FUSED}),
    ("zero2-fp32-sums", 2, {"stage": 2, **SMALL}, {**FP32_SUMS, **FUSED}),
    ("zero3-fp32-sums", 2, {"stage": 3, **SMALL, **GATHER}, {**FP32_SUMS, **FUSED}),
    ("zero3-sub-groups", 2, {"stage": 3, "sub_group_size": 3_000_000, **SMALL, **GATHER}, {}),
    ("zero3-hpz", 4, {"stage": 3, "zero_hpz_partition_size": 2, **SMALL, **GATHER}, FUSED),
    ("zero3-auto-four", 4, {"stage": 3, **AUTO}, FUSED),
    ("zero2-four", 4, {"stage": 2, **SMALL}, FUSED),
    ("zero2-alone", 1, {"stage": 2, **SMALL}, FUSED),
    ("zero1-alone", 1, {"stage": 1, **SMALL}, {}),
    ("zero3-alone", 1, {"stage": 3, **SMALL}, FUSED),
    ("zero0-accumulates", 2, {"stage": 0}, {"gradient_accumulation_steps": 2, **FUSED}),
    ("zero2-fused-adam", 2, {"stage": 2, **SMALL}, {"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        saved_weights(folder, CONFIG)
        wanted = sys.argv[1:]
        points = [
            point(folder, name, ranks, zero, **more) for name, ranks, zero, more in RUNS if not wanted or name in wanted
        ]
    write("deepspeed", ("deepspeed", "transformers", "accelerate", "torch"), points)


if __name__ == "__main__":
    main()
