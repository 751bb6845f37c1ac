"""Bytes a logit of the ways in which trainers turn logits into a loss, in real PyTorch on the CPU.

Each way is written here after the code that it stands for, named beside it; what is measured is the peak over forward and backward
pass beside hidden states and head, divided by tokens x vocabulary. The allocator's own events are counted: a mode that looks at every
tensor holds each once more, and autograd then adds gradients up out of place.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from oracle_measure import Live, allocated
from torch.nn.functional import cross_entropy, log_softmax, softmax

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def upcast_cross_entropy(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """transformers 4.46 and later, loss/loss_utils.py: ForCausalLMLoss."""
    return cross_entropy(logits.float().view(-1, logits.size(-1)), ids.view(-1))


def shifted_copy(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """transformers until 4.44, LlamaForCausalLM.forward: upcast, then a contiguous copy without the last token."""
    shifted = logits.float()[:, :-1].contiguous()
    return cross_entropy(shifted.view(-1, logits.size(-1)), ids[:, :-1].reshape(-1))


def rows_of_log_softmax(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """trl trainer/utils.py: selective_log_softmax of bf16 logits, row by row."""
    rows = [log_softmax(row, -1).gather(-1, i.unsqueeze(-1)).squeeze(-1) for row, i in zip(logits, ids, strict=True)]
    return -torch.stack(rows).mean()


def rows_of_logsumexp(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """trl trainer/utils.py: selective_log_softmax of fp32 logits."""
    logits = logits.float()
    chosen = logits.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return (torch.stack([torch.logsumexp(row, -1) for row in logits]) - chosen).mean()


def _of_responses(logits: torch.Tensor, ids: torch.Tensor, per_row: Loss) -> torch.Tensor:
    """trl trainer/grpo_trainer.py at f2cd577: _get_per_token_logps_and_entropies; the model makes logits of the response only."""
    keep = ids.size(1) - 1
    logits = logits[:, :-1][:, -keep:]
    logits.div_(0.9)
    return per_row(logits, ids[:, -keep:])


def _of_divided(logits: torch.Tensor, ids: torch.Tensor, per_row: Loss) -> torch.Tensor:
    """The same before v1.0, and ms-swift before v4.2: the quotient is a copy."""
    keep = ids.size(1) - 1
    return per_row(logits[:, :-1][:, -keep:] / 0.9, ids[:, -keep:])


def divided_in_bf16(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """trl trainer/grpo_trainer.py at v0.29, where the model's output stays bf16."""
    return _of_divided(logits, ids, rows_of_log_softmax)


def divided_in_fp32(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """trl trainer/grpo_trainer.py at v0.29, where accelerate turns the model's output into fp32."""
    return _of_divided(logits.float(), ids, rows_of_logsumexp)


def grpo_in_bf16(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """The same where the model's output stays bf16, as under DeepSpeed."""
    return _of_responses(logits, ids, rows_of_log_softmax)


def grpo_in_fp32(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """The same where accelerate turns the model's output into fp32 (utils/operations.py: convert_outputs_to_fp32)."""
    return _of_responses(logits.float(), ids, rows_of_logsumexp)


def whole_log_softmax(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """OpenRLHF and early trl: log-softmax of the fp32 logits of all rows at once."""
    return -log_softmax(logits.float(), -1).gather(-1, ids.unsqueeze(-1)).mean()


def with_entropy(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """verl utils/torch_functional.py: logprobs_from_logits_v2 and entropy_from_logits on fp32 logits."""
    logits = logits.float()
    chosen = logits.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    probabilities = softmax(logits, dim=-1)
    entropy = torch.logsumexp(logits, dim=-1) - torch.sum(probabilities * logits, dim=-1)
    log_probs = chosen - torch.stack([torch.logsumexp(row, -1) for row in logits])
    return -(log_probs + 0.01 * entropy).mean()


WAYS: dict[str, Loss] = {
    one.__name__: one
    for one in (
        upcast_cross_entropy,
        shifted_copy,
        rows_of_log_softmax,
        rows_of_logsumexp,
        grpo_in_bf16,
        grpo_in_fp32,
        divided_in_bf16,
        divided_in_fp32,
        whole_log_softmax,
        with_entropy,
    )
}


def bytes_a_logit(way: str, rows: int, length: int, vocab: int, hidden: int = 64) -> dict[str, float]:
    """Bytes a logit at the peak of a pass without gradient, of the forward pass with gradient, and of the backward pass."""
    head = torch.nn.Linear(hidden, vocab, bias=False, dtype=torch.bfloat16)
    states = torch.randn(rows, length, hidden, dtype=torch.bfloat16)
    ids = torch.randint(0, vocab, (rows, length))
    head.weight.grad = torch.zeros_like(head.weight)
    with torch.no_grad():
        _, no_grad, _ = allocated(lambda: WAYS[way](head(states), ids))
    loss, forward, kept = allocated(lambda: WAYS[way](head(states), ids))
    _, backward, _ = allocated(loss.backward)
    found = {"no_grad": no_grad, "forward": forward, "backward": kept + backward}
    return {moment: round(size / (rows * length * vocab), 2) for moment, size in found.items()}


def chunked_bytes(rows: int, length: int, vocab: int, chunk: int, hidden: int = 64) -> dict[str, float]:
    """The same for a cross entropy of ``chunk`` tokens at a time, each recomputed in its backward pass."""
    from torch.utils.checkpoint import checkpoint

    head = torch.nn.Linear(hidden, vocab, bias=False, dtype=torch.bfloat16)
    states = torch.randn(1, rows * length, hidden, dtype=torch.bfloat16, requires_grad=True)
    ids = torch.randint(0, vocab, (1, rows * length))

    def part(states: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return upcast_cross_entropy(head(states), ids)

    with Live() as live:
        pieces = zip(states.split(chunk, 1), ids.split(chunk, 1), strict=True)
        loss = torch.stack([checkpoint(part, a, b, use_reentrant=False) for a, b in pieces]).mean()
        forward = live.rest()
        loss.backward()
        return {
            "forward": round(forward / (chunk * vocab), 2),
            "backward": round(live.rest() / (chunk * vocab), 2),
        }
