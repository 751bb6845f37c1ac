"""The frozen records that pass between the stages, in the order of the arrow: Paste → Facts → Estimate → Diagnosis."""

from diagnose.types.advice import (
    LESS,
    MORE,
    Asked,
    CaseMatch,
    Change,
    Check,
    Diagnosis,
    Evidence,
    NotAdvised,
    PatchLine,
    Prescription,
    Together,
    Turn,
)
from diagnose.types.estimate import CacheRoom, Compared, Estimate, PhaseEstimate, PoolEstimate, Term
from diagnose.types.facts import Fact, Facts, FailedRow, Hit, Tried
from diagnose.types.measured import Growth, Measured
from diagnose.types.paste import Command, Frame, Line, Package, Paste, Redaction, Setting, Span

__all__ = [
    "LESS",
    "MORE",
    "Asked",
    "CacheRoom",
    "CaseMatch",
    "Change",
    "Check",
    "Command",
    "Compared",
    "Diagnosis",
    "Estimate",
    "Evidence",
    "Fact",
    "Facts",
    "FailedRow",
    "Frame",
    "Growth",
    "Hit",
    "Line",
    "Measured",
    "NotAdvised",
    "Package",
    "Paste",
    "PatchLine",
    "PhaseEstimate",
    "PoolEstimate",
    "Prescription",
    "Together",
    "Turn",
    "Redaction",
    "Setting",
    "Span",
    "Term",
    "Tried",
]
