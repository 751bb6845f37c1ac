"""What is said where the catalogue does not hold the model: what stands in for it, and what would settle it."""

from __future__ import annotations

from diagnose.estimate.built import run_model
from diagnose.types import Diagnosis
from diagnose.words.lists import listed

UNKNOWN = "This model is not in the catalogue"
UNNAMED = "Only the size of the model is known"


def told(diagnosis: Diagnosis) -> str:
    """The guess, the models that may be meant, and the cure; empty where the model is known or nothing hangs on it."""
    facts, estimate = diagnosis.facts, diagnosis.estimate
    if facts.model is not None or not (estimate.gpu or "model" in estimate.missing):
        return ""
    model = run_model(facts)
    guess = f"It counts as {model.title} of Qwen2.5’s proportions, which is a guess." if model else ""
    like = f"The catalogue has {listed(facts.alike)}, of like name and size." if facts.alike else ""
    if not facts.unknown_model:
        return f"{guess} Say under “Model” which it is, or paste its config.json." if guess else ""
    size = "" if guess else ", or give its parameters in billions"
    cure = f"Say under “Model” what it was made from, or paste its config.json{size}."
    return " ".join(part for part in (guess, like, cure) if part)
