"""Write tests/data/trainers/fsdp.toml: steps of transformers' own Trainer under accelerate's FSDP on the CPU, as one rank of several.

pip install transformers accelerate
python benchmarks/trainers/run_fsdp.py [ID …]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import as_card
import card_group
import torch
from passes import PROMPT, RESPONSE
from recorder import Recorder, in_fork, loads_counted, write
from small_model import NARROW, saved

LENGTH = 2 * (PROMPT + RESPONSE)
LAYER = "Qwen2DecoderLayer"
V2 = {
    "version": "2",
    "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "transformer_layer_cls_to_wrap": LAYER,
    "reshard_after_forward": "true",
}
UPCAST = "accelerate makes what FSDP trains fp32 where mixed precision is on; the type that a script loads is taken"
_NAMED = {"transformer_layer_cls_to_wrap": "transformer_cls_to_wrap"}
POINTS: dict[str, dict[str, Any]] = {
    "full": {},
    "full-8-ranks": {"ranks": 8},
    "full-accumulated": {"steps": 4},
    "grad-op": {"fsdp": "shard_grad_op auto_wrap"},
    "checkpointing": {"checkpointing": True},
    "bf16-weights": {"dtype": "bfloat16", "off": {"actor_update": 0.08, "optimizer_step": 0.55}, "why": UPCAST},
    "v2": {"launch": {}},
    "v2-kept": {"launch": {"reshard_after_forward": "false"}},
    "v2-checkpointing": {"launch": {}, "checkpointing": True},
    "v2-accumulated": {"launch": {}, "steps": 4},
}


def as_one_of_many() -> None:
    """Let accelerate take the group that is there for one of GPUs."""
    from accelerate import state
    from accelerate.utils import dataclasses

    def backend(*_: Any, **__: Any) -> Any:
        return card_group.NAME, state.DistributedType.MULTI_GPU

    def device(self: Any) -> None:
        self.device = torch.device("cpu")

    dataclasses.is_cuda_available = lambda: True
    state.PartialState._prepare_backend = backend
    state.PartialState.set_device = device


def step(folder: Path, options: dict[str, Any], dtype: str, ranks: int, flags: dict[str, str]) -> dict[str, int]:
    if flags:  # as accelerate launch hands them on
        os.environ.update(
            {f"FSDP_{_NAMED.get(key, key).upper()}": value for key, value in flags.items()}
            | {"ACCELERATE_USE_FSDP": "true"}
        )
    card_group.start(ranks)
    as_one_of_many()
    import transformers

    rows = [{"input_ids": list(range(2, 2 + LENGTH)), "labels": list(range(2, 2 + LENGTH))}] * 64
    with Recorder() as recorder, loads_counted():
        args = transformers.TrainingArguments(
            str(folder / "out"), use_cpu=True, max_steps=3, report_to=[], save_strategy="no", **options
        )
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        trainer = transformers.Trainer(
            model, args, train_dataset=rows, data_collator=transformers.default_data_collator
        )
        recorder.wrap(trainer, "training_step", "actor_update")
        recorder.wrap(torch.optim.AdamW, "step", "optimizer_step")
        trainer.train()
    steps = options["gradient_accumulation_steps"]
    return {**recorder.peaks(skip=steps), "optimizer_step": recorder.peaks(skip=1)["optimizer_step"]}


def point(
    folder: Path,
    name: str,
    ranks: int = 2,
    fsdp: str = "full_shard auto_wrap",
    launch: dict[str, str] | None = None,
    steps: int = 1,
    checkpointing: bool = False,
    dtype: str = "float32",
    **known: Any,
) -> dict[str, Any]:
    options = {
        "bf16": True,
        "optim": "adamw_torch_fused",
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": steps,
        "gradient_checkpointing": checkpointing,
        **({"fsdp": fsdp, "fsdp_config": {"transformer_layer_cls_to_wrap": [LAYER]}} if launch is None else {}),
    }
    flags = {} if launch is None else {**V2, **launch}
    command = f"torchrun --nproc_per_node={ranks}"
    if flags:
        words = " ".join(f"--fsdp_{key} {value}" for key, value in flags.items())
        command = f"accelerate launch --num_processes {ranks} --mixed_precision bf16 --use_fsdp {words}"
    words = ", ".join(f"{key}={value!r}" for key, value in options.items())
    script = (
        f"model = AutoModelForCausalLM.from_pretrained('m', torch_dtype=torch.{dtype}, attn_implementation='sdpa')\n"
        f"args = TrainingArguments('out', {words})\ntrainer = Trainer(model, args, train_dataset=rows)\n"
    )
    packages = "\n".join(f"{one}=={version(one)}" for one in ("transformers", "accelerate"))
    return {
        "id": name,
        **known,
        "paste": f"{command} train.py\n{script}{packages}",
        "config": json.dumps(NARROW),
        "answers": {"n_gpus": ranks, "algo": "sft", "max_length": LENGTH, "real_response_length": LENGTH},
        "peaks": in_fork(step, folder, options, dtype, ranks, flags),
    }


def main() -> None:
    torch.set_num_threads(1)
    as_card.autocast()
    as_card.card()
    with tempfile.TemporaryDirectory() as place:
        folder = saved(Path(place), NARROW)
        for name in sys.argv[1:] or POINTS:
            one = point(folder, name, **POINTS[name])
            print(name, {phase: round(size / 1e6, 1) for phase, size in one["peaks"].items()}, flush=True)
            write("fsdp", ("transformers", "accelerate", "torch"), [one], keep=True)


if __name__ == "__main__":
    main()
