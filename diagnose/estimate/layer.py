"""Bytes that one decoder layer keeps of one token, as autograd counts them over the published model code.

T tokens, h hidden, q and k the widths of all query and all key heads, f MLP width, a heads. In bf16 a layer of this kind keeps

    16 h   two RMSNorms: the fp32 copy of the input (4), the normed value in bf16 (2) and the product with the weight (2)
    4 q + 4 k + 4 a   query, key, value and output of the attention kernel, and its one fp32 number a head
    8 f    gate, its activation, up and their product; 4 f without a gate

(transformers 4.37 and later, models/qwen2/modeling_qwen2.py: Qwen2RMSNorm, Qwen2MLP; flash_attn_interface.py: FlashAttnFunc). With a
norm over each head of query and key 6 (q + k) more. A norm that multiplies by its weight in fp32 keeps the normed value so
(models/gemma3, qwen3_next, olmo3, gpt_oss): 20 h and 8 (q + k). A norm on what attention or MLP gives is read by no product
(models/glm4): 6 h, in fp32 8 h. A LayerNorm is one kernel that keeps its input (2 h) and gives the next product's (2 h); where attention
and MLP are parallel both norms keep the same input. Korthikanti et al. 2022 (arXiv:2205.05198, section 4.1) count 34 s b h for GPT with
f = 4 h and fused 16-bit norms. tests/data/measured_cpu.toml holds what PyTorch really keeps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from diagnose.knowledge.hardware import Latent, Model

ADAPT_THE_MLP = ("all_linear", "mlp")  # the choices of layers with adapters under which an MLP has some


class Widths(NamedTuple):
    """What a layer's activations are counted in. ``mlp`` is the width that one token passes through, all its experts together.

    ``queries`` 0 stands for ``hidden``; ``routed`` is what a token's experts read, side by side, 0 in a dense layer. ``fused``: query, key
    and value are one product; ``gate``: one of its width multiplies the attention's output. ``mixes`` are the bytes of what mixes
    tokens where that is not attention, 0 where nothing does; ``alone``: a layer is either that or an MLP, with one norm.
    ``values``: the width of the tensor that holds the value, 0 for that of the keys; ``out``: of what attention gives, copies of it
    included, and ``given`` of what the next product reads of that, 0 for the queries'. ``ranks``: narrow widths that are normed on the
    way to query and key. ``after``: norms on what attention and MLP give. ``fp32_norm``, ``clamped``,
    ``stepwise``, ``relu``: as in a model's record.
    ``routing``: bytes a hidden number that the choice of experts keeps, ``shared`` those of the shared expert's gate.
    ``joined``: so are query, key and value, and gate and up, and the value is a view of what the first of these products gave.
    ``repeats``: how often each head of key and value stands on the ranks that share the heads of a sequence.
    """

    hidden: float
    mlp: float
    keys: float
    heads: float
    gated: bool
    queries: float = 0
    routed: float = 0
    qk_norm: bool = False
    layer_norm: bool = False
    parallel: bool = False
    fused: bool = False
    gate: bool = False
    mixes: float | None = None
    alone: bool = False
    values: float = 0
    out: float = 0
    given: float = 0
    ranks: float = 0
    after: int = 0
    fp32_norm: bool = False
    clamped: bool = False
    stepwise: bool = False
    relu: bool = False
    routing: int = 0
    shared: int = 0
    joined: bool = False
    repeats: int = 1

    @property
    def q(self) -> float:
        return self.queries or self.hidden

    @property
    def read(self) -> float:
        """The width of what the product behind the attention reads."""
        return self.given or self.q


@lru_cache(maxsize=256)
def widths(model: Model, fused: bool = False) -> Widths:
    """The widths of a decoder layer; of a sparse model those of the experts that a token takes.

    ``fused``: the trainer's own code joins query, key and value, of every model.
    """
    mlp = model.moe.active * model.moe.width + model.moe.shared if model.moe else model.intermediate
    head = model.head_dim or model.hidden // model.heads
    queries, keys = model.heads * head, model.kv_heads * head
    joined = model.fused_qkv and not fused  # that trainer has layers of its own, whose gate and up are apart
    w = Widths(
        hidden=model.hidden,
        mlp=mlp,
        keys=keys,
        heads=model.heads,
        gated=model.gated,
        queries=queries,
        routed=model.moe.active * model.routed if model.moe else 0,
        qk_norm=model.qk_norm,
        layer_norm=model.layer_norm,
        parallel=model.parallel,
        fused=fused,
        gate=model.attention_gate,
        values=queries + 2 * keys if joined else 0,
        after=max(0, model.norms - 2),
        fp32_norm=model.fp32_norm,
        clamped=model.clamped,
        stepwise=model.stepwise,
        relu=model.relu,
        routing=4 if model.moe and model.moe.fp32_router else 0,
        shared=2 if model.moe and model.moe.shared_gate else 0,
        joined=joined,
    )
    return _latent(w, model.latent) if model.latent else w


def _latent(w: Widths, latent: Latent) -> Widths:
    """Every head has its own query, key and value, made from narrow ranks.

    The kernel takes values as wide as keys: others are padded and its output is cut (transformers 5.23
    integrations/flash_attention.py: flash_attention_forward); else the value is a part of the product that gave it.
    """
    query, value = w.heads * (latent.plain + latent.rotary), w.heads * latent.value
    padded = query != value
    return w._replace(
        queries=query,
        keys=query,
        values=query if padded else w.heads * (latent.plain + latent.value),
        out=query + value if padded else value,
        given=value,
        ranks=latent.query + latent.key,
    )


def attention_bytes_per_token(w: Widths) -> float:
    """Query, key, value and output of the attention kernel, and its one fp32 number a head.

    Out of one product the rotated query and key are copies, as wide as all query heads; a value that is not repeated to them is a
    view, which holds the whole product (litgpt 2685705 litgpt/model.py: CausalSelfAttention).
    """
    if w.mixes is not None:
        return w.mixes
    if not w.fused:
        given = 2 * (w.out or w.q)
        pair = 2 * w.repeats * (w.keys + (w.values or w.keys))
        return 2 * w.q + pair + (6 * w.q if w.gate else given) + 4 * w.heads
    value = w.q + 2 * w.keys if w.keys == w.q else w.q
    return 6 * w.q + 2 * value + 4 * w.heads


def _norm_inputs(w: Widths) -> int:
    """Bytes of what a layer's norms keep of their inputs, in h: in fp32 for RMSNorm, which is written out."""
    return ((2 if w.parallel else 4) if w.layer_norm else 8 + 4 * w.after) // (2 if w.alone else 1)


