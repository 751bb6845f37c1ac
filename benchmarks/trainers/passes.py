"""Rows as a trainer of PPO hands them to its workers, and marks on the passes that go over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from recorder import Recorder

PROMPT = RESPONSE = 128


def rows(count: int, real: Sequence[int], vocabulary: int) -> dict[str, torch.Tensor]:
    """Rows of one rank: ``real`` tokens of prompts, padded on the left, and of answers, padded on the right."""
    prompt, response = real
    mask = torch.zeros(count, PROMPT + RESPONSE, dtype=torch.int64)
    mask[:, PROMPT - prompt : PROMPT + response] = 1
    ids = torch.randint(2, vocabulary, mask.shape) * mask
    names = ("old_log_probs", "ref_log_prob", "ref_log_probs", "advantages", "values", "returns")
    return {
        "responses": ids[:, PROMPT:],
        "input_ids": ids,
        "attention_mask": mask,
        "response_mask": mask[:, PROMPT:],
        "position_ids": (mask.cumsum(-1) - 1).clamp(min=0),
        **{name: torch.zeros(count, RESPONSE) for name in names},
    }


def mark_passes(recorder: Recorder, owner: Any, training: str, other: str) -> None:
    """Mark forward passes of ``owner`` as ``training`` where they build a graph and else as ``other``; and backward passes."""
    plain = owner._forward_micro_batch
    marked = []
    for phase in (training, other):
        owner._forward_micro_batch = plain
        recorder.wrap(owner, "_forward_micro_batch", phase)
        marked.append(owner._forward_micro_batch)
    owner._forward_micro_batch = lambda *args, **kwargs: marked[not torch.is_grad_enabled()](*args, **kwargs)
    recorder.wrap(torch.Tensor, "backward", training)
