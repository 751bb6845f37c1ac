"""A script that trains a model with a head of a few numbers: one is a reward model's, more are classes.

(huggingface/transformers v4.57.1 modeling_layers.py: GenericForSequenceClassification: a score of ``num_labels`` instead of logits.)
"""

from __future__ import annotations

import re

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Paste

_HEAD = re.compile(r"\b\w*ForSequenceClassification\.from_pretrained\(", re.A)
# a model that writes is what is trained, and the other judges it
_WRITES = re.compile(
    r"(?:ForCausalLM|ForConditionalGeneration|ForVision2Seq|ForImageTextToText|ValueHead|LMHeadModel)\.from_pretrained\("
    r"|\.generate\(|\bLLM\(",
    re.A,
)
_LABELS = re.compile(r"\bnum_labels\s{0,4}=\s{0,4}(?P<number>\d{1,5})\b", re.A)
_FURTHER = 8  # lines of one call


def of_head(paste: Paste) -> Fact | None:
    """What is trained, by the only model that a script loads and the number of its labels; None where it loads one that writes."""
    if "ForSequenceClassification" not in paste.text or any(_WRITES.search(line.words) for line in paste.lines):
        return None
    lines = paste.lines
    for at, line in enumerate(lines):
        if not _HEAD.search(line.words) or line.words.lstrip()[:1] == "#":
            continue
        for further in lines[at : at + _FURTHER]:
            if found := _LABELS.search(further.words):
                algo = "rm" if int(found["number"]) == 1 else "seq_cls"
                return Fact("algo", algo, "read", written=found[0], span=span_of(further, found))
    return None
