"""Write tests/data/measured_cpu.toml: bytes of real PyTorch on the CPU, which the estimator is held against.

    pip install torch transformers peft
    python benchmarks/oracle.py

Models are small and have random weights; only the shape of what they keep matters. Attention through PyTorch's CPU kernel keeps
what FlashAttention keeps: query, key, value, output and one number a row and head. Takes about five minutes on two cores.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace

import torch
import transformers
from oracle_families import FAMILIES, STEPS, TOWER, VOCAB
from oracle_families import TOWERS as OTHER_TOWERS
from oracle_loss import WAYS, bytes_a_logit, chunked_bytes
from oracle_measure import Setting, kept_bytes, step_bytes, tower_bytes, tower_layer_bytes

OUT = pathlib.Path(__file__).parent.parent / "tests" / "data" / "measured_cpu.toml"

MODELS = {
    "qwen2": {
        "class": "Qwen2Config",
        "hidden": 256,
        "layers": 4,
        "heads": 8,
        "kv_heads": 2,
        "intermediate": 704,
        "vocab": 4000,
    },
    "qwen2-deep": {
        "class": "Qwen2Config",
        "hidden": 192,
        "layers": 12,
        "heads": 6,
        "kv_heads": 2,
        "intermediate": 640,
        "vocab": 800,
        "tied": True,
    },
    "llama": {
        "class": "LlamaConfig",
        "hidden": 384,
        "layers": 3,
        "heads": 6,
        "kv_heads": 6,
        "intermediate": 1024,
        "vocab": 1000,
    },
    "qwen3": {
        "class": "Qwen3Config",
        "hidden": 256,
        "layers": 6,
        "heads": 8,
        "kv_heads": 4,
        "head_dim": 64,
        "intermediate": 768,
        "vocab": 2000,
        "tied": True,
    },
    "qwen3-moe": {
        "class": "Qwen3MoeConfig",
        "hidden": 256,
        "layers": 4,
        "heads": 8,
        "kv_heads": 2,
        "head_dim": 32,
        "intermediate": 512,
        "vocab": 1000,
        "experts": 8,
        "active": 2,
        "width": 192,
    },
    "qwen2-vl-text": {
        "class": "Qwen2VLTextConfig",
        "hidden": 256,
        "layers": 4,
        "heads": 2,
        "kv_heads": 1,
        "intermediate": 896,
        "vocab": 1500,
    },
}

# vision towers: a sigmoid GELU after LayerNorm, and a gated MLP after RMSNorm
TOWERS = {
    "qwen2-vl": {"hidden": 320, "layers": 12, "intermediate": 1280},
    "qwen2.5-vl": {"hidden": 320, "layers": 12, "intermediate": 864},
}


def config_of(model: dict) -> transformers.PretrainedConfig:
    """The transformers configuration of a shape."""
    more = {"head_dim": model["head_dim"]} if "head_dim" in model else {}
    if "experts" in model:
        more |= {
            "num_experts": model["experts"],
            "num_experts_per_tok": model["active"],
            "moe_intermediate_size": model["width"],
        }
    return getattr(transformers, model["class"])(
        hidden_size=model["hidden"],
        num_hidden_layers=model["layers"],
        num_attention_heads=model["heads"],
        num_key_value_heads=model["kv_heads"],
        intermediate_size=model["intermediate"],
        vocab_size=model["vocab"],
        tie_word_embeddings=model.get("tied", False),
        max_position_embeddings=8192,
        **more,
    )


def kept_settings() -> list[Setting]:
    """What is asked of every model's decoder."""
    base = Setting()
    return [
        base,
        replace(base, length=1024, rows=1),
        replace(base, precision="mixed"),
        replace(base, attention="eager", length=256),
        replace(base, padded=True),
        replace(base, checkpointing="on"),
        replace(base, checkpointing="reentrant", precision="mixed"),
        replace(base, lora_rank=8),
        replace(base, lora_rank=16, checkpointing="on"),
        replace(base, lora_rank=8, adapters="bf16"),
    ]


def step_settings() -> list[Setting]:
    """What is asked of every model's whole step."""
    base = Setting(rows=4, checkpointing="on")
    return [
        base,
        replace(base, precision="mixed"),
        replace(base, checkpointing="off"),
        replace(base, checkpointing="off", precision="mixed"),
        replace(base, rows=1, length=64, optimizer="foreach"),
        replace(base, rows=1, length=64, optimizer="fused"),
        replace(base, attention="eager", length=256),
        replace(base, accumulation=1, length=2048, rows=1),
        replace(base, lora_rank=8),
        replace(base, lora_rank=8, adapters="bf16"),
        replace(base, padded=True, length=1024),
    ]


def kept_points() -> Iterator[dict]:
    """Forward passes of every model's decoder."""
    for name, model in MODELS.items():
        for setting in kept_settings():
            if not _left_out(model, setting):
                sizes = kept_bytes(config_of(model), setting, model["vocab"])
                yield {"kind": "kept", "model": name, **asdict(setting), **sizes}


