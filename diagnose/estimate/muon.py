"""What an optimizer of whole matrices leaves to Adam: table and head, which then have one moment more than the rest."""

from __future__ import annotations

from diagnose.estimate.plan import BETWEEN, Plan


def second_moments(plan: Plan) -> float:
    """Parameters of table and head on one GPU that have a second moment, 0 where another optimizer is used.

    (Megatron-LM core/optimizer/muon.py: nonlinear_params; modelscope/ms-swift swift/optimizers/muon.py)
    """
    if "muon" not in str(plan.values.get("optimizer", "")).lower() or plan.adapters:
        return 0.0
    tables = {"": plan.shape.root, BETWEEN: 0}.get(plan.stage, plan.shape.embedding)
    return tables / plan.whole("tp") / (plan.split.group if plan.split.stage >= 1 else 1)
