"""The loss that balances the experts of a sparse model, which transformers works out of the routers of all layers at once."""

from __future__ import annotations

from diagnose.conditions import in_range
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import local_tokens
from diagnose.estimate.term import Band, make_term
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

_ONE_HOT = "transformers 4.57.1 and 5.15.1 models/qwen3_moe/modeling_qwen3_moe.py: load_balancing_loss_func; 5.16.0 counts layer by layer"
_LAYER_BY_LAYER = "5.16"
# of each expert of each choice of a token in a layer: one hot in 64 bits and as fp32, and with a mask this in 64 bits and their product
_CHOSEN, _MASKED = 12.0, 24.0


def balancing_bytes(*, tokens: float, layers: int, active: int, experts: int, bytes_each: float) -> float:
    """All copies of a [tokens x layers, chosen experts, experts] tensor together."""
    return tokens * layers * active * experts * bytes_each


def balancing_loss(plan: Plan, one: Pass) -> list[Term]:
    """At the end of the forward pass. Low: none, where nothing tells the version.

    Models whose router reads fp32 have no such loss (DeepSeek, GLM, Nemotron); Megatron takes it layer by layer.
    """
    moe, version = plan.model.moe, plan.transformers
    asked = plan.values.get("router_loss", plan.does.get("router_loss") == "yes")
    if not moe or moe.fp32_router or asked is not True:
        return []
    if plan.values.get("strategy") == "megatron" or (version and in_range(_LAYER_BY_LAYER, "", version)):
        return []
    unmasked = one.packed or plan.values.get("remove_padding") is True
    each = balancing_bytes(
        tokens=1.0,
        layers=plan.model.sparse,
        active=moe.active,
        experts=moe.experts,
        bytes_each=_CHOSEN if unmasked else _MASKED,
    )
    size = local_tokens(plan, one).times(each)
    if version is None:
        size = Band(0.0, size.mid, size.high)
    how = f"{_CHOSEN if unmasked else _MASKED:g} B × {one.how} × {plan.model.sparse} layers × {moe.active} of {moe.experts} experts"
    return [make_term("router_loss", "choices of all routers", "work", size, how, _ONE_HOT, one.moved_by)]
