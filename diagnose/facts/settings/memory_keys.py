"""Every key of a paste that bears on memory, as the person spelled it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from diagnose.facts.sentences.run_words import worded_settings
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Framework
from diagnose.types import Line, Paste, Setting

# Words in the last part of a key that are about memory in any trainer's configuration.
_MEMORY = re.compile(
    r"batch|length|max_len|_len$|tokens|offload|memory|mem_fraction|utilization|checkpointing|parallel|zero|precision|dtype|bf16|fp16"
    r"|pixels|lora|num_generations|micro|stage|gpus|nodes|quant|attn|accumulation|deepspeed|vllm|n_agent|swap|sleep|empty_cache|fsdp"
    r"|pin_|num_proc|num_workers|cache|target_modules|exclude_modules|freeze|liger|recompute|alloc_conf|optim$|packing|padding|num_cpus"
    r"|colocate|load_in_|inference|samples|concurrent|ref_model|entropy|finetuning|pref_loss|^(?:tp|pp|ep|etp|cp|sp)$|max_prompt|max_completion"
    r"|max_seq|(?:val|save)_(?:period|steps|freq)|keep_top|save_total|tie_word|dynamic|resume|truncation|token_num|allocation",
    re.A,
)
_NEVER = re.compile(
    r"path|dir$|file|name$|project|logger|wandb|(?:_|^)url|token$|seed|steps_per|gradient_accumulation_dtype|host|port$|addr",
    re.A,
)


# a key that switches on what its parent names
_SWITCHES = ("enabled", "enable")
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,80}", re.A)
_LITERALS = ("True", "False", "None")


def run_config(
    paste: Paste, speech: Sequence[Line], framework: Framework | None, knowledge: Knowledge
) -> dict[str, str]:
    """Every key of the run that bears on memory, and a launcher's stage that a sentence names."""
    known = [framework] if framework and not framework.fallback else list(knowledge.frameworks.values())
    found = config(paste, known)
    return found | {key: value for key, (value, _) in worded_settings(speech, found).items()}


def config(paste: Paste, frameworks: list[Framework]) -> dict[str, str]:
    """Every key that bears on memory as the person spelled it, with the value as written.

    ``frameworks`` are the recognised one or, where none is, all: their keys count by the last part of the path. What a command
    gives stays, whatever an answer below it advises.
    """
    last, found = _last_parts(tuple(frameworks)), dict[str, str]()
    given = {setting.key for setting in paste.settings if setting.command >= 0}
    for setting in paste.settings:
        if setting.command < 0 and setting.key in given:
            continue
        parts = normal(setting.key).split(".")
        end = parts[-2] if parts[-1] in _SWITCHES and len(parts) > 1 else parts[-1]
        if end in last or (_MEMORY.search(end) and not _NEVER.search(end)):
            found[setting.key] = _resolved(setting, paste)
    return found


@lru_cache(maxsize=128)
def _last_parts(frameworks: tuple[Framework, ...]) -> frozenset[str]:
    """The last parts of all their keys that tell of memory."""
    keys = (key for framework in frameworks for key in framework.keys if key.fact != "dataset")
    return frozenset(normal(name).rsplit(".", 1)[-1] for key in keys for name in (key.key, *key.aliases))


def _resolved(setting: Setting, paste: Paste) -> str:
    """The value; of an argument that only hands on a variable what the script gave to the variable."""
    if setting.shape != "python" or not _VARIABLE.fullmatch(setting.value):
        return setting.value
    given = (other.value for other in paste.settings if other.key == setting.value and other.shape == "python")
    return next((value for value in given if not _VARIABLE.fullmatch(value) or value in _LITERALS), setting.value)
