"""Write tests/data/trainers/llamafactory.toml: steps of LLaMA-Factory on the CPU, which the estimator is held against.

pip install llamafactory==0.9.3 torch
python benchmarks/trainers/run_llamafactory.py [ID ...]
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from peft import LoraConfig, get_peft_model
from points import many_at_once, measure, versions
from recorder import Recorder, in_processes, loads_counted
from safetensors.torch import save_file
from small_model import CONFIG, said, saved_weights, saved_words

PROMPT, ANSWER, SHORT, WRITTEN = 128, 384, 128, 48
PACKAGES = ("llamafactory", "transformers", "peft", "trl", "accelerate", "torch")
BASE = {
    "model_name_or_path": "m",
    "stage": "sft",
    "do_train": True,
    "finetuning_type": "full",
    "dataset": "rows",
    "template": "empty",
    "cutoff_len": PROMPT + ANSWER,
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 1,
    "bf16": True,
}
# what makes a run short, quiet and one of the CPU
SHORTENED = {
    "max_steps": 3,
    "use_cpu": True,
    "report_to": "none",
    "save_strategy": "no",
    "overwrite_output_dir": True,
    "disable_tqdm": True,
}
EVEN = {"real_response_length": PROMPT + ANSWER}
MIXED = {"real_response_length": PROMPT + (ANSWER + SHORT) // 2, "longest_response_length": PROMPT + ANSWER}


def prepare(folder: Path) -> None:
    """The model, adapters of it that give rewards, and rows of each stage."""
    model = saved_weights(folder / "m", CONFIG)
    saved_words(folder / "m", CONFIG["vocab_size"])
    adapted = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))
    adapted.save_pretrained(folder / "reward")
    head = {"v_head.summary.weight": torch.zeros(1, CONFIG["hidden_size"]), "v_head.summary.bias": torch.zeros(1)}
    save_file(head, folder / "reward" / "value_head.safetensors", metadata={"format": "pt"})
    _write_rows(folder)


def _write_rows(folder: Path) -> None:
    """Rows of one length, and rows of two lengths in turn; each serves all stages."""
    info: dict[str, Any] = {}
    for name, answers in (("rows", [ANSWER]), ("mixed", [SHORT, ANSWER])):
        rows = [
            {"q": said(PROMPT), "a": said(n), "b": said(n), "good": place % 4 < 2, "doc": said(PROMPT + n)}
            for place, n in enumerate(answers * (32 // len(answers)))
        ]
        (folder / f"{name}.json").write_text(json.dumps(rows))
        asks = {"file_name": f"{name}.json"}
        pair = {"prompt": "q", "chosen": "a", "rejected": "b"}
        info |= {
            name: asks | {"columns": {"prompt": "q", "response": "a"}},
            f"{name}_pt": asks | {"columns": {"prompt": "doc"}},
            f"{name}_pairs": asks | {"ranking": True, "columns": pair},
            f"{name}_kto": asks | {"columns": {"prompt": "q", "response": "a", "kto_tag": "good"}},
        }
    (folder / "dataset_info.json").write_text(json.dumps(info))


def like_a_card() -> None:
    """A machine that says it computes in bf16."""
    from llamafactory.extras import misc
    from llamafactory.hparams import parser

    misc._is_bf16_available = True
    parser.is_torch_bf16_gpu_available = lambda: True
    many_at_once()


def mark(recorder: Recorder, stage: str) -> None:
    """Mark the passes of a step by their phases."""
    from accelerate.optimizer import AcceleratedOptimizer

    recorder.wrap(AcceleratedOptimizer, "step", "optimizer_step")
    recorder.wrap(transformers.Trainer, "training_step", "actor_update")
    recorder.wrap(transformers.Trainer, "evaluation_loop", "eval")
    if stage != "ppo":
        return
    from accelerate import Accelerator
    from llamafactory.train.ppo.trainer import CustomPPOTrainer as Trainer

    recorder.wrap(Trainer, "get_inputs", "rollout")
    recorder.wrap(Trainer, "get_rewards", "reward")
    recorder.wrap(Trainer, "loss", "actor_update")
    recorder.wrap(Accelerator, "backward", "actor_update")
    plain, marked = Trainer.batched_forward_pass, {}
    for phase in ("logprob", "ref_logprob", "actor_update"):
        recorder.wrap(Trainer, "batched_forward_pass", phase)
        marked[phase], Trainer.batched_forward_pass = Trainer.batched_forward_pass, plain
    turn = itertools.cycle(("logprob", "ref_logprob"))

    def forward(*args: Any, **options: Any) -> Any:
        return marked["actor_update" if torch.is_grad_enabled() else next(turn)](*args, **options)

    Trainer.batched_forward_pass = forward


def run(folder: Path, options: dict[str, Any]) -> dict[str, int]:
    from llamafactory.train.tuner import run_exp

    like_a_card()
    places = {"dataset_dir": str(folder), "output_dir": tempfile.mkdtemp(dir=folder)}
    places |= {key: str(folder / options[key]) for key in ("model_name_or_path", "reward_model") if key in options}
    with Recorder() as recorder, loads_counted():
        mark(recorder, options["stage"])
        run_exp({**options, **SHORTENED, **places, **({"ddp_backend": "gloo"} if "WORLD_SIZE" in os.environ else {})})
    return recorder.peaks(skip=options["gradient_accumulation_steps"])


PAIRS = {"dataset": "rows_pairs", "stage": "dpo"}
LORA = {"finetuning_type": "lora", "lora_rank": 16}
OPEN = {"disable_gradient_checkpointing": True}
EVALUATED = {"val_size": 0.25, "eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 8}
PPO = {
    "stage": "ppo",
    "reward_model": "m",
    "reward_model_type": "full",
    "max_new_tokens": WRITTEN,
}
WRITES = {"real_prompt_length": PROMPT, "real_response_length": WRITTEN}
POINTS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "sft": (EVEN, {}, 1),
    "sft-open": (EVEN, OPEN, 1),
    "sft-mixed": (MIXED, {"dataset": "mixed", **OPEN, "per_device_train_batch_size": 4}, 1),
    "sft-pure-bf16": (EVEN, {"pure_bf16": True, "bf16": False}, 1),
    "sft-pure-bf16-open": (EVEN, {"pure_bf16": True, "bf16": False, **OPEN}, 1),
    "sft-upcast": (EVEN, {**LORA, "upcast_layernorm": True, "upcast_lmhead_output": True}, 1),
    "sft-accumulated": (EVEN, {"gradient_accumulation_steps": 2}, 1),
    "sft-eager": (EVEN, {"flash_attn": "disabled", **OPEN}, 1),
    "sft-packed": (MIXED, {"dataset": "mixed", "packing": True}, 1),
    "sft-neat-packed": (MIXED, {"dataset": "mixed", "neat_packing": True}, 1),
    "sft-lora": (EVEN, LORA, 1),
    "sft-lora-open": (EVEN, {**LORA, **OPEN}, 1),
    "sft-lora-pure-bf16": (EVEN, {**LORA, "pure_bf16": True, "bf16": False, **OPEN}, 1),
    "sft-lora-dropout-query": (EVEN, {**LORA, **OPEN, "lora_dropout": 0.1, "lora_target": "q_proj,v_proj"}, 1),
    "sft-lora-head": (EVEN, {**LORA, "additional_target": "embed_tokens,lm_head"}, 1),
    "sft-dora": (EVEN, {**LORA, "use_dora": True, **OPEN}, 1),
    "sft-pissa": (EVEN, {**LORA, "pissa_init": True, "use_rslora": True}, 1),
    "sft-freeze": (EVEN, {"finetuning_type": "freeze", "freeze_trainable_layers": 2}, 1),
    "sft-freeze-open": (EVEN, {"finetuning_type": "freeze", "freeze_trainable_layers": 2, **OPEN}, 1),
    "sft-adafactor": (EVEN, {"optim": "adafactor"}, 1),
    "sft-muon": (EVEN, {"use_muon": True}, 1),
    "sft-fp32": (EVEN, {"bf16": False, **OPEN}, 1),
    "sft-lora-no-autocast": (EVEN, {**LORA, "bf16": False}, 1),
    "pt": (EVEN, {"stage": "pt", "dataset": "rows_pt"}, 1),
    "rm": (EVEN, {"stage": "rm", "dataset": "rows_pairs"}, 1),
    "rm-lora": (EVEN, {"stage": "rm", "dataset": "rows_pairs", **LORA}, 1),
    "dpo": (EVEN, {**PAIRS}, 1),
    "dpo-lora": (EVEN, {**PAIRS, **LORA}, 1),
    "dpo-lora-open": (EVEN, {**PAIRS, **LORA, **OPEN}, 1),
    "dpo-ftx": (EVEN, {**PAIRS, "pref_ftx": 0.1}, 1),
    "orpo": (EVEN, {**PAIRS, "pref_loss": "orpo"}, 1),
    "simpo-lora": (EVEN, {**PAIRS, **LORA, "pref_loss": "simpo"}, 1),
    "kto": (EVEN, {"stage": "kto", "dataset": "rows_kto"}, 1),
    "kto-lora": (EVEN, {"stage": "kto", "dataset": "rows_kto", **LORA}, 1),
    "ppo": (WRITES, PPO, 1),
    "ppo-lora": (WRITES, {**PPO, **LORA, "reward_model_type": "lora", "reward_model": "reward"}, 1),
    "ppo-lora-buffer": (WRITES, {**PPO, **LORA, "ppo_buffer_size": 2, "gradient_accumulation_steps": 2}, 1),
    "sft-eval": (EVEN, EVALUATED, 1),
    "sft-lora-eval": (EVEN, {**LORA, **EVALUATED}, 1),
    "dpo-lora-eval": (EVEN, {**PAIRS, **LORA, **EVALUATED}, 1),
    "sft-2-cards": (EVEN, {}, 2),
    "sft-lora-2-cards": (EVEN, LORA, 2),
    "dpo-2-cards": (EVEN, PAIRS, 2),
}


def point(id: str, folder: Path) -> dict[str, Any]:
    answers, options, cards = POINTS[id]
    options = {**BASE, **options}
    return {
        "paste": f"llamafactory-cli train run.yaml\n{yaml.safe_dump(options, sort_keys=False)}\n{versions(PACKAGES)}",
        "answers": {"n_gpus": cards, **answers},
        "peaks": in_processes(cards, run, folder, options),
    }


if __name__ == "__main__":
    measure("llamafactory", PACKAGES, prepare, {id: functools.partial(point, id) for id in POINTS})