def _inner_norms(w: Widths) -> float:
    """Bytes of the norms on queries and keys, and on the ranks that these come from, which products read."""
    normed = 8 if w.fp32_norm else 6
    return normed * ((w.q + w.keys) if w.qk_norm else 0) + 8 * w.ranks


def _norms(w: Widths, autocast: bool) -> float:
    """Bytes of a layer's norms and of what the next products read of them, in h.

    Under autocast over fp32 weights the norms' values are fp32, and each of the products that read them keeps a bf16 copy of its own
    (torch 2.6 aten/src/ATen/autocast_mode.cpp: only casts of parameters are cached).
    """
    share = 0.5 if w.alone else 1
    after = w.after * (8 if w.fp32_norm else 6)
    if not autocast:
        weighed = 4 if w.layer_norm else 12 if w.fp32_norm else 8
        return _norm_inputs(w) - 4 * w.after + share * weighed + after
    readers = 2 * ((1 if w.fused or w.joined else 3) + (2 if w.gated and not w.joined else 1))
    return share * ((_norm_inputs(w) * 2 if w.layer_norm else 16) + readers) + after


def layer_bytes_per_token(w: Widths, autocast: bool = False) -> float:
    """Bytes that one layer keeps of one token for its backward pass, nothing recomputed.

    Rows for an expert are copied out and its outputs kept for the router's weight: 4 h for each chosen expert. A clamped gate and up
    are kept before and after (transformers 5.23 models/gpt_oss: GptOssExperts._apply_gate). A GELU in steps keeps what its cube, its tanh
    and its last product read, which autocast makes fp32 from the cube on (PyTorch’s list of operations that autocast to fp32: pow). Of a
    ReLU only the result is kept, which the next product reads as well (torch 2.6 tools/autograd/derivatives.yaml: relu).
    """
    norms = _norms(w, autocast) * w.hidden + _inner_norms(w)
    steps = 16 if autocast else 10
    mlp = (14 if w.clamped else 8 if w.gated else steps if w.stepwise else 2 if w.relu else 4) * w.mlp + 4 * w.routed
    return norms + attention_bytes_per_token(w) + mlp + (w.routing + w.shared) * w.hidden


def frozen_layer_bytes_per_token(
    w: Widths, each_input: float = 2.0, on: str = "all_linear", fp32: bool = False, shared: bool = False
) -> float:
    """The same under adapters on all linear layers, whose frozen weights need no inputs of their own.

    Left are the norms' fp32 copies (8 h), what the attention keeps, and gate, activation and up (6 f), or what GELU reads (2 f). Each
    adapter keeps its input in ``each_input`` bytes: a bf16 copy of its own, since peft casts to the adapter's fp32 first, and with
    dropout one byte of mask. ``shared``: nothing casts, and adapters that read the same value keep it once. ``fp32``: norms in fp32 give
    fp32, and a quantized product gives what it gets (bitsandbytes 0.45 nn/modules.py: Linear4bit), so that the MLP's values are fp32;
    RMSNorm keeps its input itself, the attention kernel casts to bf16.
    """
    each = 2 if fp32 else 1
    inputs = 8 + 4 * w.after if fp32 else _norm_inputs(w)
    norms = inputs * w.hidden + (4 * (w.q + w.keys) if w.qk_norm else 0) + 4 * w.ranks
    steps = 8 if shared or fp32 else 14
    mlp = each * ((12 if w.clamped else 6 if w.gated else steps if w.stepwise else 2) * w.mlp + 4 * w.routed)
    kept = norms + attention_bytes_per_token(w) + mlp + w.shared * w.hidden
    return kept + (shared_bytes_per_token(w, on) if shared else _adapter_bytes_per_token(w, each_input, on))


