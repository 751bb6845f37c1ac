"""Attention beside query, key, value and output as terms: scores written out, or a padding mask."""

from __future__ import annotations

from diagnose.conditions import in_range
from diagnose.estimate.layer import eager_score_bytes, widths
from diagnose.estimate.plan import FILLED, Plan
from diagnose.estimate.rank import in_fp32, local_tokens
from diagnose.estimate.term import Band, count, counts, make_term
from diagnose.estimate.tokens import Pass
from diagnose.knowledge.hardware import USUAL_MAKER
from diagnose.types import Term

_SDPA = (
    "transformers 4.51 integrations/sdpa_attention.py: repeat_kv; torch 2.6 attention.cpp: convert_boolean_attn_mask"
)
# low, middle, high: fp32 softmax and its bf16 copy, where there is one; 2 where the kernel was meant and not scores written out
_SCORE_BYTES, _SCORE_BYTES_FP32 = (2.0, 6.0, 6.0), (2.0, 4.0, 4.0)
# of Megatron's layers: the softmax in 16 bits, and with dropout its mask and what is left of it
_SCORE_BYTES_TE, _DROPPED_TE = 2.0, 3.0
_SOFTMAX = 4.0
_GROUPED_SINCE = "4.54"  # transformers integrations/sdpa_attention.py: use_gqa_in_sdpa, which 4.53.3 has not
_TANH_BYTES = 2.0  # of capped scores (litgpt 2685705 litgpt/model.py: do_softcapping; transformers 4.51 models/gemma2)
# fp32 softmax, the gradient that comes in and the one that goes out; Transformer Engine's kernel writes the latter over the former
_SCORE_BYTES_BACKWARD = 12.0
_REPEATED = ", and keys and values repeated to the heads of queries"
_ATTENTION = ("flash_attention", "remove_padding")


def attention_beside(plan: Plan, one: Pass, layers: int, freed: float = 0.0) -> list[Term]:
    """What attention needs beside query, key, value and output: scores written out, or a padding mask; nothing with FlashAttention.

    ``freed`` bytes of the layer are gone when the scores' gradients need twice what the scores do.
    """
    kernel = plan.values.get("flash_attention")
    if kernel is False or (kernel is None and plan.model.capped):
        each_score, tanh = _SCORE_BYTES, _TANH_BYTES if plan.model.capped else 0.0
        if plan.values.get("strategy") == "megatron":
            return [_scores(plan, one, layers, freed, _of_te(plan), 0.0, _repeated(plan))]
        if in_fp32(plan):
            each_score, tanh = _SCORE_BYTES_FP32, 2 * tanh
        return [_scores(plan, one, layers, freed, each_score, tanh, _repeated(plan))]
    if kernel is None and _without_kernel(plan, one):
        each_score = (0.0 if plan.transformers is None else _SOFTMAX, _SOFTMAX, _SOFTMAX)
        return [_scores(plan, one, layers, freed, each_score, 0.0, _repeated_in_fp32(plan))]
    # Megatron's causal kernels take no mask, and groups of heads as they are
    unmasked = plan.does.get("padding_mask") == "no" or plan.values.get("remove_padding") is True
    unmasked |= plan.values.get("strategy") == "megatron"
    return [] if kernel or unmasked or one.packed or one.rows <= 1 else [_mask(plan, one, layers)]


def _of_te(plan: Plan) -> tuple[float, float, float]:
    """Bytes of a score that Transformer Engine's unfused attention keeps.

    (NVIDIA/TransformerEngine@v2.8 transformer_engine/pytorch/attention/dot_product_attention/backends.py: UnfusedDotProductAttention;
    dot_product_attention/softmax.py: ScaledUpperTriangMaskedSoftmax; Korthikanti et al., equation 1, with dropout)
    """
    drops = plan.values.get("attention_dropout")
    dropped = _SCORE_BYTES_TE + _DROPPED_TE
    return (
        _SCORE_BYTES_TE,
        dropped if drops is True else _SCORE_BYTES_TE,
        _SCORE_BYTES_TE if drops is False else dropped,
    )


