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
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "intermediate_size": 704,
    "vocab_size": 16000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}


def saved(folder: Path, config: dict[str, Any]) -> Path:
    """A model of ``config`` with random bf16 weights and a tokenizer of numbers, as a trainer loads them."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**config))
    model.to(torch.bfloat16).save_pretrained(folder)
    words = {"<pad>": 0, "<eos>": 1, **{str(n): n for n in range(2, config["vocab_size"])}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
    fast.save_pretrained(folder)
    return folder