def shared_bytes_per_token(w: Widths, on: str) -> float:
    """Values that adapters read as they are, in 16 bits: both norms' outputs and the MLP's product; the attention keeps its output.

    (peft 0.21 tuners/lora/layer.py: Linear.forward; benchmarks/oracle.py measures it)
    """
    before = 0 if w.mixes == 0 or on == "mlp" else w.hidden
    return 2 * (before + (w.hidden + w.mlp if w.mlp else 0)) if on in ADAPT_THE_MLP else 2 * before


def _adapter_bytes_per_token(w: Widths, each_input: float, on: str) -> float:
    """Inputs of adapters ``on`` all linear layers, on the MLP's, or on those of the attention that are named.

    On a part of a fused product the update is scattered into one as wide as all of it and kept (litgpt 2685705 litgpt/lora.py: zero_pad).
    """
    if on in ADAPT_THE_MLP:
        inputs = 2 if w.ranks else 1 if w.fused or w.joined or w.mixes else 3
        reads = 0 if w.mixes == 0 or on == "mlp" else w.read + inputs * w.hidden + w.ranks
        inward = (2 if w.gated and not w.joined else 1) * w.hidden if w.mlp else 0
        return each_input * (reads + inward + w.mlp)
    if w.mixes is not None:
        return 0.0
    if on == "attention":
        return each_input * (w.read + (1 if w.fused or w.joined else 3) * w.hidden)
    if w.fused:
        return each_input * w.hidden + 2 * (w.q + w.keys)
    return each_input * (2 if on == "query_value" else 3) * w.hidden


def quantized_input_bytes_per_token(w: Widths) -> float:
    """Inputs of one layer's quantized products beside what else is kept: both norms' outputs and the MLP's last input, in bf16."""
    return 2 * (2 * w.hidden + w.mlp)


def fused_layer_bytes_per_token(w: Widths) -> float:
    """The same of compiled layers, where norm and MLP product are fused and keep bf16 inputs only.

    (torch 2.6 _functorch/partitioners.py: min_cut_rematerialization_partition makes what is cheap again in the backward pass.)
    """
    heads = 2 * (w.q + w.keys + (w.values or w.keys) + w.read) + 4 * w.ranks
    mixing = heads if w.mixes is None else w.mixes
    return ((6 if w.alone else 12) + 2 * w.after) * w.hidden + mixing + (6 if w.gated else 4) * w.mlp + 4 * w.routed


def chosen_products_bytes_per_token(w: Widths) -> float:
    """The same where a list of operations is kept and of products every second one: a layer's input, query, value, what attention gives,
    the gate and the layer's output (torchtitan v0.2.0 torchtitan/distributed/activation_checkpoint.py: _apply_op_sac)."""
    return 4 * w.hidden + 4 * w.q + 2 * w.keys + 4 * w.heads + 2 * w.mlp + 4 * w.routed


def backward_bytes_per_token(w: Widths, adapters: bool = False, fp32: bool = False) -> float:
    """Gradients on their way in a layer's MLP while all that it keeps still stands: of the gate and of up, and of the layer's output.

    ``adapters`` that cast what they read: the gradient comes once in their fp32 and once in bf16 beside that of the frozen weight. Where
    the layer's values are ``fp32``, three gradients as wide as the MLP are: of the product, of the gate's activation and of up.
    """
    if adapters and fp32:
        return 12 * w.mlp + 8 * w.hidden
    return (8 * w.mlp + 4 * w.hidden) if adapters else 4 * w.mlp + 2 * w.hidden + 2 * w.routed


def checkpoint_bytes_per_token(*, hidden: float, layers: float, bytes_each: float = 2.0) -> float:
    """The input of every layer: bf16, or fp32 where the residual stream is, as under autocast over fp32 weights."""
    return bytes_each * hidden * layers


def rotary_bytes_per_token(w: Widths, bytes_each: float = 2.0) -> float:
    """Cosine and sine of a token's position, as wide as one head; all layers share them."""
    return 2 * bytes_each * w.q / max(1, w.heads)


def head_input_bytes_per_token(w: Widths, autocast: bool = False, adapters: bool = False) -> float:
    """What the last norm keeps, and its output, which the head reads."""
    return (10 if autocast else 6 if adapters else 8) * w.hidden


def no_grad_bytes_per_token(w: Widths) -> float:
    """What lives at once in one layer when nothing is kept."""
    return 6 * w.hidden + 6 * w.mlp


def eager_score_bytes(*, rows: float, heads: float, length: float, bytes_each: float) -> float:
    """Scores of one layer written out: b a s² values (Korthikanti et al. 2022, equation 1: 5 bytes each with dropout)."""
    return rows * heads * length**2 * bytes_each
