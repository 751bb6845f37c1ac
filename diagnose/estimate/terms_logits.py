"""Logits: bytes a logit x tokens x vocabulary. How many copies live at once is the framework's own code, as its record says."""

from __future__ import annotations

from dataclasses import replace

from diagnose.estimate.plan import Plan
from diagnose.estimate.rows import real_row
from diagnose.estimate.term import Band, count, counts, make_term
from diagnose.estimate.terms_held import held_bytes
from diagnose.estimate.terms_tiles import tiles
from diagnose.estimate.tokens import Pass, filled
from diagnose.types import Term
from diagnose.units import from_gib

_SOURCE = "copies counted by the rules of autograd in the loss of the framework; the record of the framework names file and lines"
_MOVED = ("logits_chunked", "mtp_layers", "entropy_in_loss", "remove_padding")
_TRAIN_DEFAULT, _FORWARD_DEFAULT = 10.0, 4.0
_CHUNK = "the chunk as the record of the framework cuts it, which names the file; no more than half of the memory that is free"
# Of a chunk's fp32 logits: a compiled loss holds them in 16 bits and so their gradient, the casts between being one kernel's own; what is
# not compiled holds 10 bytes a logit (unslothai/unsloth-zoo@ce232d6 fused_losses/cross_entropy_loss.py: _get_chunk_multiplier; pull 947).
_OF_CHUNK = Band(1.0, 1.0, 2.5)
# A compiled log-softmax of samples goes chunk by chunk under autograd, which keeps each chunk's product with the head (unsloth-zoo@ce232d6
# rl_replacements.py: chunked_hidden_states_selective_log_softmax; torch 2.6 _functorch/partitioners.py never recomputes a product).
_KEPT = (
    "torch 2.6 _functorch/partitioners.py: products are kept; the record of the framework names the file of the loss"
)
# Such a loss adds each chunk's gradient of the head to a sum of its own, and hands that on in the backward pass (linkedin/Liger-Kernel
# v0.7.0 src/liger_kernel/chunked_loss/fused_linear_ppo.py, fused_linear_preference.py: forward).
_SUMMED = "linkedin/Liger-Kernel v0.7.0 src/liger_kernel/chunked_loss/fused_linear_ppo.py; the record of the framework says which releases"
# fp32 softmax of a further token's loss, which is taken first and waits for its turn in the backward pass
_FURTHER = 4.0
_AFTER_LOSS = 6.0
_SCORES = ("logprob", "ref")  # passes that take log-probs of samples and no loss


def logits_bytes(*, tokens: float, vocab: int, bytes_each: float) -> float:
    """All copies of a [tokens, vocabulary] tensor together."""
    return tokens * vocab * bytes_each


def logits_train(plan: Plan, one: Pass) -> list[Term]:
    """At the start of the backward pass."""
    if plan.unread_logits:
        return []
    further = (plan.number("mtp_layers") or 0) * _FURTHER
    each = (plan.number("logits_train_bytes") or _TRAIN_DEFAULT) + further
    each += (plan.number("response_train_bytes") or 0.0) * _read(plan, one)
    return (
        tiles(plan, one, trains=True)
        or _chunk_of_tokens(plan, one, "chunk_train_bytes")
        or _one_chunk(plan, one)
        or _kept_chunks(plan, one)
        or [*_logits(plan, one, each, 0.0), *_last_chunk(plan, one)]
    )


def logits_forward(plan: Plan, one: Pass, kind: str = "") -> list[Term]:
    """In a pass without gradient; where the loss goes row by row the longest row's copies stand beside the logits."""
    plan = in_pass(plan, kind)
    each = plan.number("logits_forward_bytes") or _FORWARD_DEFAULT
    each = (plan.number("eval_logits_bytes") or each) if kind == "eval" else each
    beside = plan.number("response_forward_bytes") or 0.0
    entropy = (plan.number("entropy_forward_bytes") or 0.0) if kind == "logprob" else 0.0
    each += max(beside, entropy) * _read(plan, one)
    if chunk := tiles(plan, one, trains=False) or _chunk_of_tokens(plan, one, "chunk_forward_bytes"):
        return chunk
    if plan.does.get("loss_by_row") != "yes":
        return _logits(plan, one, each, 0.0)
    prompt, response = real_row(plan, 1.0)
    return _logits(plan, one, each, max(one.row.mid, prompt.mid + response.mid))


