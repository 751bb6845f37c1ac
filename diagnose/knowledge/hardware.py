"""The records of accelerators and models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.knowledge.record import Record

USUAL_MAKER = "NVIDIA"
_QUANTIZED = re.compile(r"-(?:FP8|AWQ|GPTQ-Int\d|bnb-4bit)$", re.I | re.A)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that a cloud or a maker has under a name: how many ``cards``, and their ``size`` as sold (GB) where it has but one."""

    cards: int
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu(Record):
    """An accelerator. ``sizes`` maps the size as sold (GB) to the capacity that the driver shows (GiB), or to itself where no print
    was at hand.

    ``usual`` is the size (GB) that a name without one nearly always means, None where people have both. ``machines`` are those that
    hold such cards, by the names of their makers and of clouds. ``capability``: CUDA's, of a card before Ampere, which has no kernel of
    FlashAttention and no bf16 in hardware; None from 8.0 on and for other makers.
    """

    sizes: Mapping[str, float]
    usual: int | None = None
    aliases: tuple[str, ...] = ()
    vendor: str = USUAL_MAKER
    capability: float | None = None
    machines: Mapping[str, Machine] = field(default_factory=dict)

    @property
    def only_size(self) -> float | None:
        """The size as sold where there is just one."""
        return float(next(iter(self.sizes))) if len(self.sizes) == 1 else None

    def printed(self, size: str) -> float | None:
        """What the driver shows of a size as sold; None where no print was at hand."""
        shown = self.sizes.get(size)
        return shown if shown != float(size) else None

    @property
    def most_gib(self) -> float:
        """What the driver shows of the largest (GiB)."""
        return max(self.sizes.values())

    def __hash__(self) -> int:
        """Of the name alone: the names of all cards are looked up by their records."""
        return hash(self.slug)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vision:
    """A vision tower. ``pixels_per_token`` is what one token of the language model stands for.

    ``rotary``: positions rotate query and key; ``gelu_kernel``: the MLP's GELU is one kernel and not written out; ``scaled``: what
    attention and MLP give is multiplied by a weight. ``hooked``: where gradients are asked of a model's inputs, transformers asks them of
    the tower's as well (5.0 to 5.24 modeling_utils.py: enable_input_require_grads, get_input_embeddings). Of a video so many
    ``joined_frames`` are one image's patches; where nothing sets it a frame has at most ``frame_pixels``, all of them ``video_pixels``.
    ``one_size``: every image is scaled to the ``frame_pixels``, whatever it has. ``native``: the model has no sister of text alone, and
    most who train it train on text. Where nothing sets it an image is scaled down to ``most_pixels``, or its shape decides into how
    many tiles, of ``tile`` pixels a side, it is cut: up to so many ``tiles``. As vLLM starts it tries a video of up to ``video_images`` of
    its largest images (v0.11.0 models/qwen2_vl.py: 14 frames, joined two by two; a whole video of Qwen3-VL is no larger than an image).
    So many parameters are ``spoken``: of what says an answer aloud, which the trainer loads and no engine for text does
    (models/qwen2_5_omni_thinker.py).
    """

    hidden: int
    layers: int
    params: int
    pixels_per_token: int
    intermediate: int = 0
    patch: int = 14
    rotary: bool = True
    gelu_kernel: bool = False
    scaled: bool = False
    hooked: bool = False
    joined_frames: int = 1
    frame_pixels: int = 0
    video_pixels: int = 0
    one_size: bool = False
    native: bool = False
    most_pixels: int = 0
    tile: int = 0
    tiles: int = 0
    video_images: int = 1
    spoken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moe:
    """Experts of a sparse model: ``width`` is one expert's MLP width, ``shared`` the width of the shared expert.

    ``shared_gate``: the shared expert has a gate of its own; ``router_bias``: the router adds a number to each expert. ``stacked``: in
    transformers the experts of a layer are one tensor and no linear layers, so that adapters on all of these leave them out, and so do
    quantizers of linear layers; ``split_to_quantize``: these find linear layers all the same.
    ``fp32_router``: the router reads a copy of its input in fp32
    (transformers 5.23 models/{deepseek_v2,deepseek_v3,glm4_moe,glm_moe_dsa,ernie4_5_moe,nemotron_h}: router_logits).
    ``latent``: experts read and give a narrower state of this width, between two products that a layer has once
    (transformers 5.23 models/nemotron_h: NemotronHMoE).
    ``through_all``: transformers' own layer sends each token through all experts and weights most of them with zero
    (transformers 5.23 models/llama4: Llama4TextMoe). ``at_once_below``: so does a layer that is not training in releases of
    transformers below this one (4.57.1 models/{gpt_oss,qwen3_vl_moe}; 5.0 has one way for both).
    """

    experts: int
    active: int
    width: int
    shared: int = 0
    dense_layers: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    fp32_router: bool = False
    stacked: bool = False
    split_to_quantize: bool = False
    latent: int = 0
    through_all: bool = False
    at_once_below: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Latent attention: queries and keys go through narrow ranks; ``query`` 0 means that queries do not.

    ``plain``, ``rotary`` and ``value`` are the widths of one head. The cache holds ``key`` + ``rotary`` numbers a token and
    layer on every rank, which a record says by one KV head of half that width. ``index_layers`` of the layers choose the tokens
    that are attended to by ``index_heads`` heads of ``index_width``, whose one key a token is cached beside (DeepSeek-V3.2,
    arXiv:2512.02556, section 2).
    """

    key: int
    plain: int
    rotary: int
    value: int
    query: int = 0
    index_layers: int = 0
    index_heads: int = 0
    index_width: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wide:
    """The ``layers`` with attention whose heads are wider than those of the others; ``keyed`` of them have keys of their own.

    ``one_product``: a key, before its norm and rotation, is the value as well.
    """

    layers: int
    keyed: int
    head_dim: int
    kv_heads: int
    one_product: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixer:
    """Layers that mix their tokens by a recurrent state instead of attention: ``layers`` of them.

    ``heads`` of ``width`` read a state whose ``groups`` of keys are ``state`` wide, after a convolution over ``kernel`` tokens.
    ``kind`` "delta" is the gated delta rule (Yang et al. 2024, arXiv:2412.06464), "scan" the state-space model of Mamba-2
    (Dao and Gu 2024, arXiv:2405.21060), "convolution" the short one of LFM2 alone, between two gates (arXiv:2511.23404).
    """

    kind: str
    layers: int
    heads: int
    width: int
    groups: int
    state: int
    kernel: int = 4

    @property
    def values(self) -> int:
        """Width of all its heads together."""
        return self.heads * self.width

    @property
    def convolved(self) -> int:
        """Channels of the convolution: values, and two rows of keys."""
        return self.values + 2 * self.groups * self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Record):
    """Shape numbers as in config.json. ``published`` is the parameter count that its authors give, ``norms`` those of a layer.

    ``layer_norm``: its norms are LayerNorm, each with a bias, and not RMSNorm; ``parallel``: attention and MLP read the same input;
    ``biases``: output projection and MLP have one as well; ``capped``: attention scores go through a tanh, which PyTorch's own
    kernel cannot do; ``attention_gate``: a gate as wide as the queries multiplies the attention's output.
    ``sinks``: each head has a number that takes a part of its softmax. ``wide_norm``: the norms on query and key are as wide as all
    heads together. ``keyed``: so many layers have keys and values of their own, 0 for all; the others read those of a layer before.
    ``doubled``: so many layers have an MLP of twice the width. ``per_layer``: every layer adds its own embedding of this width, from
    a table as long as the vocabulary.
    ``fp16_overflows``: its activations leave the range of fp16. ``fp32_norm``: a norm multiplies by its weight before it rounds to
    16 bits; ``fused_qkv``: query, key and value are parts of one product; ``clamped``: gate and up of an MLP are kept within bounds;
    ``stepwise``: its GELU is written as one operation after another (transformers activations.py: NewGELUActivation).
    ``published_in``: an engine loads its weights in so few bits as they are. ``unpatched``: fused kernels that a trainer puts in the place
    of a model's own (Liger's) do not know its type, and leave it as it is.
    ``positions``: rows of a table of positions that are learned; ``relu``: the MLP's function, of which only the result is kept.
    ``word_width``: words are embedded in so many numbers and projected to the width of the layers, and back behind the last one.
    ``attention_layers`` and ``mlp_layers`` count the layers that have one where not all do, 0 otherwise.
    ``contexts``: the longest one of sisters of this shape that have another, by a word of their names, the telling first.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocab: int
    tied: bool
    published: int
    params_b: float
    max_position: int
    head_dim: int = 0
    attention_bias: bool = False
    qk_norm: bool = False
    gated: bool = True
    norms: int = 2
    layer_norm: bool = False
    parallel: bool = False
    biases: bool = False
    head_bias: bool = False
    capped: bool = False
    attention_gate: bool = False
    sinks: bool = False
    wide_norm: bool = False
    keyed: int = 0
    doubled: int = 0
    per_layer: int = 0
    word_width: int = 0
    fp16_overflows: bool = False
    fp32_norm: bool = False
    fused_qkv: bool = False
    clamped: bool = False
    stepwise: bool = False
    relu: bool = False
    positions: int = 0
    published_in: str = ""
    unpatched: bool = False
    attention_layers: int = 0
    mlp_layers: int = 0
    aliases: tuple[str, ...] = ()
    contexts: Mapping[str, int] = field(default_factory=dict)
    moe: Moe | None = None
    latent: Latent | None = None
    wide: Wide | None = None
    mixer: Mixer | None = None
    vision: Vision | None = None
    family: str = ""

    @property
    def attends(self) -> int:
        """Layers with attention."""
        return self.attention_layers or self.layers

    @property
    def routed(self) -> int:
        """Width of what an expert reads and gives, 0 of a dense model."""
        return self.moe.latent or self.hidden if self.moe else 0

    @property
    def mlps(self) -> int:
        """Layers with an MLP, dense or sparse."""
        return self.mlp_layers or self.layers

    @property
    def sparse(self) -> int:
        """Layers with experts."""
        return self.mlps - self.moe.dense_layers if self.moe else 0

    def context_of(self, name: str) -> int | None:
        """The longest context (tokens) of the model of this name; None where its sisters differ and the name does not tell which it is."""
        itself = not self.contexts or _QUANTIZED.sub("", name).lower().removesuffix("-base") == self.title.lower()
        words = (tokens for word, tokens in self.contexts.items() if word.lower() in name.lower())
        return next(words, self.max_position if itself else 0) or None

    def __hash__(self) -> int:
        """Of the name alone: what is computed once for a model is looked up by it many times a diagnosis."""
        return hash(self.title)


class Models(tuple[Model, ...]):
    """All models of a catalogue. What is worked out of them is looked up many times a diagnosis: by the very tuple, not model by model."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)
