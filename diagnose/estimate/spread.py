"""How the parameters of a run are spread over its GPUs: the whole model, and what of it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnose.batch import Values, whole
from diagnose.estimate import tuners
from diagnose.estimate.layer import ADAPT_THE_MLP
from diagnose.estimate.part import part_of
from diagnose.estimate.residents import has_critic
from diagnose.estimate.shape import Shape, expert_adapter_parameters, lora_parameters
from diagnose.estimate.sharding import ZERO_STATE, Split, adapters, split
from diagnose.knowledge.hardware import Model
from diagnose.units import from_gib
from diagnose.vocabulary import Value

_LARGEST_CARD = from_gib(192)  # MI300X; of the cards in the catalogue none holds more


@dataclass(frozen=True, slots=True)
class Spread:
    """``everything`` and what is ``trained`` of it, over ``gpus``; the layers of one copy are ``laid`` over so many of them.

    ``adapters`` counts parameters that are trained beside a frozen base, 0 without one.
    """

    everything: Split
    trained: Split
    adapters: float
    gpus: int
    laid: int


def spread(
    model: Model,
    numbers: Shape,
    values: Values,
    does: Mapping[str, Value],
    *,
    gpus: int,
    capacity: int | None,
    online: bool,
    stage: tuple[str, float] | None = None,
) -> Spread:
    """How this run spreads a model of these ``numbers`` over ``gpus`` that train; ``capacity`` is that of one of them in bytes.

    ``stage``: only the ``first``, the ``last`` or a stage between of its pipeline, of so many layers.
    """
    laid, on = _laid(values, does, online), adapted_layers(values, does)
    gpus = (whole(values, "n_gpus") or gpus) if laid > 1 else gpus
    assumed = _assumed_stage(values, numbers.parameters, capacity, online)
    beside = _trained_beside_base(model, values, on) if adapters(values) else 0.0
    everything, trained = _parts(model, numbers, values, beside, on)
    everything = _with(everything, _outer_cast(numbers.root, values, does))
    part = part_of(model, numbers, values)
    trained = _with(trained, _outer_cast(part.outer if part else numbers.root, values, does))
    trained = _with(trained, -_unreached(model, numbers, values, does))
    if stage:
        everything, trained = (_of_stage(model, numbers, values, part, stage) for part in (everything, trained))
    whole_model = split(values, gpus=gpus, laid=laid, assumed_stage=assumed, **everything)
    return Spread(
        everything=whole_model,
        trained=whole_model
        if trained == everything
        else split(values, gpus=gpus, laid=laid, assumed_stage=assumed, **trained),
        adapters=beside,
        gpus=gpus,
        laid=laid,
    )


def adapted_layers(values: Values, does: Mapping[str, Value]) -> str:
    """Which linear layers have adapters, a choice of ``lora_layers``: as stated, else as the framework does by default."""
    return str(values.get("lora_layers") or does.get("adapters_on") or "all_linear")


def _parts(
    model: Model, numbers: Shape, values: Values, beside: float, on: str
) -> tuple[dict[str, float], dict[str, float]]:
    """The parts of the whole model and of what is trained, as ``split`` takes them.

    A frozen tower has no gradient. In Megatron it is a module of another library, whole on every rank of the first stage
    (modelscope/mcore-bridge model/mm_gpt_model.py: visual).
    """
    tower = float(numbers.vision) if values.get("strategy") == "megatron" else 0.0
    everything = {"parameters": float(numbers.parameters), "experts": in_experts(model), "tower": tower}
    if beside:
        rank = whole(values, "lora_rank") or 8
        fused = values.get("strategy") == "megatron"
        experts = expert_adapter_parameters(model, rank, fused) if on in ADAPT_THE_MLP else 0.0
        experts = 0.0 if tuners.kind(model, values) else experts
        trained = tower_beside(model, values) if tower else 0.0
        return everything, {"parameters": beside, "experts": experts, "tower": trained}
    if "trained_layers" in values:
        return everything, _of_layers(model, numbers, values)
    if part := part_of(model, numbers, values):
        return everything, {"parameters": part.parameters, "experts": part.body * in_experts(model), "tower": 0.0}
    if values.get("freeze_vision") is True:
        return everything, {**everything, "parameters": float(numbers.parameters - numbers.vision), "tower": 0.0}
    return everything, everything


def outer_in_fp32(values: Values, does: Mapping[str, Value]) -> bool:
    """Whether embedding, head and norms are trained in fp32 around linear layers in 16 bits."""
    all_trained = not adapters(values) and "trained_layers" not in values
    return all_trained and values.get("precision") in ("bf16", "fp16") and does.get("root_bytes") == 4


def _outer_cast(outer: float, values: Values, does: Mapping[str, Value]) -> float:
    """Parameters that cost in 16 bits what fp32 adds to embedding and head: as many again, with their gradients and moments."""
    return float(outer) if outer_in_fp32(values, does) else 0.0


def _unreached(model: Model, numbers: Shape, values: Values, does: Mapping[str, Value]) -> float:
    """Parameters of a head whose logits no loss reads, or that makes none: no gradient comes to it, and Adam makes no moments of it.

    Engines that lay out their buffers before hold it all the same.
    """
    head = does.get("reward_head") if values.get("algo") in ("rm", "embedding", "sft_embedding") else None
    beside = head == "kept" or (head == "beside_logits" and values.get("algo") == "rm")
    whole_training = values.get("full_or_lora") == "full" and values.get("strategy") in ("ddp", "none")
    return float(numbers.embedding) if beside and whole_training and not model.tied else 0.0


def _with(part: dict[str, float], more: float) -> dict[str, float]:
    return {**part, "parameters": part["parameters"] + more}


def _of_layers(model: Model, numbers: Shape, values: Values) -> dict[str, float]:
    """What is trained where only some decoder layers are: those, and a vision tower that is said not to be frozen."""
    layers = min(abs(whole(values, "trained_layers") or 0), model.layers)
    body = numbers.parameters - numbers.root - numbers.vision
    tower = numbers.vision if values.get("freeze_vision") is False else 0
    share = layers / model.layers
    return {"parameters": share * body + tower, "experts": share * in_experts(model), "tower": 0.0}


def _of_stage(
    model: Model, numbers: Shape, values: Values, part: dict[str, float], stage: tuple[str, float]
) -> dict[str, float]:
    """The parts of one pipeline stage, as many times as there are stages, since ``split`` divides by them.

    Table and head stand on the outer stages, where they are part of it at all. A tied head is a copy of its own on the last one, and so
    is the table where further tokens are predicted (Megatron-LM core/models/common/language_module/language_module.py:
    setup_embeddings_and_output_layer).
    """
    (which, layers), stages = stage, whole(values, "pp") or 1
    share, table = stages * layers / model.layers, float(numbers.embedding)
    experts, tower = share * part["experts"], part.get("tower", 0.0)
    body = part["parameters"] - part["experts"] - tower
    if body > numbers.root:
        again = model.tied or bool(whole(values, "mtp_layers"))
        outer = numbers.root + table if again else numbers.root
        body = share * (body - numbers.root) + stages * {"first": table, "last": outer - table}.get(which, 0.0)
    else:
        body = share * body
    here = tower if which == "first" else 0.0
    return {"parameters": body + experts + here, "experts": experts, "tower": here}


def in_experts(model: Model) -> float:
    """Parameters of all experts of a model, 0 for a dense one."""
    if not model.moe:
        return 0.0
    matrices = 3 if model.gated else 2
    return float(model.moe.experts * matrices * model.routed * model.moe.width * model.sparse)


def _trained_beside_base(model: Model, values: Values, on: str) -> float:
    """Adapters, and what is trained whole beside them: a copy of the embedding and one of the head, and the vision tower itself.

    The copies are of the base's own type, or in fp32 where the base's were cast to that before.
    """
    each = 1.0 if values.get("norms_fp32") is True else _in_base_type(values)
    copies = 2 * model.vocab * model.hidden * each if values.get("trains_embeddings") is True else 0.0
    fused = values.get("strategy") == "megatron"
    adapters: float = lora_parameters(model, whole(values, "lora_rank") or 8, on, fused)
    adapters = tuners.parameters(model, values) if tuners.kind(model, values) else adapters
    return float(adapters + copies) + tower_beside(model, values)


def tower_beside(model: Model, values: Values) -> float:
    """Parameters of a vision tower that is trained whole beside adapters, as many as cost the same in the adapters' bytes."""
    if values.get("trains_vision") is not True or model.vision is None:
        return 0.0
    return model.vision.params * _in_base_type(values)


