"""What transformers' experts hold in a pass that does not train, where they take every token at once."""

from __future__ import annotations

from diagnose.conditions import in_range
from diagnose.estimate.plan import Plan
from diagnose.estimate.rank import local_tokens
from diagnose.estimate.term import make_term
from diagnose.estimate.tokens import Pass
from diagnose.types import Term

_AT_ONCE = (
    "transformers 4.57.1 models/qwen3_vl_moe/modeling_qwen3_vl_moe.py: Qwen3VLMoeTextExperts, models/gpt_oss/modeling_gpt_oss.py:"
    " GptOssExperts; held against a real card in docs/accuracy.md"
)


def at_once_bytes(*, tokens: float, experts: int, hidden: int, width: int, clamped: bool) -> float:
    """Bytes where each of ``tokens`` goes through all ``experts`` in 16 bits: the inputs repeated for each expert, gate and up, and what
    comes out before and after the router's weight; ``clamped`` keeps clamped copies of gate and up, and their product, as well."""
    return 2 * tokens * experts * (3 * hidden + (5 if clamped else 2) * width)


def experts_at_once(plan: Plan, one: Pass) -> list[Term]:
    """Beside one layer's tensors. The layer loops over its experts only while the model trains, to spare this memory."""
    moe, version = plan.model.moe, plan.transformers
    if (
        not moe
        or not moe.at_once_below
        or plan.does.get("passes") != "eval_mode"
        or plan.values.get("strategy") == "megatron"
    ):
        return []
    if version and in_range(moe.at_once_below, "", version):
        return []
    each = at_once_bytes(
        tokens=1.0, experts=moe.experts, hidden=plan.model.hidden, width=moe.width, clamped=plan.model.clamped
    )
    how = f"{one.how} × {moe.experts} experts × {each / moe.experts:,.0f} B"
    size = local_tokens(plan, one).times(each)
    return [make_term("experts_at_once", "all experts at once", "work", size, how, _AT_ONCE, one.moved_by)]
