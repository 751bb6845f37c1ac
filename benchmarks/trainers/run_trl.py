"""Write tests/data/trainers/trl-<version>.toml: steps of TRL's own trainers on the CPU, which the estimator is held against.

pip install trl==0.21.0 peft   # or another release; each writes a file of its own
python benchmarks/trainers/run_trl.py [ID ...]
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import as_card
import torch
import transformers
import trl
from datasets import Dataset
from points import many_at_once, versions
from recorder import Recorder, in_processes, loads_counted, write
from small_model import CONFIG, MARKS, said, saved_weights, saved_words

RELEASE = tuple(int(part) for part in version("trl").split(".")[:2])
PACKAGES = ("trl", "transformers", "peft", "accelerate", "torch")
LENGTH, PROMPT, ASKED, WRITTEN = 512, 128, 64, 128
DTYPE = "dtype" if RELEASE >= (0, 27) else "torch_dtype"
MOVED = {"CPO": "trl.experimental.cpo"} if RELEASE >= (0, 27) else {}
# what makes a run short, quiet and one of the CPU
SHORTENED = {"use_cpu": True, "max_steps": 3, "report_to": [], "save_strategy": "no"}


def prepare(folder: Path) -> None:
    """The model, and a tokenizer that gives what a model takes, as those of Qwen do."""
    saved_weights(folder, CONFIG)
    saved_words(folder, CONFIG["vocab_size"], **MARKS, model_input_names=["input_ids", "attention_mask"])


def rows(kind: str) -> Dataset:
    """Rows of one length, as a trainer of this kind reads them; with its last mark each is cut to LENGTH."""
    ask, answer = said(PROMPT), said(LENGTH - PROMPT)
    pair = {"prompt": ask, "chosen": answer, "rejected": answer[::-1]}
    each = {
        "SFT": {"text": said(LENGTH)},
        "DPO": pair,
        "CPO": pair,
        "Reward": {"chosen": said(LENGTH - 1), "rejected": said(LENGTH - 1)},
        "KTO": {"prompt": ask, "completion": answer},
        "GRPO": {"prompt": said(ASKED)},
    }[kind]
    return Dataset.from_list([{**each, **({"label": n % 4 < 2} if kind == "KTO" else {})} for n in range(16)])


def score(completions: list[str], **_: Any) -> list[float]:
    return [float(place % 2) for place, _ in enumerate(completions)]


def fused_head() -> None:
    """Kernels of Triton that turn a tile of logits where it stands into sums, and into its gradient, and a product that adds fp32 to a sum.

    (trl v1.16.0 trl/kernels/chunked_logprob.py: what it does without Triton makes copies of each tile) Their numbers mean nothing.
    """
    if RELEASE < (1, 15):
        return
    kernels = importlib.import_module("trl.kernels.chunked_logprob")
    kernels._forward_tile = lambda tile, stride, targets, most, total, *_, **__: (most.zero_(), total.fill_(1))
    kernels._backward_tile = lambda tile, *_, **__: tile.zero_()
    kernels._addmm_fp32 = lambda *_: None
    importlib.import_module("trl.trainer.utils")._use_triton = lambda _: True


def mark(recorder: Recorder, trainer: transformers.Trainer) -> None:
    recorder.wrap(trainer, "compute_loss", "actor_update")
    recorder.wrap(trainer.accelerator, "backward", "actor_update")
    recorder.wrap(torch.optim.AdamW, "step", "optimizer_step")
    recorder.wrap(transformers.GenerationMixin, "generate", "rollout")
    for name in ("_get_per_token_logps", "_get_per_token_logps_and_entropies"):
        if hasattr(trainer, name):
            mark_reference(recorder, trainer, name)


def mark_reference(recorder: Recorder, trainer: Any, name: str) -> None:
    """Log-probs without gradient are the reference's, where there is no second update on the same samples."""
    plain = getattr(trainer, name)
    recorder.wrap(trainer, name, "ref_logprob")
    marked = getattr(trainer, name)
    setattr(trainer, name, lambda *args, **told: (plain if torch.is_grad_enabled() else marked)(*args, **told))


def step(folder: Path, kind: str, script: str, skip: int) -> dict[str, int]:
    """The peaks of the second step and later of a script."""
    os.chdir(folder)
    os.environ["HF_HUB_OFFLINE"] = "1"
    as_card.autocast()
    many_at_once()
    fused_head()
    torch.manual_seed(0)
    trainers = importlib.import_module(MOVED.get(kind, "trl"))
    config = functools.partial(getattr(trainers, f"{kind}Config"), "out", **SHORTENED)
    peft = importlib.import_module("peft")
    names = {
        "torch": torch,
        "rows": rows(kind),
        "score": score,
        "words": transformers.PreTrainedTokenizerFast.from_pretrained(
            "m"
        ),  # by its own rules, not those of the model's kind
        "AutoModelForSequenceClassification": transformers.AutoModelForSequenceClassification,
        "LoraConfig": peft.LoraConfig,
        f"{kind}Config": config,
        f"{kind}Trainer": getattr(trainers, f"{kind}Trainer"),
    }
    with Recorder() as recorder, loads_counted():
        exec("\n".join(line for line in script.splitlines() if not line.startswith("from")), names)
        mark(recorder, names["trainer"])
        names["trainer"].train()
    return recorder.peaks(skip=skip)


