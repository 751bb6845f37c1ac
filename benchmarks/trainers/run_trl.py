"""Write tests/data/trainers/trl.toml: steps of TRL's own trainers on the CPU, which the estimator is held against.

pip install trl peft
python benchmarks/trainers/run_trl.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import Dataset
from recorder import Recorder, in_processes, loads_counted, write
from tokenizers import Tokenizer, models, pre_tokenizers
from trl import SFTConfig, SFTTrainer

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
LENGTH = 512


def saved(folder: Path, config: dict[str, Any]) -> Path:
    """A model of ``config`` with random bf16 weights and a tokenizer of numbers, as a trainer loads them."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**config))
    model.to(torch.bfloat16).save_pretrained(folder)
    words = {"<pad>": 0, "<eos>": 1, **{str(n): n for n in range(2, config["vocab_size"])}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>"
    ).save_pretrained(folder)
    return folder


def sft(folder: Path, options: dict[str, Any]) -> dict[str, int]:
    text = " ".join(str(n) for n in range(2, 2 + LENGTH))
    rows = Dataset.from_list([{"text": text}] * 16)
    with Recorder() as recorder, loads_counted():
        args = SFTConfig(str(folder / "out"), use_cpu=True, max_steps=3, report_to=[], save_strategy="no", **options)
        trainer = SFTTrainer(str(folder), args=args, train_dataset=rows)
        recorder.wrap(trainer, "training_step", "actor_update")
        recorder.wrap(torch.optim.AdamW, "step", "optimizer_step")
        trainer.train()
    return recorder.peaks(skip=1)


def point(folder: Path, name: str, **options: Any) -> dict[str, Any]:
    options = {
        "optim": "adamw_torch_fused",
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 1,
        "max_length": LENGTH,
        **options,
    }
    script = f"SFTTrainer('m', args=SFTConfig({', '.join(f'{key}={value!r}' for key, value in options.items())}))"
    return {
        "id": name,
        "paste": script,
        "config": json.dumps(CONFIG),
        "answers": {"n_gpus": 1, "real_response_length": LENGTH},
        "peaks": in_processes(1, sft, folder, options),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = saved(Path(place), CONFIG)
        points = [
            point(folder, "sft", bf16=True, gradient_checkpointing=False),
            point(folder, "sft-checkpointing", bf16=True, gradient_checkpointing=True),
        ]
    write("trl", ("trl", "transformers", "torch"), points)


if __name__ == "__main__":
    main()
