"""Write tests/data/trainers/swift-<version>.toml: steps of ms-swift's own commands on the CPU, which the estimator is held against.

pip install ms-swift==3.12.6   # or another release; each writes a file of its own
python benchmarks/trainers/run_swift.py [points]
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import transformers
from recorder import Recorder, in_processes, loads_counted, write
from small_model import CONFIG, saved_weights, saved_words

RELEASE = version("ms-swift")
OLD = int(RELEASE.split(".")[0]) < 4
MAIN = {"sft": "sft_main", "rlhf": "rlhf_main", "pt": "pt_main" if OLD else "pretrain_main"}
LENGTH, CHAT = 512, 21 if OLD else 19  # the template adds a system prompt until 4.0


def prepared(folder: Path) -> Path:
    """The model and a tokenizer of numbers with the chat's own marks."""
    saved_weights(folder, CONFIG)
    first = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "yes", "no")
    marks = {"pad_token": first[0], "eos_token": first[2], "additional_special_tokens": [first[1]]}
    saved_words(folder, CONFIG["vocab_size"], first, **marks)
    return folder


def numbers(count: int, first: int = 0) -> str:
    return " ".join(str(5 + (first + n) % 7000) for n in range(count))


def row(index: int, kind: str, prompt: int = 1, response: int = 0, others: int = 1) -> dict[str, Any]:
    """One row of data of so many words, as the task reads it; with the chat's own words it measures LENGTH tokens."""
    response = response or LENGTH - CHAT - prompt
    ask = {"role": "user", "content": numbers(prompt, index)}
    answer = {"role": "assistant", "content": numbers(response, index)}
    text, document = [{"role": "user", "content": numbers(response)}], [{**answer}]
    return {
        "text": {"messages": [answer]},
        "answer": {"messages": [ask, answer]},
        "prompt": {"messages": [ask]},
        "pair": {"messages": [ask, answer], "rejected_response": numbers(response, index + 1)},
        "judged": {"messages": [ask, answer], "label": index % 2 == 0},
        "class": {"messages": text, "label": 1},
        "similar": {"messages": text, "positive_messages": [text], "negative_messages": [text] * (others - 1)},
        "ranked": {"messages": [ask], "positive_messages": [document], "negative_messages": [document] * others},
    }[kind]


