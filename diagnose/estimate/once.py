"""What is worked out of a plan and asked for by several terms: kept with the plan, as long as that lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

from diagnose.estimate.plan import Plan

Given = TypeVarTuple("Given")
Made = TypeVar("Made")
_UNMADE: Any = object()


def once(make: Callable[[Plan, *Given], Made]) -> Callable[[Plan, *Given], Made]:
    """``make``, worked out once for a plan and what else is given. What it gives is shared: nobody changes it."""

    @wraps(make)
    def known(plan: Plan, *given: *Given) -> Made:
        key = (make, *given) if given else make
        made: Made = plan.known.get(key, _UNMADE)
        if made is _UNMADE:
            made = plan.known[key] = make(plan, *given)
        return made

    return known