def _without_kernel(plan: Plan, one: Pass) -> bool:
    """Whether no kernel of PyTorch takes the heads as transformers hands them over, so that it writes the scores out itself.

    Keys and values stay grouped where no mask goes with them, as of rows of one length. FlashAttention alone takes groups, and it needs 16
    bits and a card of capability 8.0 (torch 2.5 to 2.13 nn/functional.py: scaled_dot_product_attention, "enable_gqa"; nn/attention).
    Rows that an engine or ``generate`` answered are padded to the longest of more than one pass.
    """
    if plan.model.kv_heads >= plan.model.heads or plan.model.latent or plan.values.get("strategy") == "megatron":
        return False
    if plan.does.get("grouped_heads") == "trainer" or not in_range(_GROUPED_SINCE, "", plan.transformers):
        return False
    even = (one.rows <= 1 and not one.packed) or plan.algo in FILLED
    card = plan.card
    old, nvidia = card is not None and card.capability is not None, card is None or card.vendor == USUAL_MAKER
    return even and not plan.online and (old or (nvidia and in_fp32(plan)))


def _scores(
    plan: Plan,
    one: Pass,
    layers: int,
    freed: float,
    each_score: tuple[float, float, float],
    tanh: float,
    each_token: float,
) -> Term:
    """b a s² scores a layer (Korthikanti et al., eq. 1)."""
    heads, pairs = plan.model.heads / plan.whole("tp"), _pairs(plan, one)
    low, mid, high = (
        eager_score_bytes(rows=heads * number, heads=1, length=1, bytes_each=(each + tanh) * layers)
        for number, each in zip(pairs, each_score, strict=True)
    )
    tokens, repeated = local_tokens(plan, one), each_token * layers
    mid, high = mid + tokens.mid * repeated, high + tokens.high * repeated
    if freed:
        megatron = plan.values.get("strategy") == "megatron"
        last = heads * (each_score[1] + 2.0 if megatron else _SCORE_BYTES_BACKWARD)
        mid, high = max(mid, last * pairs[1] - freed), max(high, last * pairs[2])
    how = (
        f"{count(one.rows)} rows × {heads:g} heads × {counts(one.row)}² × {layers} layers × {each_score[1] + tanh:g} B"
    )
    how += _REPEATED if repeated else ""
    source = "Korthikanti et al., arXiv:2205.05198, equation 1"
    moved_by = (*one.moved_by, *_ATTENTION)
    return make_term("attention_scores", "attention scores", "work", Band(low, mid, high), how, source, moved_by)


def _mask(plan: Plan, one: Pass, layers: int) -> Term:
    """A padding mask as a byte a pair of tokens and, in the values' type, once a layer; and keys and values repeated."""
    pairs, tokens, a_value = _pairs(plan, one), local_tokens(plan, one), 4 if in_fp32(plan) else 2
    repeated, each = _repeated(plan) * layers, 1 + a_value * layers
    size = Band(0.0, pairs[1] * each + tokens.mid * repeated, pairs[2] * each + tokens.high * repeated)
    how = f"{count(one.rows)} rows × {counts(one.row)}² × (1 + {a_value} × {layers}) B, and keys repeated to {plan.model.heads} heads"
    return make_term("attention_mask", "padding mask", "work", size, how, _SDPA, (*one.moved_by, *_ATTENTION))


def _repeated(plan: Plan) -> float:
    """Bytes of a token by which keys and values grow when they are repeated to the heads of queries."""
    w = widths(plan.model)
    return 2 * (4 if in_fp32(plan) else 2) * (w.q - w.keys) / plan.whole("tp")


def _repeated_in_fp32(plan: Plan) -> float:
    """The same where PyTorch writes the scores out: query and repeated key and value in fp32, in the place of those in 16 bits."""
    w = widths(plan.model)
    return _repeated(plan) if in_fp32(plan) else (12 * w.q - 2 * w.q - 4 * w.keys) / plan.whole("tp")


def _pairs(plan: Plan, one: Pass) -> tuple[float, float, float]:
    """Pairs of tokens in all rows of a pass: of rows that are not padded to one length the longest decides, and fewer long ones fill a
    pass that is packed."""
    if one.packed:
        low, mid, high = (max(length, tokens) * length for length, tokens in zip(one.row, one.tokens, strict=True))
        return low, mid, high
    row, uneven = one.row, plan.values.get("remove_padding") is True and not plan.online
    low, mid, high = (one.rows * length**2 for length in (row.low, row.high if uneven else row.mid, row.high))
    return low, mid, high
