"""The points of run_card_easyr1.py: which runs they are, and tests/data/trainers/card_easyr1.toml of what they measured.

    python benchmarks/trainers/card_easyr1.py OUT.jsonl DATE CARD "torch==… transformers==…"

The towers of 7B and 32B are as wide as transformers' own default, 3,584, which is not what was published.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder import OUT, written

RANKS = 8
GIB = 2**30
VOCABULARY = {"qwen2_5_vl": 152064, "qwen3_vl_moe": 151936}
PATCHES = {"qwen2_5_vl": 14, "qwen3_vl_moe": 16}

# transformers 4.57.1 models/qwen2_5_vl/configuration_qwen2_5_vl.py: Qwen2_5_VLVisionConfig
_DEFAULT_TOWER = {
    "depth": 32,
    "hidden_size": 3584,
    "num_heads": 16,
    "patch_size": 14,
    "window_size": 112,
    "in_channels": 3,
}
_QWEN2_5 = {
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-6,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "qwen2.5-vl-7b": (
        "qwen2_5_vl",
        _QWEN2_5
        | {"hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "intermediate_size": 18944},
        {"intermediate_size": 3420, "out_hidden_size": 3584},
    ),
    "qwen2.5-vl-32b": (
        "qwen2_5_vl",
        _QWEN2_5
        | {"hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8}
        | {"intermediate_size": 27648},
        {"intermediate_size": 3456, "out_hidden_size": 5120},
    ),
    "qwen3-vl-30b-a3b": ("qwen3_vl_moe", {}, {"out_hidden_size": 2048}),
    "qwen2.5-vl-tiny": (
        "qwen2_5_vl",
        _QWEN2_5 | {"hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256},
        {
            "depth": 2,
            "hidden_size": 64,
            "num_heads": 2,
            "intermediate_size": 64,
            "out_hidden_size": 512,
            "fullatt_block_indexes": [1],
        },
    ),
    "qwen3-vl-tiny": (
        "qwen3_vl_moe",
        {
            "hidden_size": 256,
            "num_hidden_layers": 3,
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
        },
        {"depth": 3, "hidden_size": 64, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 256}
        | {"deepstack_visual_indexes": [0, 1]},
    ),
}
_QWEN3_MOE = {
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"},
}
_QWEN3_TOWER = {
    "depth": 27,
    "patch_size": 16,
    "in_channels": 3,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "deepstack_visual_indexes": [8, 16, 24],
}


@dataclass(frozen=True)
class Sight:
    """A point: ``stored`` weights, rows of a mini batch on this rank, real tokens of answers (mean, at most), the card's GiB for torch."""

    id: str
    model: str
    stored: str = "bf16"
    rows: int = 48
    batches: int = 2
    answers: tuple[int, int] = (500, 2048)
    limit: float = 76.4


POINTS = (
    Sight("easyr1-qwen2.5-vl-tiny", "qwen2.5-vl-tiny", rows=6),
    Sight("easyr1-qwen3-vl-tiny", "qwen3-vl-tiny", rows=6),
    Sight("easyr1-7b-amp-1", "qwen2.5-vl-7b", stored="fp32", rows=80),
    Sight("easyr1-7b-bf16-1", "qwen2.5-vl-7b", rows=80),
    Sight("easyr1-32b-bf16-1", "qwen2.5-vl-32b"),
    Sight("easyr1-30b-a3b-bf16-1", "qwen3-vl-30b-a3b", rows=12, answers=(1500, 2048)),
)


def shape(model: str) -> dict[str, Any]:
    """The model as its config.json would tell it."""
    kind, text, tower = MODELS[model]
    sparse = kind == "qwen3_vl_moe"
    text = (_QWEN3_MOE if sparse else {}) | text | {"vocab_size": VOCABULARY[kind]}
    tower = (_QWEN3_TOWER if sparse else _DEFAULT_TOWER) | tower | {"spatial_merge_size": 2, "temporal_patch_size": 2}
    return {"model_type": kind, "text_config": text, "vision_config": tower, "tie_word_embeddings": False}