LORA = {"peft_config": "LoraConfig(r=16, target_modules='all-linear')"}
PROMPTS = {"KTO": PROMPT, "CPO": PROMPT, "GRPO": ASKED}
BF16 = {"model_init_kwargs": {DTYPE: "bfloat16"}}
FUSED = {"optim": "adamw_torch_fused"}
CUT = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 1, "max_length": LENGTH, "bf16": True}
OPEN = {"gradient_checkpointing": False}
GROUP = {
    "per_device_train_batch_size": 4,
    "num_generations": 4,
    "gradient_accumulation_steps": 1,
    "max_completion_length": WRITTEN,
    "bf16": True,
}
POINTS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "sft": ("SFT", {**CUT, **FUSED, **OPEN}, {}),
    "sft-checkpointing": ("SFT", {**CUT, **FUSED, "gradient_checkpointing": True}, {}),
    "sft-fp32": ("SFT", {**CUT, **FUSED, **OPEN, "bf16": False}, {}),
    "sft-bf16-weights": ("SFT", {**CUT, **FUSED, **OPEN, **BF16}, {}),
    "sft-no-optimizer-named": ("SFT", {**CUT, **OPEN}, {}),
    "sft-many-at-once": ("SFT", {**CUT, **OPEN, "optim": "adamw_torch"}, {}),
    "sft-accumulated": ("SFT", {**CUT, **FUSED, **OPEN, "gradient_accumulation_steps": 2}, {}),
    "sft-lora": ("SFT", {**CUT, **FUSED, **OPEN}, LORA),
    "sft-lora-checkpointing": ("SFT", {**CUT, **FUSED, "gradient_checkpointing": True}, LORA),
    "sft-lora-bf16-weights": ("SFT", {**CUT, **FUSED, **OPEN, **BF16}, LORA),
    "dpo": ("DPO", {**CUT, **FUSED, **OPEN}, {}),
    "dpo-checkpointing": ("DPO", {**CUT, **FUSED, "gradient_checkpointing": True}, {}),
    "dpo-precomputed": ("DPO", {**CUT, **FUSED, **OPEN, "precompute_ref_log_probs": True}, {}),
    "dpo-lora": ("DPO", {**CUT, **FUSED, **OPEN}, LORA),
    "kto": ("KTO", {**CUT, **FUSED, **OPEN}, {}),
    "cpo": ("CPO", {**CUT, **FUSED, **OPEN}, {}),
    "simpo": ("CPO", {**CUT, **FUSED, **OPEN, "loss_type": "simpo", "cpo_alpha": 0.0}, {}),
    "rm": ("Reward", {**CUT, **FUSED, **OPEN}, {}),
    "grpo": ("GRPO", {**GROUP, **FUSED, **OPEN, "beta": 0.0}, {}),
    "grpo-reference": ("GRPO", {**GROUP, **FUSED, **OPEN, "beta": 0.04}, {}),
    "grpo-lora": ("GRPO", {**GROUP, **FUSED, **OPEN, "beta": 0.0}, LORA),
}


def script(kind: str, options: dict[str, Any], others: dict[str, str]) -> str:
    """The script of one run, as a person writes it."""
    options = {**options, **({"max_prompt_length": PROMPTS[kind]} if kind in PROMPTS and RELEASE < (0, 27) else {})}
    if kind == "SFT" and RELEASE < (0, 16):
        options = {"max_seq_length" if key == "max_length" else key: value for key, value in options.items()}
    told = {"train_dataset": "rows", "processing_class": "words", **others}
    told |= {"reward_funcs": "score"} if kind == "GRPO" else {}
    loaded = kind == "Reward" and RELEASE < (0, 24)
    load = "AutoModelForSequenceClassification.from_pretrained('m', num_labels=1)"
    lines = [
        f"from {MOVED.get(kind, 'trl')} import {kind}Config, {kind}Trainer",
        "from peft import LoraConfig" if others else "",
        f"model = {load}\nmodel.config.pad_token_id = words.pad_token_id" if loaded else "",
        f"args = {kind}Config({', '.join(f'{key}={value!r}' for key, value in options.items())})",
        f"trainer = {kind}Trainer(model={'model' if loaded else repr('m')}, args=args, "
        + ", ".join(f"{key}={value}" for key, value in told.items())
        + ")",
    ]
    return "\n".join(line for line in lines if line)


def point(folder: Path, name: str) -> dict[str, Any]:
    kind, options, others = POINTS[name]
    lengths = {
        "real_response_length": LENGTH,
        **({"real_prompt_length": PROMPT} if kind in ("DPO", "KTO", "CPO") else {}),
    }
    if kind == "GRPO":
        lengths = {"real_prompt_length": ASKED, "real_response_length": WRITTEN}
    words, skip = script(kind, options, others), options["gradient_accumulation_steps"]
    found = {
        "id": name,
        "paste": f"{versions(PACKAGES)}\n{words}",
        "config": json.dumps(CONFIG),
        "answers": {"n_gpus": 1, **lengths},
        "peaks": in_processes(1, step, folder, kind, words, skip),
    }
    print(name, found["peaks"], flush=True)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place) / "m")
        points = [point(Path(place), name) for name in sys.argv[1:] or POINTS]
    write("trl", PACKAGES, points, of=f"-{trl.__version__}", keep=bool(sys.argv[1:]))


if __name__ == "__main__":
    main()