def in_pass(plan: Plan, kind: str) -> Plan:
    """The plan of a pass by its kind: where a loss in chunks is the update's alone, passes that score samples make whole logits."""
    if kind not in _SCORES or plan.does.get("chunked_passes") != "update" or plan.makes_logits:
        return plan
    return replace(plan, values={**plan.values, "logits_chunked": False})


def _read(plan: Plan, one: Pass) -> float:
    """The share of the logits that a loss reads: those of responses where rows are padded, all where they are laid end to end."""
    return one.answers if filled(plan) else 1.0


def _chunk_of_tokens(plan: Plan, one: Pass, id: str) -> list[Term]:
    """What a loss holds of the chunk of tokens that it is at, the gradient of the head beside it in the backward pass.

    (verl v0.4.1 verl/utils/experimental/torch_functional.py: FusedLinearForPPOFunction)
    """
    tokens, each = plan.number("chunk_tokens"), plan.number(id)
    if plan.makes_logits or tokens is None or each is None:
        return []
    head = 0.0 if plan.adapters or id != "chunk_train_bytes" else 2.0 * plan.shape.embedding
    band = one.tokens.at_most(tokens).times(each * plan.model.vocab)
    how = f"{each:g} B × at most {tokens:g} tokens × {plan.model.vocab:,}"
    how += f", 2 B × {plan.shape.embedding:,} of the head" if head else ""
    size = Band(band.low + head, band.mid + head, band.high + head)
    return [make_term("logits_chunk", "a chunk of logits", "work", size, how, _SOURCE, (*one.moved_by, *_MOVED))]


def logits_after(plan: Plan, one: Pass) -> list[Term]:
    """When the model's own loss is taken: logits in 16 bits and fp32 log-probs, or no more than a pass without gradient makes."""
    return _logits(plan, one, min(_AFTER_LOSS, plan.number("logits_forward_bytes") or _FORWARD_DEFAULT), 0.0)


def logits_left(plan: Plan, one: Pass) -> list[Term]:
    """What the update still holds of its logits while the optimizer steps."""
    each = plan.number("logits_left_bytes")
    return _logits(plan, one, each, 0.0) if each else []


def vocabulary_parts(plan: Plan) -> int:
    """GPUs that share the vocabulary of one token's logits.

    A loss can be taken from parts of the vocabulary (Megatron-LM core/tensor_parallel/cross_entropy.py; torch's loss_parallel). Outside
    Megatron log-probs of samples are taken from whole rows, which the head then gathers (ColossalChat train_ppo.py: parallel_output=False),
    unless the record says otherwise.
    """
    parted = plan.values.get("strategy") == "megatron" or plan.does.get("vocabulary") == "parted"
    whole_rows = plan.gathers_logits or (plan.online and not parted)
    return 1 if whole_rows else plan.whole("tp")


def _logits(plan: Plan, one: Pass, each: float, row: float) -> list[Term]:
    if not plan.makes_logits:
        return []
    tp, vocab = vocabulary_parts(plan), plan.model.vocab
    size = one.tokens.times(logits_bytes(tokens=one.response / tp, vocab=vocab, bytes_each=each))
    how = f"{each:.3g} B × {one.how}{_part(one)} × {vocab:,}{f' ÷ {tp}' if tp > 1 else ''}"
    terms = [make_term("logits", "logits", "work", size, how, _SOURCE, (*one.moved_by, *_MOVED))]
    if row:
        size_of_row = each * row * one.response * vocab / tp
        how = f"{each:g} B × {row:,.0f} tokens{_part(one)} × {vocab:,}"
        moved_by = (*one.moved_by, *_MOVED)
        terms.append(make_term("logits_row", "one row's log-probs", "work", size_of_row, how, _SOURCE, moved_by))
    return terms


def _part(one: Pass) -> str:
    """The share of its tokens that have logits, in words; none where all have."""
    return f" × {one.response:.2f} that are responses" if one.response < 1 else ""


def chunk_bytes(*, whole: float, target: float, free: float, nearest: bool = False) -> float:
    """The fp32 logits of the largest chunk: all of them where they are small, else the target, or half of what is free where that is less.

    Parts come in fours. Where their number is rounded to the ``nearest`` four, up to twice the target stays in one (unslothai/unsloth-zoo
    before d9fe1f43 fused_losses/cross_entropy_loss.py: get_chunk_size).
    """
    return min(whole, min(target, max(0.0, free) / 2) * (2 if nearest else 1))