class _Dropout(torch.autograd.Function):
    """Dropout as a GPU's kernels do it, of which one byte of mask is kept (torch ATen/native/cuda/Dropout.cu); the CPU's keeps a number."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, p: float) -> torch.Tensor:
        mask = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p)
        ctx.save_for_backward(mask)
        ctx.scale = 1 / (1 - p)
        return x.mul(mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad.mul(ctx.saved_tensors[0]).mul_(ctx.scale), None


def step(folder: Path, command: str, options: dict[str, Any]) -> dict[str, int]:
    """The peaks of the second step and later of one command."""
    os.environ |= {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "MODELSCOPE_OFFLINE": "1"}
    words = shlex.split(command)
    while "=" in words[0]:
        os.environ.update([words.pop(0).split("=")])
    _, verb, *words = words
    pipelines = importlib.import_module("swift.llm" if OLD else "swift")

    data = folder / f"{os.getpid()}.jsonl"
    data.write_text("\n".join(json.dumps(row(index, **options["rows"])) for index in range(16)))
    words = [str(folder) if word in ("m", "t") else word for word in words]
    words += ["--dataset", str(data), "--output_dir", str(folder / "out"), "--save_strategy", "no"]
    words += ["--max_steps", str(options.get("steps", 3))]
    words += ["--report_to", "none", "--use_cpu", "true", "--check_model", "false", "--dataloader_num_workers", "0"]
    torch.nn.functional.dropout = lambda x, p=0.5, training=True, _=False: _Dropout.apply(x, p) if training else x
    with Recorder() as recorder, loads_counted():
        plain = transformers.Trainer._inner_training_loop

        def marked(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            recorder.wrap(trainer, "compute_loss", "actor_update")
            recorder.wrap(trainer.accelerator, "backward", "actor_update")
            return plain(trainer, *args, **kwargs)

        transformers.Trainer._inner_training_loop = marked
        recorder.wrap(torch.optim.AdamW, "step", "optimizer_step")
        getattr(pipelines, MAIN[verb])(words)
    return recorder.peaks(skip=options.get("skip", 1))


def point(folder: Path, name: str, command: str, **options: Any) -> dict[str, Any]:
    ranks = options.pop("ranks", 1)
    launch = f"NPROC_PER_NODE={ranks} " if ranks > 1 else ""
    answers = {"n_gpus": ranks, "real_response_length": LENGTH, **options.pop("answers", {})}
    return {
        "id": name,
        "paste": f"ms-swift=={RELEASE} transformers=={transformers.__version__}\n{launch}{command}",
        "config": json.dumps(CONFIG),
        "answers": answers,
        "peaks": in_processes(ranks, step, folder, command, {"rows": {"kind": "answer"}, **options}),
    }


TUNER, KIND = ("train_type", "qwen2_5") if OLD else ("tuner_type", "qwen2")
RANK, SCORE = ("reranker", "generative_reranker") if OLD else ("pointwise_reranker", "pointwise_reranker")
FULL = f"--{TUNER} full"
ROWS = f"--model m --model_type {KIND} --template qwen2_5 --torch_dtype bfloat16 --optim adamw_torch_fused --gradient_accumulation_steps 1"
ONE, TWO = (f"{ROWS} --per_device_train_batch_size {rows} --max_length 512" for rows in (1, 2))
ONE_BELOW, TWO_BELOW = (words.replace("512", "1024") for words in (ONE, TWO))
GKD = f"swift rlhf --rlhf_type gkd --teacher_model t --teacher_model_type {KIND} --lmbda 0"
GROUP = "--per_device_train_batch_size 4 --num_generations 4 --reward_funcs format --max_completion_length 128"
GRPO = f"swift rlhf --rlhf_type grpo {ROWS} {GROUP}"
ASKED = {"answers": {"real_prompt_length": 410}}
LONG_PROMPT, LONG_PAIR = ({"rows": {"kind": kind, "prompt": 391}, **ASKED} for kind in ("answer", "pair"))
PAIR, CLASS, TEXTS = ({"rows": {"kind": kind}} for kind in ("pair", "class", "similar"))
THREE = {"rows": {"kind": "similar", "others": 2}}
RANKED = {"rows": {"kind": "ranked", "others": 7}}
TAUGHT = {"answers": {"teacher_b": 0.0251}}
SAMPLED = {
    "rows": {"kind": "prompt", "prompt": 44},
    "answers": {"real_prompt_length": 64 if OLD else 36, "real_response_length": 128},
}
POINTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sft-lora": (f"swift sft {TWO}", {}),
    "sft-lora-no-checkpointing": (f"swift sft {TWO} --gradient_checkpointing false", {}),
    "sft-full": (f"swift sft {TWO} {FULL}", {}),
    "sft-full-no-checkpointing": (f"swift sft {TWO} {FULL} --gradient_checkpointing false", {}),
    "sft-full-fp32": (f"swift sft {TWO} {FULL} --torch_dtype float32", {}),
    "sft-full-accumulated": (f"swift sft {TWO} {FULL} --gradient_accumulation_steps 2", {"skip": 2}),
    "sft-long-prompts": (f"swift sft {TWO} {FULL}", LONG_PROMPT),
    "sft-one-long-prompt": (f"swift sft {ONE}", LONG_PROMPT),
    "sft-loss-scale": (f"swift sft {TWO} --loss_scale react", {}),
    "sft-dora": (f"swift sft {TWO} --use_dora true", {}),
    "sft-rslora": (f"swift sft {TWO} --use_rslora true --lora_rank 64", {}),
    "sft-modules-to-save": (f"swift sft {TWO} --modules_to_save embed_tokens lm_head", {}),
    "sft-adalora": (f"swift sft {TWO} --{TUNER} adalora", {}),
    "sft-llamapro": (f"swift sft {TWO} --{TUNER} llamapro --llamapro_num_new_blocks 2", {}),
    "sft-galore": (f"swift sft {TWO} {FULL} --use_galore true --galore_rank 64", {}),
    "pt-full": (f"swift pt {TWO} {FULL}", {"rows": {"kind": "text", "response": 510}}),
    "dpo-lora": (f"swift rlhf --rlhf_type dpo {TWO}", PAIR),
    "dpo-full": (f"swift rlhf --rlhf_type dpo {TWO} {FULL}", PAIR),
    "dpo-long-prompts": (f"swift rlhf --rlhf_type dpo {TWO}", LONG_PAIR),
    "kto-lora": (f"swift rlhf --rlhf_type kto {TWO}", {"rows": {"kind": "judged"}}),
    "orpo-lora": (f"swift rlhf --rlhf_type orpo {TWO}", PAIR),
    "cpo-lora": (f"swift rlhf --rlhf_type cpo {TWO}", PAIR),
    "simpo-full": (f"swift rlhf --rlhf_type simpo {TWO} {FULL}", PAIR),
    "rm-lora": (f"swift rlhf --rlhf_type rm {TWO}", PAIR),
    "rm-full": (f"swift rlhf --rlhf_type rm {TWO} {FULL}", PAIR),
    "gkd-lora": (f"{GKD} {TWO_BELOW}", TAUGHT),
    "gkd-one-row": (f"{GKD} {ONE_BELOW}", TAUGHT),
    "gkd-full": (f"{GKD} {TWO_BELOW} {FULL}", TAUGHT),
    "grpo-lora": (GRPO, SAMPLED),
    "grpo-full": (f"{GRPO} {FULL}", SAMPLED),
    "seq-cls": (f"swift sft {TWO} --task_type seq_cls --num_labels 2", CLASS),
    "seq-cls-full": (f"swift sft {TWO} {FULL} --task_type seq_cls --num_labels 2", CLASS),
    "embedding-lora": (f"swift sft {TWO} --task_type embedding --loss_type infonce", TEXTS),
    "reranker": (f"swift sft {ONE} --task_type reranker --loss_type {RANK}", RANKED),
    "reranker-full": (f"swift sft {TWO} {FULL} --task_type reranker --loss_type {RANK}", RANKED),
    "generative-reranker": (f"swift sft {ONE} --task_type generative_reranker --loss_type {SCORE}", RANKED),
    "ddp-lora": (f"swift sft {TWO}", {"ranks": 2}),
    "ddp-full": (f"swift sft {TWO} {FULL}", {"ranks": 2}),
}
# tuners of which no word of the base's shape tells the cost; LISA goes on until each layer has been among those drawn
LISA = f"{FULL} --lisa_activated_layers 2 --lisa_step_interval 1"
HALF = f"{FULL} --freeze_parameters_ratio 0.5"
TUNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sft-boft": (f"swift sft {TWO} --{TUNER} boft", {}),
    "sft-boft-no-checkpointing": (f"swift sft {TWO} --{TUNER} boft --gradient_checkpointing false", {}),
    "sft-boft-large-blocks": (f"swift sft {TWO} --{TUNER} boft --boft_block_size 32", {}),
    "sft-vera": (f"swift sft {TWO} --{TUNER} vera", {}),
    "sft-vera-no-checkpointing": (f"swift sft {TWO} --{TUNER} vera --vera_rank 64 --gradient_checkpointing false", {}),
    "sft-lisa": (f"swift sft {TWO} {LISA}", {"steps": 24, "skip": 18}),
    "sft-lisa-no-checkpointing": (f"swift sft {TWO} {LISA} --gradient_checkpointing false", {"steps": 24, "skip": 18}),
    "sft-frozen-half": (f"swift sft {TWO} {HALF}", {}),
    "sft-frozen-half-no-checkpointing": (f"swift sft {TWO} {HALF} --gradient_checkpointing false", {}),
    "sft-frozen-nine-tenths": (f"swift sft {TWO} {FULL} --freeze_parameters_ratio 0.9", {}),
    "embedding-boft": (f"swift sft {TWO} --{TUNER} boft --task_type embedding --loss_type infonce", TEXTS),
    "embedding-vera": (f"swift sft {TWO} --{TUNER} vera --task_type embedding --loss_type infonce", TEXTS),
    "embedding-full": (f"swift sft {TWO} {FULL} --task_type embedding --loss_type infonce", TEXTS),
    "embedding-three-texts": (
        f"INFONCE_HARD_NEGATIVES=1 swift sft {ONE} --task_type embedding --loss_type infonce",
        THREE,
    ),
}
# of a later release: what is asked in other words or computed otherwise there; a teacher of the same folder would be the student itself
AGAIN = [
    "sft-lora",
    "sft-lora-no-checkpointing",
    "sft-full",
    "sft-full-no-checkpointing",
    "sft-modules-to-save",
    "dpo-lora",
    "orpo-lora",
    "kto-lora",
    "gkd-full",
    "grpo-full",
    "embedding-lora",
    "reranker",
    "generative-reranker",
    "ddp-full",
]


def main() -> None:
    every = POINTS if OLD else {**{name: POINTS[name] for name in AGAIN}, **TUNERS}
    chosen = {name: every[name] for name in sys.argv[1:] or every}
    with tempfile.TemporaryDirectory() as place:
        folder = prepared(Path(place))
        points = [point(folder, name, command, **options) for name, (command, options) in chosen.items()]
    packages = ("ms-swift", "transformers", "peft", "trl", "torch")
    write("swift", packages, points, of="-" + ".".join(RELEASE.split(".")[:2]), keep=bool(sys.argv[1:]))


if __name__ == "__main__":
    main()
