"""Code that loads a model and does nothing with it: where it fails, it fails while it loads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.sentences.prose import span_of
from diagnose.facts.trainer.idle import OF_TRAINING, TRAINS
from diagnose.types import Fact, Line, Paste

_LOADS = re.compile(r"\w(?<!Tokenizer)(?<!TokenizerFast)(?<!Processor)(?<!Config)\.from_pretrained\(", re.A)
# what comes behind: a pass, a trainer, adapters, other weights
_GOES_ON = re.compile(
    r"\.generate\(|\bpipeline\(|get_peft_model\(|\bLoraConfig\(|(?<![\w.])model\(|\.chat\(|PeftModel\b|Trainer\b|\.map\(|\.forward\(",
    re.A,
)
_LONGEST = 2000


def only_loads(paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact]) -> Fact | None:
    """The phase, where a script without a command loads a model at its end, and neither code, frames nor words speak of more."""
    if "oom_kind" not in stated or "phase" in stated or paste.commands or any(frame.path for frame in paste.frames):
        return None
    lines = [line for line in paste.lines if len(line.words) < _LONGEST]
    loads = [(line, found) for line in lines if (found := _LOADS.search(line.words))]
    if not loads or any(OF_TRAINING.search(line.words) for line in speech if len(line.words) < _LONGEST):
        return None
    if any(TRAINS.search(line.words) or _GOES_ON.search(line.words) for line in lines):
        return None
    line, found = loads[-1]
    return Fact(
        "phase", "load", "derived", written=found[0], span=span_of(line, found), why="the code only loads a model"
    )