SETTINGS = {
    "data.max_prompt_length": 2048,
    "data.max_response_length": 2048,
    "data.rollout_batch_size": 512,
    "data.min_pixels": 262144,
    "data.max_pixels": 340000,
    "worker.actor.global_batch_size": 128,
    "worker.actor.padding_free": True,
    "worker.actor.dynamic_batching": True,
    "worker.actor.micro_batch_size_per_device_for_update": 1,
    "worker.actor.micro_batch_size_per_device_for_experience": 2,
    "worker.actor.model.enable_gradient_checkpointing": True,
    "worker.actor.model.freeze_vision_tower": False,
    "worker.actor.fsdp.enable_full_shard": True,
    "worker.actor.offload.offload_params": True,
    "worker.actor.offload.offload_optimizer": True,
    "worker.rollout.n": 5,
    "worker.rollout.enforce_eager": True,
    "trainer.n_gpus_per_node": RANKS,
}
IN_16_BITS = {"worker.actor.fsdp.torch_dtype": "bf16", "worker.actor.optim.strategy": "adamw_bf16"}


def found(line: dict[str, Any]) -> dict[str, Any]:
    """A point for the tests: peaks of the last mini batch, when all states are there, and of the passes that do not train."""
    told, lines = line["set"], line["lines"]
    names = [one[0] for one in lines]
    update = range(names.index("step") + 1, names.index("updated"))
    passes = [at for at, name in enumerate(names) if name == "forward" and not names.index("loaded") < at < update.stop]
    seen = {
        "actor_update": [at for at in update if names[at] in ("forward", "backward")],
        "optimizer_step": [at for at in update if names[at] == "step"],
        "logprob": passes,
    }
    words = SETTINGS | (IN_16_BITS if told["stored"] == "bf16" else {})
    command = " ".join(f"{key}={value}" for key, value in words.items())
    # the most tokens of a pass, which are balanced and not cut at the budget
    most = {
        phase: max(lines[at][2] for at in ats if names[at] == "forward")
        for phase, ats in seen.items()
        if phase != "optimizer_step"
    }
    rows = {"real_prompt_length": 470, "real_response_length": told["answers"][0]}
    shown = [lines[at][-1]["streams"] for at in range(names.index("loaded"), names.index("updated"))]
    streams = [max(one[at] for one in shown if len(one) > at) for at in range(max(map(len, shown)))]
    return {
        "id": line["id"],
        "streams_gib": streams,
        **(
            {"reserved": round(max(lines[at][-1]["reserved"] for at in update) * GIB)} if told["model"] in DENSE else {}
        ),
        "paste": f"python3 -m verl.trainer.main config=examples/config.yaml {command}\nEasyR1 v0.3.2",
        "config": json.dumps(shape(told["model"])),
        "answers": {
            "gpu_model": "H100",
            "n_gpus": RANKS,
            "algo": "grpo",
            "micro_tokens": most["actor_update"],
            "logprob_tokens": most["logprob"],
            **rows,
        },
        "peaks": {phase: round(max(lines[at][-1]["allocated"] for at in ats) * GIB) for phase, ats in seen.items()},
    }


# where many experts' gradients are freed faster than the card is done with them, as many blocks wait as the host is ahead
DENSE = ("qwen2.5-vl-7b", "qwen2.5-vl-32b")


def tell(file: str, date: str, card: str, packages: str) -> None:
    """Write the points of a file of measured lines."""
    last = {line["id"]: line for line in map(json.loads, Path(file).read_text(encoding="utf-8").splitlines())}
    head = [("card", card), *(package.split("==") for package in packages.split()), ("date", date)]
    text = "# Written by benchmarks/trainers/run_card_easyr1.py; sizes in bytes.\n[from]\n"
    text += "".join(f'{name} = "{value}"\n' for name, value in head)
    points = "\n".join(written(found(line)) for line in last.values() if "lines" in line)
    (OUT / "card_easyr1.toml").write_text(f"{text}\n{points}", encoding="utf-8")


if __name__ == "__main__":
    tell(*sys.argv[1:])
