"""Write tests/data/trainers/axolotl.toml: steps of Axolotl on the CPU, which the estimator is held against.

pip install axolotl==0.13.2 torch
python benchmarks/trainers/run_axolotl.py [ID ...]
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import transformers
import yaml
from points import many_at_once, measure, versions
from recorder import Recorder, in_processes, loads_counted
from small_model import CONFIG, said, saved

PROMPT, ANSWER, SHORT = 128, 384, 128
PACKAGES = ("axolotl", "transformers", "peft", "trl", "accelerate", "torch")
BASE = {
    "base_model": "m",
    "datasets": [{"path": "rows.jsonl", "ds_type": "json"}],
    "sequence_len": PROMPT + ANSWER,
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 1,
    "num_epochs": 1,
    "optimizer": "adamw_torch",
    "learning_rate": 0.0002,
    "bf16": "auto",
}
SHORTENED = {
    "max_steps": 3,
    "save_strategy": "no",
    "val_set_size": 0,
    "dataset_num_proc": 1,
    "dataloader_num_workers": 0,
}
EVEN = {"real_response_length": PROMPT + ANSWER}
MIXED = {"real_response_length": PROMPT + (ANSWER + SHORT) // 2, "longest_response_length": PROMPT + ANSWER}
LORA = {"adapter": "lora", "lora_r": 16, "lora_alpha": 32, "lora_target_linear": True}
CHECKPOINTED = {"gradient_checkpointing": True}
MIXED_ROWS = {"datasets": [{"path": "mixed.jsonl", "ds_type": "json"}]}
PAIRS = {
    "rl": "dpo",
    "datasets": [{"path": "pairs.jsonl", "ds_type": "json", "split": "train", "type": {"field_prompt": "prompt"}}],
}
LABELLED = {
    **PAIRS,
    "rl": "kto",
    "remove_unused_columns": False,
    "datasets": [{"path": "labelled.jsonl", "ds_type": "json", "split": "train", "type": "llama3.argilla"}],
}
POINTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sft": (EVEN, {}),
    "sft-checkpointing": (EVEN, CHECKPOINTED),
    "sft-sdpa-mixed-rows": (MIXED, {**MIXED_ROWS, "sdp_attention": True, "micro_batch_size": 4}),
    "sft-eager": (EVEN, {"eager_attention": True}),
    "sft-bfloat16": (EVEN, {"bf16": False, "bfloat16": True}),
    "sft-fp32": (EVEN, {"bf16": False, "fp16": False}),
    "sft-accumulated": (EVEN, {"gradient_accumulation_steps": 2, **CHECKPOINTED}),
    "sft-fused": (EVEN, {"optimizer": "adamw_torch_fused", **CHECKPOINTED}),
    "sft-packed": (
        MIXED,
        {**MIXED_ROWS, "sample_packing": True, "sdp_attention": True, "pad_to_sequence_len": True},
    ),
    "sft-chunked": (EVEN, {"chunked_cross_entropy": True, **CHECKPOINTED}),
    "sft-padded": (MIXED, {**MIXED_ROWS, "pad_to_sequence_len": True, "sequence_len": 768, **CHECKPOINTED}),
    "sft-lora": (EVEN, LORA),
    "sft-lora-checkpointing": (EVEN, {**LORA, **CHECKPOINTED}),
    "sft-lora-dropout-query": (
        EVEN,
        {**LORA, "lora_target_linear": False, "lora_target_modules": ["q_proj", "v_proj"], "lora_dropout": 0.1},
    ),
    "sft-lora-head": (EVEN, {**LORA, **CHECKPOINTED, "lora_modules_to_save": ["embed_tokens", "lm_head"]}),
    "dpo": (EVEN, {**PAIRS, **CHECKPOINTED}),
    "dpo-lora": (EVEN, {**PAIRS, **LORA, **CHECKPOINTED}),
    "ipo-lora": (EVEN, {**PAIRS, **LORA, "rl": "ipo"}),
    "kto": (EVEN, {**LABELLED, **CHECKPOINTED}),
    "kto-lora": (EVEN, {**LABELLED, **LORA, **CHECKPOINTED}),
}


def _write_rows(folder: Path) -> None:
    """Rows of one length, rows of two lengths in turn, both as numbers of tokens, pairs and labelled answers as texts."""
    tables: dict[str, list[dict[str, Any]]] = {
        "pairs": [{"prompt": said(PROMPT) + " ", "chosen": said(ANSWER - 1), "rejected": said(ANSWER - 1)}] * 32,
        "labelled": [
            {"instruction": said(PROMPT), "completion": said(ANSWER - 1), "label": place % 4 < 2} for place in range(32)
        ],
    }
    for name, answers in (("rows", [ANSWER]), ("mixed", [SHORT, ANSWER])):
        ids = [[2 + n for n in range(PROMPT + count)] for count in answers * (64 // len(answers))]
        tables[name] = [{"input_ids": one, "labels": one, "attention_mask": [1] * len(one)} for one in ids]
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def prepare(folder: Path) -> None:
    saved(folder / "m", CONFIG)
    _write_rows(folder)


def like_a_card() -> None:
    """A machine that says it computes in bf16, and on which Trainer takes no accelerator for the CPU."""
    import axolotl.cli.config
    import axolotl.utils.config
    import transformers.training_args as arguments

    for module in (axolotl.cli.config, axolotl.utils.config, arguments):
        module.is_torch_bf16_gpu_available = lambda: True
    axolotl.cli.config.compute_supports_fp8 = lambda: False
    many_at_once()


def mark(recorder: Recorder) -> None:
    """Mark the passes of a step by their phases."""
    from accelerate.optimizer import AcceleratedOptimizer

    recorder.wrap(AcceleratedOptimizer, "step", "optimizer_step")
    recorder.wrap(transformers.Trainer, "training_step", "actor_update")


def run(folder: Path, options: dict[str, Any]) -> dict[str, int]:
    os.environ["AXOLOTL_DO_NOT_TRACK"] = "1"
    from axolotl.cli.args import TrainerCliArgs
    from axolotl.cli.config import load_cfg
    from axolotl.cli.train import do_train

    like_a_card()
    os.chdir(folder)
    told = {**options, **SHORTENED, "output_dir": "out", "dataset_prepared_path": "prepared"}
    Path("run.yaml").write_text(yaml.safe_dump(told))
    with Recorder() as recorder, loads_counted():
        mark(recorder)
        do_train(load_cfg("run.yaml"), TrainerCliArgs())
    return recorder.peaks(skip=options["gradient_accumulation_steps"])


def point(id: str, folder: Path) -> dict[str, Any]:
    answers, options = POINTS[id]
    options = {**BASE, **options}
    return {
        "paste": f"axolotl train run.yaml\n{yaml.safe_dump(options, sort_keys=False)}\n{versions(PACKAGES)}",
        "answers": {"n_gpus": 1, **answers},
        "peaks": in_processes(1, run, folder, options),
    }


if __name__ == "__main__":
    measure("axolotl", PACKAGES, prepare, {id: functools.partial(point, id) for id in POINTS})
