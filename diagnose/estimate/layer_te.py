"""Bytes that one decoder layer of Megatron keeps of one token, with the modules of Transformer Engine.

Norm and product are one module, which keeps its input and the normed value (2 h each); the norm before experts is one of its own and
keeps the same. Attention keeps query, key, value and its output, which the next product reads, and one fp32 number a head; a norm over
each head keeps what it reads. The gate's activation is one kernel that keeps what the first product gave (4 f, 2 f without a gate), and
the second product keeps its input (2 f). With f = 4 h and GELU these are the 34 h of Korthikanti et al. 2022 (arXiv:2205.05198, section
4.1) less the masks of dropouts, which fine-tuning switches off. Of a token's experts each product keeps the row that it reads; the
router's weight is multiplied into the activation, so that no row of an expert's output waits for it (NVIDIA/Megatron-LM@d98e8a6
core/fusions/fused_bias_swiglu.py: WeightedSwiGLUFunction; core/transformer/moe/token_dispatcher.py: combine_postprocess).

(NVIDIA/TransformerEngine@d0067d0 pytorch/module/layernorm_linear.py: _LayerNormLinear.forward; pytorch/module/grouped_linear.py;
pytorch/permutation.py: _moe_unpermute_mask_map_setup_context)
"""

from __future__ import annotations

from diagnose.estimate.layer import ADAPT_THE_MLP, Widths

TE_HEAD_INPUT = 4  # a hidden number: the last norm's input and its output
TE_FROZEN_HEAD_INPUT = 2  # the input alone, since a frozen head needs no output of the norm again
MASKS = 2  # a byte of a hidden number each, of what attention and MLP give, where that drops out


def te_layer_bytes_per_token(w: Widths) -> float:
    """Bytes that one layer keeps of one token for its backward pass, nothing recomputed."""
    norms = ((4 if w.alone else 8) + 2 * w.after) * w.hidden
    mlp = (6 if w.gated else 4) * w.mlp + 2 * w.routed
    return norms + _attention(w) + mlp + w.shared * w.hidden


def te_frozen_layer_bytes_per_token(w: Widths, each_input: float, on: str) -> float:
    """The same under adapters, whose ``each_input`` bytes of what they read stand in the place of the frozen products' inputs.

    (modelscope/mcore-bridge@f020e47 tuners/lora.py: LoraParallelLinear.forward)
    """
    norms = ((2 if w.alone else 4) + 2 * w.after) * w.hidden
    mlp = (4 if w.gated else 2) * w.mlp
    return norms + _attention(w) + mlp + w.shared * w.hidden + each_input * _read_by_adapters(w, on)


def _attention(w: Widths) -> float:
    if w.mixes is not None:
        return w.mixes
    normed = 2 * (w.q + w.keys) if w.qk_norm else 0
    return 2 * (w.q + w.keys + (w.values or w.keys) + w.read) + 4 * w.heads + 4 * w.ranks + normed


def _read_by_adapters(w: Widths, on: str) -> float:
    """The widths that adapters read: what query, key and value are made of together, and gate and up, is read once."""
    attention = 0.0 if w.mixes == 0 or on == "mlp" else w.hidden + w.read + w.ranks
    return attention + ((w.routed or w.hidden) + w.mlp if on in ADAPT_THE_MLP and w.mlp else 0.0)
