"""What a parameter costs and among how many GPUs it is split: bytes a parameter, ZeRO stage, group sizes.

Sources: ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054, section 3 and figure 1); for fp32 masters under FSDP and for bf16
masters the frameworks' own code, as their records state it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from diagnose.batch import Values, whole
from diagnose.vocabulary import Value

ZERO_STATE = 16.0  # weights, gradients, masters and moments of mixed precision (ZeRO, section 3.1)
_STAGE_OF_STRATEGY = {"fsdp": 3, "fsdp2": 3, "ddp": 0, "none": 0, "megatron": 1}

# bytes a parameter of weights, gradients, optimizer; under ZeRO the fp32 masters stand with the optimizer
_PRECISION = {
    "bf16": (2.0, 2.0, 4.0),
    "fp16": (2.0, 2.0, 4.0),
    "mixed": (4.0, 4.0, 8.0),
    "fp32": (4.0, 4.0, 8.0),
    "megatron": (2.0, 4.0, 12.0),
}
_ZERO_PRECISION = (2.0, 2.0, 12.0)

# Adam's states in bytes a parameter when an optimizer of this word is used: both moments together. 4bit: Li et al. 2023,
# arXiv:2309.01507; mini: Adam-mini, whose second moment is one number a block, Zhang et al. 2024, arXiv:2406.16793; lomo: none, and no
# masters, since each weight is cast only while it is updated, Lv et al. 2023, arXiv:2306.09782 (OpenLMLab/LOMO@45d4bac lomo/src/lomo.py).
# rmsprop, adagrad: the squares alone (torch 2.6 optim/rmsprop.py, not centered, without momentum, as transformers 4.57.1 asks; adagrad.py).
_OPTIMIZER_STATES = (
    ("8bit", 2.0),
    ("4bit", 1.0),
    ("adamw_fp8", 2.0),
    ("mini", 4.0),
    ("adafactor", 0.1),
    ("came", 0.1),
    ("lion", 4.0),
    ("rmsprop", 4.0),
    ("adagrad", 4.0),
    ("muon", 4.0),
    ("sgd", 0.0),
    ("lomo", 0.0),
)
# of a precision-aware Adam in bytes a parameter: masters, and each of its moments
_MASTERS = {"fp32": 4.0, "fp16": 2.0, "remainders": 2.0}
_MOMENT = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0}
# of the one block that is trained: fp32 gradient; fp32 copy and both moments (Luo et al. 2024, arXiv:2404.02827, section 2.2)
_OF_BLOCK = (4.0, 12.0)
# Bytes a quantized parameter with its scales. nf4: an fp32 scale for 64 values, or where scales are quantized themselves one byte and an
# fp32 scale for 256 of them (QLoRA, arXiv:2305.14314, section 3); int4: a 16-bit scale and a 4-bit zero for 128 (GPTQ, AWQ);
# int8: an fp32 scale a row, which is nothing beside it (bitsandbytes-foundation/bitsandbytes@95f9af3 nn/modules.py: Int8Params);
# nvfp4: an 8-bit scale for 16 values (NVIDIA’s microscaling format); mxfp4: one for 32 (gpt-oss, arXiv:2508.10925, section 2.1).
QUANTIZED = {
    "nf4": 0.5 + 4 / 64,
    "int4": 0.5 + 2.5 / 128,
    "int8": 1.0,
    "fp8": 1.0,
    "nvfp4": 0.5 + 1 / 16,
    "mxfp4": 0.5 + 1 / 32,
}
_DOUBLE_QUANTIZED = 0.5 + (1 + 4 / 256) / 64


@dataclass(frozen=True, slots=True)
class ParameterBytes:
    """Bytes a parameter of the trained model and the reference. ``base`` is a frozen base under adapters, 0 without one.

    ``optimizer`` holds fp32 ``masters`` where the weights themselves are of another type.
    """

    weights: float
    gradients: float
    optimizer: float
    ref: float
    base: float = 0.0
    quantized: float = 0.0
    masters: float = 0.0

    @property
    def moments(self) -> float:
        """Of the optimizer's state without masters."""
        return self.optimizer - self.masters

    @property
    def unpacked(self) -> float:
        """Of the whole model where nothing is quantized: of the frozen base, or of what is trained without one."""
        return self.base or self.weights

    @property
    def stored(self) -> float:
        """Of the whole model as it is kept: of its linear layers where these are quantized."""
        return self.quantized or self.unpacked


