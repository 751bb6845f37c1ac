"""What is trained of a model where others of its tensors stand still, and how many of its layers that concerns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from diagnose.batch import Values, whole
from diagnose.estimate.named import named
from diagnose.estimate.shape import Shape
from diagnose.knowledge.hardware import Model


@dataclass(frozen=True, slots=True)
class Part:
    """Trained parameters, those of embedding and head (``outer``) among them, and of the decoder's layers this share (``body``).

    ``layers``: how many decoder layers have some; ``passed``: how many the backward pass goes through down to the first trained tensor.
    ``table``: the embedding is trained, so that it goes through all.
    """

    parameters: float
    outer: float
    body: float
    layers: int
    passed: int
    table: bool


def part_of(model: Model, numbers: Shape, values: Values) -> Part | None:
    """The part, or None where all is trained, or where adapters or a number of layers say what is."""
    share = values.get("frozen_share")
    if values.get("full_or_lora", "full") != "full":
        return None
    if "trained_names" in values:
        return _by_name(model, numbers, str(values["trained_names"]))
    if not isinstance(share, (int, float)) or not 0 < share <= 1:
        return None
    return _above(model, numbers, float(share), values.get("freeze_vision") is True)


@lru_cache(maxsize=64)
def _by_name(model: Model, numbers: Shape, written: str) -> Part | None:
    """What patterns name, of a tied head the table that it is; None where one of them names nothing that is known.

    Where a pattern holds the name of the table or of the head, gradients are asked of what enters the first layer, and the pass goes
    through all (axolotl-ai-cloud/axolotl@067b021 src/axolotl/train.py: setup_model_and_tokenizer).
    """
    found = named(model, numbers, written)
    if found is None:
        return None
    layers = {one.layer for one in found if one.layer >= 0}
    outer = sum(one.parameters for one in found if one.layer < 0)
    of_layers = sum(one.parameters for one in found if one.layer >= 0)
    table = any("model.embed_tokens.weight" in one.names for one in found)
    through = table or "lm_head" in written or "embed_tokens" in written
    passed = model.layers if through else model.layers - min(layers, default=model.layers)
    body = numbers.parameters - numbers.root - numbers.vision
    return Part(outer + of_layers, outer, of_layers / body, len(layers), passed, table)


def _above(model: Model, numbers: Shape, share: float, freeze_vision: bool) -> Part:
    """What is left when a share of all parameters is frozen from the first tensor on: a vision tower, the table, the layers, the head.

    Tensors are frozen whole, which is told of table and head, the largest; layers are cut evenly.
    (modelscope/ms-swift v4.6.0 swift/utils/transformers_utils.py: freeze_parameters)
    """
    frozen, table, layers = share * numbers.parameters, numbers.embedding, model.layers
    tower = 0.0 if freeze_vision else max(0.0, numbers.vision - frozen)
    frozen = max(0.0, frozen - numbers.vision)
    body = numbers.parameters - numbers.root - numbers.vision
    if frozen < table:
        return Part(tower + numbers.root + body, numbers.root, 1.0, layers, layers, True)
    left = min(1.0, max(0.0, 1 - (frozen - table) / body))
    head = 0.0 if frozen >= numbers.parameters - numbers.vision else float(numbers.root - table)
    # of a layer less than a thousandth is the rest of a division
    above = int(left * layers) + (left * layers % 1 > 0.001)
    return Part(left * body + head, head, left, above, above, False)


def drawn_share(model: Model, numbers: Shape, values: Values) -> float:
    """The share of all parameters that has a gradient in a step where some decoder layers are drawn anew and the rest is frozen.

    Embedding, head and the last norm are trained throughout, and the optimizer keeps moments of each layer that was ever drawn: in a run
    of usual length all (modelscope/ms-swift v4.6.0 swift/callbacks/lisa.py: LISACallback; Pan et al. 2024, arXiv:2403.17919).
    """
    drawn = _drawn(values)
    if not drawn:
        return 1.0
    body = numbers.parameters - numbers.root - numbers.vision
    return 1 - max(0, model.layers - drawn) / model.layers * body / numbers.parameters


def with_gradients(model: Model, numbers: Shape, values: Values) -> float:
    """The share of the layers that the backward pass goes through whose weights have gradients, and keep for these what they read."""
    if part := part_of(model, numbers, values):
        return min(1.0, part.layers / part.passed) if part.passed else 0.0
    drawn = _drawn(values)
    return min(1.0, drawn / model.layers) if drawn else 1.0


def _drawn(values: Values) -> int:
    return (whole(values, "drawn_layers") or 0) if values.get("full_or_lora", "full") == "full" else 0