def fp32_points() -> Iterator[dict]:
    """Forward passes and whole steps without any 16-bit value."""
    base = Setting(precision="fp32")
    kept = [
        base,
        replace(base, checkpointing="on"),
        replace(base, attention="eager", length=256),
        replace(base, padded=True),
        replace(base, lora_rank=8),
    ]
    for name in ("qwen2", "llama", "qwen3"):
        model = MODELS[name]
        for setting in kept:
            sizes = kept_bytes(config_of(model), setting, model["vocab"])
            yield {"kind": "kept_fp32", "model": name, **asdict(setting), **sizes}
        for checkpointing in ("off", "on"):
            setting = replace(base, rows=4, checkpointing=checkpointing)
            sizes = step_bytes(config_of(model), setting, model["vocab"])
            yield {"kind": "step_fp32", "model": name, **asdict(setting), **sizes}


def family_points() -> Iterator[dict]:
    """Forward passes of the decoders of other families, with attention as FlashAttention keeps it."""
    for name, family in FAMILIES.items():
        for setting in family.kept_settings():
            sizes = kept_bytes(family.made(), setting, VOCAB)
            yield {"kind": "family", "model": name, **asdict(setting), **sizes}


def family_step_points() -> Iterator[dict]:
    """Whole steps of some of them."""
    for name in STEPS:
        for setting in FAMILIES[name].step_settings():
            sizes = step_bytes(FAMILIES[name].made(), setting, VOCAB)
            yield {"kind": "family_step", "model": name, **asdict(setting), **sizes}


def step_points() -> Iterator[dict]:
    """Whole steps of every model that has a head."""
    for name, model in MODELS.items():
        for setting in step_settings():
            if not _left_out(model, setting) and "VL" not in model["class"]:
                sizes = step_bytes(config_of(model), setting, model["vocab"])
                yield {"kind": "step", "model": name, **asdict(setting), **sizes}


def tower_points() -> Iterator[dict]:
    """Forward passes of vision towers over one image."""
    for name, shape in TOWERS.items():
        for checkpointing in ("off", "on"):
            sizes = tower_bytes(name, shape, 1024, checkpointing)
            yield {"kind": "tower", "model": name, "patches": 1024, "checkpointing": checkpointing, **shape, **sizes}


def tower_layer_points() -> Iterator[dict]:
    """A layer of other vision towers."""
    for family, record in OTHER_TOWERS.items():
        yield {"kind": "tower_layer", "model": family, "record": record, **TOWER, **tower_layer_bytes(family, TOWER)}


def loss_points() -> Iterator[dict]:
    """Ways from logits to a loss."""
    for way in WAYS:
        yield {"kind": "loss", "way": way, **bytes_a_logit(way, rows=8, length=128, vocab=8000)}
    yield {"kind": "loss", "way": "chunked_cross_entropy", "chunk": 128, **chunked_bytes(8, 128, 8000, 128)}


KINDS = {
    "kept": kept_points,
    "fp32": fp32_points,
    "family": family_points,
    "family_step": family_step_points,
    "step": step_points,
    "tower": tower_points,
    "tower_layer": tower_layer_points,
    "loss": loss_points,
}


def _left_out(model: dict, setting: Setting) -> bool:
    """Experts are stacked parameters, which adapters on linear layers leave out, and autocast does not know grouped_mm."""
    return "experts" in model and (setting.lora_rank > 0 or setting.precision == "mixed")


def written(tables: list[tuple[str, dict]]) -> str:
    """TOML of flat tables."""
    lines = ["# Written by benchmarks/oracle.py; sizes in bytes, of losses in bytes a logit.\n"]
    for head, table in tables:
        lines.append(f"\n[{head}]\n" if head.startswith("from") else f"\n[[{head}]]\n")
        lines += [f"{key} = {_value(value)}\n" for key, value in table.items()]
    return "".join(lines)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--only", choices=list(KINDS), help="measure one kind again and keep the other points")
    only = ap.parse_args().only
    warnings.simplefilter("ignore")
    before = tomllib.loads(OUT.read_text()) if only else {"from": {}, "point": []}
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    today = {**versions, "date": datetime.date.today().isoformat()}
    origin = before["from"] | {only: " ".join(today.values())} if only else today
    points: list[dict] = []
    for kind, measure in KINDS.items():
        points += (
            measure()
            if only in (None, kind)
            else [point for point in before["point"] if point["kind"] in (kind, f"kept_{kind}", f"step_{kind}")]
        )
        print(kind, len(points), flush=True)
    models = [("model", {"name": name, **model}) for name, model in MODELS.items()]
    families = [("family", {"name": name, "record": one.record, **one.numbers}) for name, one in FAMILIES.items()]
    tables = [("from", origin), *models, *families, *(("point", point) for point in points)]
    OUT.write_text(written(tables))


if __name__ == "__main__":
    main()