def _one_chunk(plan: Plan, one: Pass) -> list[Term]:
    """What a loss in chunks makes at a time, where its chunks are cut by bytes."""
    target = plan.number("loss_chunk_gib")
    if target is None or plan.online or plan.makes_logits or plan.capacity is None:
        return []
    free, nearest = plan.capacity - held_bytes(plan, "actor_update"), plan.does.get("loss_chunk_rounding") == "nearest"
    low, mid, high = (
        chunk_bytes(whole=4 * tokens * plan.model.vocab, target=from_gib(target), free=free, nearest=nearest)
        for tokens in one.tokens
    )
    size = Band(low * _OF_CHUNK.low, mid * _OF_CHUNK.mid, high * _OF_CHUNK.high)
    how = (
        f"4 B × {one.how} × {plan.model.vocab:,}, at most {target:g} GiB and half of what is free, × {_OF_CHUNK.mid:g}"
    )
    return [make_term("logits_chunk", "a chunk of logits", "work", size, how, _CHUNK, (*one.moved_by, *_MOVED))]


def _kept_chunks(plan: Plan, one: Pass) -> list[Term]:
    """What a loss in chunks keeps of all its chunks, unless they are cut by bytes; low: of one row, as where rows are taken one by one."""
    each = plan.number("chunk_kept_bytes")
    by_bytes = plan.number("loss_chunk_gib") is not None and not plan.online
    if each is None or by_bytes or plan.makes_logits:
        return []
    a_token = logits_bytes(tokens=one.response, vocab=plan.model.vocab, bytes_each=each)
    size = Band(one.row.low * a_token, one.tokens.mid * a_token, one.tokens.high * a_token)
    how = f"{each:.3g} B × {one.how}{_part(one)} × {plan.model.vocab:,}"
    return [make_term("logits_chunk", "logits of all chunks", "work", size, how, _KEPT, (*one.moved_by, *_MOVED))]


def _last_chunk(plan: Plan, one: Pass) -> list[Term]:
    """What a loss over whole logits takes of its last chunk, when its backward pass begins."""
    each, most = plan.number("loss_chunk_bytes"), plan.number("loss_chunk_tokens")
    if not each or not most or not plan.makes_logits:
        return []
    tokens = one.tokens.times(one.response).at_most(most)
    how = f"{each:g} B × {counts(tokens)} tokens × {plan.model.vocab:,}"
    return [
        make_term(
            "logits_chunk",
            "a chunk of log-probs",
            "work",
            tokens.times(each * plan.model.vocab),
            how,
            _SOURCE,
            (*one.moved_by, *_MOVED),
        )
    ]


def loss_in_chunks(plan: Plan, one: Pass) -> list[Term]:
    """What a loss makes that takes its gradients chunk by chunk in the forward pass: those of the head, and the logits of a row."""
    if plan.makes_logits:
        return []
    return [*_head_gradients(plan), *_row_of_chunk(plan, one)]


def _head_gradients(plan: Plan) -> list[Term]:
    number, each = plan.number("loss_head_gradients") or 0.0, _head_bytes(plan)
    if not number:
        return []
    how = f"{number:g} × {count(plan.shape.embedding)} × {each:g} B"
    size = number * each * plan.shape.embedding
    moved_by = ("logits_chunked", "precision")
    return [make_term("head_gradients", "gradients of the head in the loss", "work", size, how, _SUMMED, moved_by)]


def _head_bytes(plan: Plan) -> float:
    """Bytes a parameter of the head as the loss gets it: as it is stored, or as sharded weights are gathered."""
    if plan.adapters:
        return max(plan.each.base, plan.number("root_bytes") or 0.0)
    return 2.0 if plan.does.get("gather") in ("fsdp_units", "zero3") else plan.each.weights


def _row_of_chunk(plan: Plan, one: Pass) -> list[Term]:
    each = plan.number("loss_row_bytes") or 0.0
    if not each:
        return []
    a_token = logits_bytes(tokens=one.response, vocab=plan.model.vocab, bytes_each=each)
    size = Band(one.row.low * a_token, one.row.mid * a_token, one.row.high * a_token)
    how = f"{each:g} B × {one.row.mid:,.0f} tokens{_part(one)} × {plan.model.vocab:,}"
    return [make_term("logits_row", "one row's logits", "work", size, how, _SUMMED, (*one.moved_by, *_MOVED))]
