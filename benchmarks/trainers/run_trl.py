"""Write tests/data/trainers/trl.toml: steps of TRL's own trainers on the CPU, which the estimator is held against.

pip install trl peft
python benchmarks/trainers/run_trl.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from recorder import Recorder, in_processes, loads_counted, write
from small_model import CONFIG, said, saved
from trl import SFTConfig, SFTTrainer

LENGTH = 512


def sft(folder: Path, options: dict[str, Any]) -> dict[str, int]:
    rows = Dataset.from_list([{"text": said(LENGTH)}] * 16)
    with Recorder() as recorder, loads_counted():
        args = SFTConfig(str(folder / "out"), use_cpu=True, max_steps=3, report_to=[], save_strategy="no", **options)
        trainer = SFTTrainer(str(folder), args=args, train_dataset=rows)
        recorder.wrap(trainer, "training_step", "actor_update")
        recorder.wrap(torch.optim.AdamW, "step", "optimizer_step")
        trainer.train()
    return recorder.peaks(skip=1)


def point(folder: Path, name: str, **options: Any) -> dict[str, Any]:
    options = {
        "optim": "adamw_torch_fused",
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 1,
        "max_length": LENGTH,
        **options,
    }
    script = f"SFTTrainer('m', args=SFTConfig({', '.join(f'{key}={value!r}' for key, value in options.items())}))"
    return {
        "id": name,
        "paste": script,
        "config": json.dumps(CONFIG),
        "answers": {"n_gpus": 1, "real_response_length": LENGTH},
        "peaks": in_processes(1, sft, folder, options),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = saved(Path(place), CONFIG)
        points = [
            point(folder, "sft", bf16=True, gradient_checkpointing=False),
            point(folder, "sft-checkpointing", bf16=True, gradient_checkpointing=True),
        ]
    write("trl", ("trl", "transformers", "torch"), points)


if __name__ == "__main__":
    main()
