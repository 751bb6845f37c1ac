"""Write tests/data/trainers/card.toml from the lines that run_card.py, run_card_trl.py and run_card_deepspeed.py left.

    python benchmarks/trainers/card_points.py DATE CARD "torch==… transformers==… …" OUT.jsonl …

A later line of a point takes the place of an earlier one and of the file's; the file's other points stay. ``peaks`` are torch's
allocated bytes, ``reserved`` what its allocator took to the end of the last step, ``outside`` what the driver counts for the process beyond
that: the context, kernels, cuBLAS.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from recorder import OUT, written
from run_card import PARAMETERS, shape

_NAMED = (
    "actor_update",
    "optimizer_step",
    "ref_logprob",
    "rollout",
)  # phases of these runs that an estimate has as well
# how far an estimate is known to lie off, by a part of the point's name, and the cause
KNOWN: dict[str, tuple[dict[str, float], str]] = {
    "grpo-reference": (
        {"ref_logprob": 0.09},
        "copies in bf16 of the reference's weights, which autocast keeps through the pass",
    ),
    "1.5b-full-bf16-1x4096-adamw8bit": (
        {"reserved": 0.14},
        "not looked up; blocks that bitsandbytes' step finds no use for, it seems",
    ),
    "-sft-paged": (
        {"reserved": 0.14},
        "not looked up; blocks of the update's that the step finds no use for, it seems",
    ),
    "zero3-offload-in-turn": (
        {"reserved": 0.14},
        "a block of the logits is cut for weights that stay gathered from the second step on; not so with adapters",
    ),
    "1.5b-grpo": ({"reserved": 0.14}, "not looked up; the cache of generated tokens grows into new blocks, it seems"),
}
SHARDED = {1: "fsdp", 2: "fsdp2"}


def answers(run: dict[str, Any]) -> dict[str, Any]:
    """A run of plain torch as it would be answered in the form: TRL at a version whose loss is that of transformers."""
    length = max(run["lengths"])
    told = {
        "framework": "trl",
        "framework_version": "0.20.0",
        "algo": "sft",
        "gpu_model": "H200",
        "n_gpus": 8 if run["sharded"] else 1,
        "strategy": SHARDED[run["fsdp"]] if run["sharded"] else "none",
        "precision": run["precision"],
        "full_or_lora": "lora" if run["lora_rank"] else "full",
        "micro_batch": run["rows"],
        "gradient_accumulation": run["accumulation"],
        "max_length": length,
        "real_response_length": length,
        "gradient_checkpointing": run["checkpointing"],
        "fused_optimizer": run["optimizer"] == "fused",
    }
    # by hand: transformers' Trainer has an Adam in 8 bits keep the embedding's state in fp32, and FSDP reduce gradients in 16 bits
    if run["optimizer"] == "adamw8bit" or run["sharded"]:
        told["framework"] = "plain"
        del told["framework_version"]
    told |= {"optimizer": "adamw_8bit"} if run["optimizer"] == "adamw8bit" else {}
    told |= {"flash_attention": True} if run["kernel"] == "flash" else {}
    told |= {"expandable_segments": True} if run["growing"] else {}
    if run["lora_rank"]:
        told |= {"lora_rank": run["lora_rank"], "lora_layers": "all_linear", "adapter_dropout": False}
    return told


def point(line: dict[str, Any]) -> dict[str, Any]:
    run = line.get("set")
    said = {"paste": "", "config": json.dumps(shape(run["model"])), "answers": answers(run)} if run else line
    even = not run or len(set(run["lengths"])) == 1
    reserved = {"reserved" if even else "reserved_of_uneven_rows": line["reserved"]}
    # after the steps of a sharded run its allocator was emptied, so that only others tell what lies outside of it
    outside = {} if run and run["sharded"] else {"outside": line["device"] - line["reserved"]}
    # by stream, the largest first; of the larger models, where pieces are small beside it
    large = not run or (run["sharded"] and PARAMETERS[run["model"]] > 4)
    told = large and even and len(line.get("streams", ())) > 1
    streams = {"streams_gib": [round(size / 2**30, 2) for size in line["streams"]]} if told else {}
    off, why = next((known for part, known in KNOWN.items() if part in line["id"]), ({}, ""))
    on_host = ("optimizer_step",) if "offload_optimizer" in said["paste"] else ()  # of whose step the card sees little
    return {
        "id": line["id"],
        **({"why": why} if why else {}),
        **reserved,
        **outside,
        **streams,
        "paste": said["paste"],
        "config": said["config"],
        "answers": said["answers"],
        "peaks": {phase: size for phase, size in line["peaks"].items() if phase in _NAMED and phase not in on_host},
        **({"off": off} if off else {}),
        **({"after": after} if (after := {k: v for k, v in line["peaks"].items() if k not in _NAMED}) else {}),
    }


def main() -> None:
    date, card, packages, *files = sys.argv[1:]
    lines = [json.loads(line) for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()]
    last = {line["id"]: line for line in lines if "error" not in line}
    told = [("card", card), *(package.split("==") for package in packages.split()), ("date", date)]
    head = "# Written by benchmarks/trainers/card_points.py; sizes in bytes.\n[from]\n"
    head += "".join(f'{name} = "{value}"\n' for name, value in told)
    out = OUT / "card.toml"
    kept = [
        block for block in re.split(r"(?m)^(?=\[\[point\]\])", out.read_text("utf-8"))[1:] if _id(block) not in last
    ]
    points = [*(block.strip() + "\n" for block in kept), *(written(point(line)) for line in last.values())]
    out.write_text("\n".join([head, *points]), encoding="utf-8")
    print(len(points), "points")


def _id(block: str) -> str:
    found = re.search(r'(?m)^id = "(.*)"', block)
    return found[1] if found else ""


if __name__ == "__main__":
    main()
