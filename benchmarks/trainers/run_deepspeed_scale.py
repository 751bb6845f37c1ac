"""Write tests/data/trainers/deepspeed_scale.toml: what steps of a 7B through DeepSpeed allocate and reserve, from one a sixteenth as wide.

pip install deepspeed transformers accelerate peft 'datasets<4'
python benchmarks/trainers/run_deepspeed_scale.py [ID …]

Widths, vocabulary and tokens are a sixteenth of Qwen2.5-7B's, the layers as many: so each tensor of DeepSpeed's own run on the CPU is a
256th of the real one, and DeepSpeed's sizes are set to a 256th of theirs. ``reserved`` is what the rules of torch's allocator for large
blocks (allocator.py) keep for the same requests in the same order, from the first step on: what the making of the engine leaves in blocks
is not counted, nor what an operator takes inside itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from run_deepspeed import all_at_once, alone, no_card_needed  # first: it sets what DeepSpeed reads as it is imported

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import oracle_scale
import torch
import transformers
from datasets import Dataset
from deepspeed.runtime.engine import DeepSpeedEngine
from peft import LoraConfig, get_peft_model
from recorder import in_processes, write
from small_model import saved_weights
from zero_files import REAL, REST, WIDE, ZERO, configuration

SIDE, RANKS, RANK = 16, 4, 16
SMALLER = SIDE**2  # of every tensor of two widths
SMALL = {**REST, **{name: size // SIDE for name, size in WIDE.items()}}
FUSED, FOREACH = "adamw_torch_fused", "adamw_torch"
RUNS: list[tuple[str, int, int, dict[str, Any]]] = [
    ("zero3", 3, 4096, {"optim": FUSED}),
    ("zero3-foreach", 3, 8192, {"optim": FOREACH}),
    ("zero3-long", 3, 16384, {"optim": FUSED}),
    ("zero3-kept", 3, 2048, {"optim": FUSED, "gradient_checkpointing": False}),
    ("zero2", 2, 8192, {"optim": FUSED}),
    ("zero2-foreach", 2, 4096, {"optim": FOREACH}),
    ("zero2-lora", 2, 8192, {"optim": FUSED, "lora": True}),
    ("zero3-lora", 3, 4096, {"optim": FUSED, "lora": True, "gradient_checkpointing": False}),
]


class Requests(oracle_scale.Requests):
    """What is asked for on the CPU, which stands for the card."""

    def _see(self, tensor: torch.Tensor) -> None:
        if tensor.device.type == "cpu":
            super()._see(tensor)

    def within(self, owner: Any, name: str, phase: str) -> None:
        """Mark each call of ``owner.name`` as one of ``phase``."""
        inner = getattr(owner, name)

        def marked(*args: Any, **kwargs: Any) -> Any:
            self.mark(phase)
            try:
                return inner(*args, **kwargs)
            finally:
                self.mark("")

        setattr(owner, name, marked)


def filled(plain: Any) -> Any:
    """The same tensors without chance numbers: DeepSpeed skips a step whose gradient is no number."""
    return lambda *args, **kwargs: plain(*args, **kwargs).zero_()


def train(folder: Path, run: dict[str, Any], tokens: int, lora: bool) -> dict[str, int]:
    """Three steps; attention takes what FlashAttention takes."""
    alone()
    all_at_once()
    no_card_needed()
    torch.empty_like = filled(torch.empty_like)
    transformers.AttentionInterface.register("flash_in_shapes", oracle_scale.flash)
    ids = [2 + n % 1000 for n in range(tokens)]
    rows = Dataset.from_list([{"input_ids": ids, "labels": ids}] * 64)
    with Requests() as seen:
        args = transformers.TrainingArguments(
            str(folder / "out"), max_steps=3, report_to=[], save_strategy="no", ddp_backend="gloo", **run
        )
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, torch_dtype=torch.bfloat16, attn_implementation="flash_in_shapes"
        )
        if lora:
            model.enable_input_require_grads()
            model = get_peft_model(model, LoraConfig(r=RANK // SIDE, target_modules="all-linear"))
        seen.within(transformers.Trainer, "compute_loss", "actor_update")
        seen.within(DeepSpeedEngine, "backward", "actor_update")
        seen.within(DeepSpeedEngine, "step", "optimizer_step")
        transformers.Trainer(model, args, train_dataset=rows, data_collator=transformers.default_data_collator).train()
        order = [one if isinstance(one, str) else (one[0], one[1] * SMALLER) for one in seen.order]
    return {**oracle_scale.peaks(order), "reserved": oracle_scale.reserved(order)}


def point(folder: Path, name: str, stage: int, length: int, options: dict[str, Any]) -> dict[str, Any]:
    lora = options.pop("lora", False)
    run = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 1, "gradient_checkpointing": True}
    run |= {"bf16": True, **options}
    smaller = {key: size // SMALLER if type(size) is int and size > 3 else size for key, size in ZERO[stage].items()}
    found = in_processes(RANKS, train, folder, {**run, "deepspeed": configuration(smaller)}, length // SIDE, lora)
    print(name, {what: round(size / 2**30, 1) for what, size in found.items()}, flush=True)
    told = " ".join(f"--{key} {value}" for key, value in run.items())
    adapters = f" --use_peft --lora_r {RANK} --lora_dropout 0 --lora_target_modules all-linear" if lora else ""
    line = f"torchrun --nproc_per_node {RANKS} train.py --deepspeed ds.json --model_name_or_path m {told}{adapters}"
    line += f" --max_length {length} --attn_implementation flash_attention_2"
    packages = " ".join(f"{one}=={sys.modules[one].__version__}" for one in ("deepspeed", "transformers", "torch"))
    return {
        "id": name,
        "reserved": found.pop("reserved"),
        "paste": f"{packages}\n{line}\nds.json:\n{json.dumps(configuration(ZERO[stage]), indent=1)}",
        "config": json.dumps(REAL),
        "answers": {"n_gpus": RANKS, "real_response_length": length},
        "peaks": found,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        saved_weights(Path(place), SMALL)
        wanted = [run for run in RUNS if not sys.argv[1:] or run[0] in sys.argv[1:]]
        points = [point(Path(place), *run) for run in wanted]
    packages = ("deepspeed", "transformers", "accelerate", "torch")
    write("deepspeed_scale", packages, points, keep=bool(sys.argv[1:]))


if __name__ == "__main__":
    main()
