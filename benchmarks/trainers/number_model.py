"""A small model of random weights whose tokenizer knows numbers alone, and the points that a script measures with it."""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import transformers
from recorder import OUT, write
from tokenizers import Tokenizer, models, pre_tokenizers

CONFIG = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 512,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 1408,
    "vocab_size": 8000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def saved(folder: Path) -> transformers.PreTrainedModel:
    """The model of ``CONFIG`` in bf16, saved with a tokenizer as trainers load them."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**CONFIG))
    model.to(torch.bfloat16).save_pretrained(folder)
    words = {"<pad>": 0, "<eos>": 1, **{str(n): n for n in range(2, CONFIG["vocab_size"])}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>"
    ).save_pretrained(folder)
    return model


def said(count: int) -> str:
    """A text of ``count`` tokens."""
    return " ".join(str(n) for n in range(2, 2 + count))


def many_at_once() -> None:
    """PyTorch's default for Adam on a card, many tensors at once; on the CPU it is one after another."""
    plain = torch.optim.AdamW.__init__

    @functools.wraps(plain)
    def init(self: Any, *args: Any, **options: Any) -> None:
        plain(self, *args, **{**options, "foreach": None if options.get("fused") else True})

    torch.optim.AdamW.__init__ = init


def measure(
    trainer: str,
    packages: tuple[str, ...],
    prepare: Callable[[Path], None],
    points: dict[str, Callable[[Path], dict[str, Any]]],
) -> None:
    """Measure the points that the command names, or all. What the file holds of the others, and beside what is measured, is kept."""
    file = OUT / f"{trainer}.toml"
    found = {one["id"]: one for one in (tomllib.loads(file.read_text())["point"] if file.exists() else ())}
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place))
        for id in sys.argv[1:] or points:
            new = points[id](Path(place))
            found[id] = {"id": id, **found.get(id, {}), "config": json.dumps(CONFIG), **new}
            print(id, new["peaks"], flush=True)
    write(trainer, packages, [found[id] for id in points if id in found])


def versions(packages: tuple[str, ...]) -> str:
    """A line as pip prints them."""
    return " ".join(f"{package}=={version(package).split('+')[0]}" for package in packages)
