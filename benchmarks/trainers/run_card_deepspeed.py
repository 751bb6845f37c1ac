"""Measure steps of transformers' Trainer through DeepSpeed on a real card, as the first of four ranks: a 7B with random weights.

pip install deepspeed transformers accelerate peft datasets nvidia-ml-py
python benchmarks/trainers/run_card_deepspeed.py OUT.jsonl SECONDS [ID …]

Files as in run_deepspeed_scale.py, at real widths. What the other ranks would send, card_group.py makes up; where a file overlaps,
DeepSpeed gathers and reduces on streams of its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["DS_SKIP_CUDA_CHECK"] = "1"

import card_group
import torch
import transformers
from on_card import Card, measure
from points import versions
from torch.optim import lr_scheduler
from zero_files import DEFAULTS, MINICPM, OFFLOADED, REAL, ZERO, configuration

RANKS = 4
PACKAGES = ("deepspeed", "transformers", "accelerate", "peft", "torch")
FUSED, FOREACH = {"optim": "adamw_torch_fused"}, {"optim": "adamw_torch"}
OVERLAP = {"overlap_comm": True}
POINTS: dict[str, tuple[dict[str, Any], int, dict[str, Any]]] = {
    "zero3": (ZERO[3], 4096, FUSED),
    "zero2": (ZERO[2], 4096, FUSED),
    "zero3-overlap": ({**ZERO[3], **OVERLAP}, 4096, FUSED),
    "zero3-lora": (ZERO[3], 4096, {**FUSED, "lora": True}),
    "zero2-overlap-foreach": ({**ZERO[2], **OVERLAP}, 2048, FOREACH),
    "zero3-long": (ZERO[3], 16384, FUSED),
    "zero3-kept": (ZERO[3], 2048, {**FOREACH, "gradient_checkpointing": False}),
    "zero3-offload-in-turn": ({**ZERO[3], **OFFLOADED}, 4096, FOREACH),
    "zero3-offload-overlap": ({**ZERO[3], **OFFLOADED, **OVERLAP}, 4096, FOREACH),
    "zero3-offload-defaults": ({**DEFAULTS, **OFFLOADED}, 1536, FOREACH),
    "zero3-offload-accumulated": ({**DEFAULTS, **OFFLOADED}, 1536, {**FOREACH, "gradient_accumulation_steps": 4}),
    "zero3-offload-2.7b": (
        {**DEFAULTS, **OFFLOADED, **OVERLAP},
        512,
        {**FOREACH, "gradient_checkpointing": False, "gradient_accumulation_steps": 8, "shape": MINICPM},
    ),
}


def as_one_of_many() -> None:
    """Let accelerate take the group that is there, and DeepSpeed drop an empty group as before torch 2.10."""
    from accelerate import state

    state.PartialState._prepare_backend = lambda *_: (card_group.NAME, state.DistributedType.MULTI_GPU)
    lr_scheduler.zip = lambda *lists, strict=False: zip(*lists, strict=False)


def train(run: dict[str, Any], shape: dict[str, Any], length: int, lora: bool) -> dict[str, Any]:
    """Three steps, of which the first makes the state."""
    from deepspeed.runtime.engine import DeepSpeedEngine

    torch.cuda.set_device(0)
    card_group.start(RANKS, "cuda")
    as_one_of_many()
    card = Card()
    ids = [2 + n % 1000 for n in range(length)]
    with tempfile.TemporaryDirectory() as place:
        args = transformers.TrainingArguments(
            place, max_steps=3, report_to=[], save_strategy="no", disable_tqdm=True, **run
        )
        config = transformers.AutoConfig.for_model(**shape)
        split_at_once = run["deepspeed"]["zero_optimization"]["stage"] == 3
        with nullcontext() if split_at_once else torch.device("cuda"):
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        if lora:
            from peft import LoraConfig, get_peft_model

            model.enable_input_require_grads()
            model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear"))
        card.wrap(transformers.Trainer, "compute_loss", "actor_update")
        card.wrap(DeepSpeedEngine, "backward", "actor_update")
        card.wrap(DeepSpeedEngine, "step", "optimizer_step")
        rows = [{"input_ids": ids, "labels": ids}] * 64
        transformers.Trainer(model, args, train_dataset=rows, data_collator=transformers.default_data_collator).train()
    each = run["gradient_accumulation_steps"]
    return card.found({"actor_update": 2 * each, "optimizer_step": each})


def point(name: str, zero: dict[str, Any], length: int, options: dict[str, Any]) -> dict[str, Any]:
    lora, shape = options.get("lora", False), options.get("shape", REAL)
    run = {
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 1,
        "gradient_checkpointing": True,
        "bf16": True,
    }
    run |= {key: value for key, value in options.items() if key not in ("lora", "shape")}
    told = " ".join(f"--{key} {value}" for key, value in run.items())
    adapters = " --use_peft --lora_r 16 --lora_dropout 0 --lora_target_modules all-linear" if lora else ""
    line = f"torchrun --nproc_per_node {RANKS} train.py --deepspeed ds.json --model_name_or_path m {told}{adapters}"
    return {
        "id": name,
        "run": train,
        "args": ({**run, "deepspeed": configuration(zero)}, shape, length, lora),
        "gib": 75,
        "paste": f"{versions(PACKAGES)}\n{line} --max_length {length}\nds.json:\n{json.dumps(configuration(zero), indent=1)}",
        "config": json.dumps(shape),
        "answers": {"n_gpus": RANKS, "gpu_model": "H200", "real_response_length": length},
    }


def main() -> None:
    out, seconds, *wanted = sys.argv[1:]
    points = [point(name, *POINTS[name]) for name in wanted or POINTS]
    measure(points, Path(out), time.time() + float(seconds))


if __name__ == "__main__":
    main()
