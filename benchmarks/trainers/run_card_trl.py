"""Measure TRL's own trainers on a real card: models of published sizes with random weights, a step after Adam's state is there.

pip install trl transformers peft bitsandbytes liger-kernel nvidia-ml-py
python benchmarks/trainers/run_card_trl.py OUT.jsonl SECONDS [ID …]
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import oracle_scale
import run_trl
import torch
import transformers
from on_card import Card, alone, measure
from points import versions
from small_model import MARKS, saved_words

PACKAGES = ("trl", "transformers", "peft", "bitsandbytes", "accelerate", "torch")
MODELS = ("qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-7b")
SHORT = {"max_steps": 3, "report_to": [], "save_strategy": "no", "disable_tqdm": True}
LORA = {"peft_config": "LoraConfig(r=16, target_modules='all-linear')"}
BF16 = {"model_init_kwargs": {"dtype": "bfloat16"}}
FOUR_BITS = "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_compute_dtype=torch.bfloat16)"
CUT = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 1, "max_length": 2048, "bf16": True}
GROUP = {
    "per_device_train_batch_size": 8,
    "num_generations": 8,
    "gradient_accumulation_steps": 1,
    "max_completion_length": 256,
    "bf16": True,
}
SMALL, MIDDLE, LARGE = MODELS
POINTS: dict[str, tuple[str, str, dict[str, Any], dict[str, str]]] = {
    "grpo": ("GRPO", MIDDLE, {**GROUP, "beta": 0.0}, {}),
    "sft": ("SFT", MIDDLE, CUT, {}),
    "sft-lora": ("SFT", LARGE, {**CUT, **BF16, "max_length": 4096}, LORA),
    "sft-qlora": ("SFT", LARGE, {**CUT, "model_init_kwargs": {"quantization_config": FOUR_BITS}}, LORA),
    "grpo-reference": ("GRPO", SMALL, {**GROUP, "beta": 0.04}, {}),
    "grpo-lora": ("GRPO", LARGE, {**GROUP, **BF16, "beta": 0.04}, LORA),
    "dpo": ("DPO", MIDDLE, CUT, {}),
    "sft-8bit": ("SFT", MIDDLE, {**CUT, "optim": "adamw_8bit"}, {}),
    "sft-liger": ("SFT", MIDDLE, {**CUT, "use_liger_kernel": True}, {}),
    "rm": ("Reward", MIDDLE, CUT, {}),
    "grpo-liger": ("GRPO", SMALL, {**GROUP, "beta": 0.0, "use_liger_kernel": True}, {}),
    "dpo-lora": ("DPO", LARGE, {**CUT, **BF16, "per_device_train_batch_size": 1}, LORA),
    "sft-paged": ("SFT", LARGE, {**CUT, **BF16, "optim": "paged_adamw_8bit"}, {}),
    "kto": ("KTO", SMALL, CUT, {}),
}
PROMPT, ASKED = 512, 256
GIB = dict.fromkeys(POINTS, 40) | {
    "sft-lora": 35,
    "sft-qlora": 25,
    "grpo-lora": 50,
    "dpo": 80,
    "sft-paged": 60,
    "kto": 50,
}


def config(model: str) -> dict[str, Any]:
    kind, numbers, tied = oracle_scale.MODELS[model]
    names = {"model_type": kind, "architectures": ["Qwen2ForCausalLM"], "tie_word_embeddings": tied}
    return {**names, **dict(zip(oracle_scale.NAMES, numbers, strict=True)), "max_position_embeddings": 32768}


def save(folder: Path, model: str) -> dict[str, Any]:
    """The model as a person's folder holds it, in bf16, and a tokenizer whose words are numbers."""
    with torch.device("cuda"):
        shape = transformers.AutoConfig.for_model(**config(model))
        whole = transformers.AutoModelForCausalLM.from_config(shape, dtype=torch.bfloat16)
    whole.save_pretrained(folder / model)
    saved_words(folder / model, config(model)["vocab_size"], **MARKS, model_input_names=["input_ids", "attention_mask"])
    return {}


def lengths(kind: str, options: dict[str, Any]) -> dict[str, int]:
    if kind == "GRPO":
        return {"real_prompt_length": ASKED, "real_response_length": options["max_completion_length"]}
    return {
        "real_response_length": options["max_length"],
        **({"real_prompt_length": PROMPT} if kind in ("DPO", "KTO") else {}),
    }


def mark(card: Card, trainer: Any) -> None:
    card.wrap(trainer, "compute_loss", "actor_update")
    card.wrap(trainer.accelerator, "backward", "actor_update")
    card.wrap(torch.optim.AdamW, "step", "optimizer_step")
    if "8bit" in trainer.args.optim:
        card.wrap(importlib.import_module("bitsandbytes.optim.optimizer").Optimizer8bit, "step", "optimizer_step")
    card.wrap(transformers.GenerationMixin, "generate", "rollout")
    for name in ("_get_per_token_logps", "_get_per_token_logps_and_entropies"):
        if hasattr(trainer, name):
            run_trl.mark_reference(card, trainer, name)


def step(folder: Path, kind: str, model: str, options: dict[str, Any], script: str) -> dict[str, Any]:
    os.chdir(folder / model)
    os.environ["HF_HUB_OFFLINE"] = "1"
    trainers = importlib.import_module(run_trl.MOVED.get(kind, "trl"))
    peft = importlib.import_module("peft")
    run_trl.LENGTH, run_trl.PROMPT, run_trl.ASKED = options.get("max_length", 0), PROMPT, ASKED
    card = Card()
    names = {
        "torch": torch,
        "rows": run_trl.rows(kind),
        "score": run_trl.score,
        "words": transformers.PreTrainedTokenizerFast.from_pretrained("."),
        "AutoModelForSequenceClassification": transformers.AutoModelForSequenceClassification,
        "BitsAndBytesConfig": transformers.BitsAndBytesConfig,
        "LoraConfig": peft.LoraConfig,
        f"{kind}Config": functools.partial(getattr(trainers, f"{kind}Config"), "out", **SHORT),
        f"{kind}Trainer": getattr(trainers, f"{kind}Trainer"),
    }
    exec("\n".join(line for line in script.splitlines() if not line.startswith("from")), names)
    mark(card, names["trainer"])
    names["trainer"].train()
    return card.found({"actor_update": 2, "optimizer_step": 1, "rollout": 1, "ref_logprob": 1})


def script(kind: str, options: dict[str, Any], others: dict[str, str]) -> str:
    """The script of one run, as a person writes it."""
    return run_trl.script(kind, options, others).replace("'m'", "'.'").replace(repr(FOUR_BITS), FOUR_BITS)


def main() -> None:
    out, seconds, *wanted = sys.argv[1:]
    until = time.time() + float(seconds)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        folder = Path(place)
        points = []
        for name, (kind, model, options, others) in POINTS.items():
            if wanted and name not in wanted:
                continue
            words = script(kind, options, others)
            point = {
                "id": f"{model}-{name}",
                "run": step,
                "args": (folder, kind, model, options, words),
                "gib": GIB[name],
                "paste": f"{versions(PACKAGES)}\n{words}",
                "config": json.dumps(config(model)),
                "answers": {"n_gpus": 1, "gpu_model": "H200", **lengths(kind, options)},
            }
            points.append(point)
        for model in dict.fromkeys(point["args"][2] for point in points):
            print(model, alone(save, folder, model, gib=17), flush=True)
        measure(points, Path(out), until)


if __name__ == "__main__":
    main()