@dataclass(frozen=True, slots=True)
class Split:
    """Parameters of one GPU before data-parallel sharding (``dense`` and ``experts``), and the groups that shard them."""

    stage: int
    dense: float
    experts: float
    group: int
    expert_group: int

    def shard(self, from_stage: int) -> float:
        """Parameters that one GPU keeps of something that is sharded from this ZeRO stage on."""
        if self.stage < from_stage:
            return self.dense + self.experts
        return self.dense / self.group + self.experts / self.expert_group

    @property
    def whole(self) -> float:
        return self.dense + self.experts


def parameter_bytes(values: Values, does: Mapping[str, Value], own_precision: bool) -> ParameterBytes:
    """Bytes a parameter. ``own_precision``: the record's behaviours already follow the precision fact."""
    weights, gradients, optimizer = (
        _number(does, id, default)
        for id, default in (("weight_bytes", 4.0), ("gradient_bytes", 4.0), ("optimizer_bytes", 8.0))
    )
    precision = str(values.get("precision", ""))
    if precision in _PRECISION and not own_precision:
        weights, gradients, optimizer = _stated(precision, values)
    name = str(values.get("optimizer", "")).lower()
    if "badam" in name:
        gradients, optimizer = _OF_BLOCK
    base = quantized = 0.0
    if adapters(values):
        # nobody says in which type a frozen base is loaded: that of the checkpoint, as transformers 5 does (modeling_utils.py: dtype)
        base = 2.0 if not precision else weights if own_precision else 4.0 if precision == "fp32" else 2.0
        weights, gradients, optimizer = _adapter_bytes(values, does)
    if values.get("full_or_lora") == "qlora" or (base and values.get("quantization", "none") != "none"):
        quantized = _quantized(values)
        # the rest comes in 16 bits unless a type is asked for: transformers quantizers/quantizer_bnb_4bit.py
        base = base if "precision" in values else 2.0
    masters = 4.0 if optimizer >= 12 and "lomo" not in name else 0.0
    state = next((states for word, states in _OPTIMIZER_STATES if word in name), math.inf)
    optimizer = masters + min(state, optimizer - masters)
    if values.get("strategy") == "megatron" and values.get("gradients_fp32") is False:
        gradients = 2.0
    if values.get("strategy") == "deepspeed" and values.get("gradients_fp32") is True:
        gradients = 4.0
    if masters and state == math.inf and chooses_types(values):
        masters = _MASTERS[str(values.get("masters", "fp32" if precision == "fp16" else "remainders"))]
        optimizer = masters + sum(_MOMENT.get(str(values.get(f"{id}_moment")), 4.0) for id in ("first", "second"))
    return ParameterBytes(weights, gradients, optimizer, _number(does, "ref_bytes", 2.0), base, quantized, masters)


def _adapter_bytes(values: Values, does: Mapping[str, Value]) -> tuple[float, float, float]:
    """fp32 throughout (peft tuners/tuners_utils.py: cast_adapter_dtype) unless the framework says otherwise.

    DeepSpeed casts them with the model and keeps fp32 masters (runtime/engine.py: _configure_distributed_model), Megatron's are
    parameters like all its others (modelscope/mcore-bridge tuners/lora.py).
    """
    strategy, each = values.get("strategy"), _number(does, "adapter_bytes", 4.0)
    if strategy == "megatron":
        return _PRECISION["megatron"]
    cast = strategy == "deepspeed" and values.get("precision") != "fp32"
    return _ZERO_PRECISION if cast else (each, each, 2 * each)


