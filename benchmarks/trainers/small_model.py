"""A model of random weights, small enough for a CPU and shaped so that its parts can be told from each other by their bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
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
}
# half as wide, with twice as many words: the root unit of FSDP is most of it
NARROW = {
    **CONFIG,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "intermediate_size": 704,
    "vocab_size": 16000,
}
MARKS = {"pad_token": "<pad>", "eos_token": "<eos>"}


def saved_weights(folder: Path, config: dict[str, Any]) -> transformers.PreTrainedModel:
    """A model of ``config`` in bf16, as a trainer loads it."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**config))
    model.to(torch.bfloat16).save_pretrained(folder)
    return model


def saved_words(folder: Path, count: int, first: tuple[str, ...] = tuple(MARKS.values()), **marks: Any) -> None:
    """A tokenizer whose first words are these, and all others numbers; ``marks`` are those that end a row or fill it up."""
    words = {**{word: n for n, word in enumerate(first)}, **{str(n): n for n in range(len(first), count)}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=first[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **(marks or MARKS)).save_pretrained(folder)


def saved(folder: Path, config: dict[str, Any]) -> Path:
    """Both."""
    saved_weights(folder, config)
    saved_words(folder, config["vocab_size"])
    return folder


def said(count: int) -> str:
    """A text of ``count`` tokens."""
    return " ".join(str(n) for n in range(2, 2 + count))
