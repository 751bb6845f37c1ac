"""Tables whose state an optimizer keeps otherwise than that of the matrices between them."""

from __future__ import annotations

from diagnose.estimate.muon import second_moments
from diagnose.estimate.plan import Plan

_OF_ADAM = 8.0  # both moments in fp32


def more_state(plan: Plan) -> tuple[float, float]:
    """Parameters of tables on one GPU, and the bytes of state that each has more than other parameters.

    Muon's tables have a second moment. transformers' Trainer has bitsandbytes keep the state of an embedding in fp32, by the module that
    holds it, which shards are no part of (transformers 5.17 trainer.py: create_optimizer, register_module_override): the only 1.5B that
    was measured so has 1.5 GiB more (tests/data/trainers/card.toml).
    """
    if tables := second_moments(plan):
        return tables, 4.0
    name = str(plan.values.get("optimizer", "")).lower()
    in_8_bits = "adam" in name and "8bit" in name and "torch" not in name
    if plan.does.get("table_states") != "fp32" or not in_8_bits or plan.adapters or plan.split.stage:
        return 0.0, 0.0
    return float(plan.shape.embedding), _OF_ADAM - plan.each.moments