def _quantized(values: Values) -> float:
    kind = str(values.get("quantization", "nf4"))
    return (
        _DOUBLE_QUANTIZED
        if kind == "nf4" and values.get("double_quant") is True
        else QUANTIZED.get(kind, QUANTIZED["nf4"])
    )


def chooses_types(values: Values) -> bool:
    """Whether Adam keeps its state in types of its own: Megatron's precision-aware one, on a card.

    Beside bf16 weights it keeps of a master what these lack (Megatron-LM core/optimizer/optimizer_config.py: store_param_remainders;
    NVIDIA/TransformerEngine@d0067d0 pytorch/optimizers/fused_adam.py: initialize_state). On the CPU all of it is fp32
    (core/optimizer/cpu_offloading/hybrid_optimizer.py).
    """
    aware = values.get("precision_aware_optimizer") is True and values.get("strategy") == "megatron"
    return aware and values.get("optimizer_on_cpu") is not True


def adapters(values: Values) -> bool:
    """Whether only adapters are trained."""
    return values.get("full_or_lora") in ("lora", "qlora")


def zero_stage(values: Values) -> int | None:
    """The ZeRO stage, from the fact or from the kind of sharding; None when neither is known.

    FSDP keeps no more than its shards between passes at stage 2 as well (torch 2.6 distributed/fsdp/api.py: SHARD_GRAD_OP).
    """
    stage = values.get("zero_stage")
    if isinstance(stage, int) and not isinstance(stage, bool):
        return 3 if keeps_gathered(values) else stage
    return _STAGE_OF_STRATEGY.get(str(values.get("strategy", "")))


def keeps_gathered(values: Values) -> bool:
    """Whether FSDP gathers each unit once, for forward and backward pass: its stage 2, which FSDP2 calls not to reshard after forward."""
    return values.get("strategy") in ("fsdp", "fsdp2") and values.get("zero_stage") == 2


def split(
    values: Values,
    *,
    parameters: float,
    experts: float,
    gpus: int,
    assumed_stage: int = 0,
    tower: float = 0.0,
    laid: int = 1,
) -> Split:
    """How ``parameters`` (``experts`` of them in experts) are spread over ``gpus``; ``assumed_stage`` holds where none is known.

    ``tower`` of them are split by nothing before data parallelism and stand on the first pipeline stage. A copy's layers are ``laid``
    over so many GPUs, as by pipeline stages.
    """
    tp, pp, ep = (whole(values, id) or 1 for id in ("tp", "pp", "ep"))
    pp *= laid
    over = _experts_over(values) * pp
    sharded_dense = max(1, gpus // (tp * pp))
    stage = zero_stage(values)
    return Split(
        stage=stage if stage is not None else assumed_stage,
        dense=(parameters - experts - tower) / (tp * pp) + tower,
        experts=experts / over,
        group=min(whole(values, "shard_size") or sharded_dense, sharded_dense),
        # experts have groups of their own where ranks share them out, in Megatron too, however it cuts each of them
        # (Megatron-core 0.10 to 0.16 core/extensions/transformer_engine.py: TEGroupedLinear, "allreduce")
        expert_group=max(1, gpus // over) if ep > 1 else min(whole(values, "shard_size") or sharded_dense, gpus),
    )


def _experts_over(values: Values) -> int:
    """GPUs of one pipeline stage that share a set of experts: Megatron cuts each as its dense layers unless told otherwise.

    (Megatron-LM core/parallel_state.py: expert_tensor_parallel_size)
    """
    tp, ep = whole(values, "tp") or 1, whole(values, "ep") or 1
    usual = tp if ep == 1 or values.get("strategy") == "megatron" else 1
    return ep * (whole(values, "etp") or usual)


def _stated(precision: str, values: Values) -> tuple[float, float, float]:
    zero = values.get("strategy") == "deepspeed"
    if zero and precision in ("bf16", "fp16", "mixed"):
        return _ZERO_PRECISION
    return _PRECISION[precision]


def _number(does: Mapping[str, Value], id: str, default: float) -> float:
    value = does.get(id, default)
    return float(value) if isinstance(value, (int, float)) else default
