"""Where an engine fails as it tries its vision tower at start: only what makes that image, video or batch smaller is of any help."""

from __future__ import annotations

from diagnose.estimate import plan_of
from diagnose.estimate.encoder import tried_tokens
from diagnose.knowledge.records import Lever
from diagnose.prescribe.situation import Situation
from diagnose.prescribe.trial import smallest


def tries_as_many(lever: Lever, situation: Situation) -> bool:
    """Whether the engine would try as many tokens of images with the lever as without, though it failed on these."""
    if situation.phase != "init" or situation.signs.get("in_tower") is not True or not lever.changes:
        return False
    plan, trial = plan_of(situation.facts, situation.fallback), smallest(lever, situation)
    tried = tried_tokens(plan) if plan else 0
    changed = plan_of(trial.facts, situation.fallback) if trial and tried else None
    return changed is not None and tried_tokens(changed) >= tried