def _in_base_type(values: Values) -> float:
    """How many of the adapters' bytes a parameter costs that is trained in the base's own type, gradient and moments with it.

    Half where adapters are fp32 and it is bf16 (peft@5d602fd tuners/tuners_utils.py: cast_adapter_dtype casts adapters alone); no trainer
    scales gradients of fp16, so that what it trains is fp32; all where one optimizer holds both (DeepSpeed, Megatron).
    """
    alike = values.get("strategy") in ("deepspeed", "megatron")
    return 0.5 if values.get("precision") == "bf16" and not alike else 1.0


def _laid(values: Values, does: Mapping[str, Value], online: bool) -> int:
    """Cards that the layers of one copy are laid over: those that a process sees, where the trainer does so and nothing shards them.

    (accelerate utils/modeling.py: infer_auto_device_map)
    """
    spreads = does.get("layers_over") == "cards_of_process" and not online
    return (whole(values, "cards_per_process") or 1) if spreads else 1


def _assumed_stage(values: Values, parameters: int, capacity: int | None, online: bool) -> int:
    """The stage taken where none is known: 3 where a full training could not even hold its state on one card, else 0.

    A critic beside adapters is trained in full. Where the card is not known either, on the largest that the catalogue holds.
    """
    in_part = adapters(values) or "trained_layers" in values
    whole_state = 0 if in_part and not (online and has_critic(values)) else ZERO_STATE * parameters
    return 3 if whole_state > (capacity or _LARGEST_CARD) else 0
