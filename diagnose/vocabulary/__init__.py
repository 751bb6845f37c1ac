"""The closed vocabulary: every kind, phase, fact, batch unit, resident and behaviour that a record may name.

A word that stands here is implemented by one documented function or term; a record that uses another word is refused by
the content check. Fact ids are exactly the names of the batch interface, so that answers, questions, records and the
query string speak of the same thing.
"""

from diagnose.vocabulary.behaviours import BEHAVIOURS
from diagnose.vocabulary.facts import FACTS, NUMBERS, SIGNS
from diagnose.vocabulary.failure import (
    KINDS,
    NO_CACHE,
    OF_CARDS,
    OF_ENGINE_START,
    OFFLINE_ALGOS,
    ONLINE_ALGOS,
    OTHER_POOL,
    PHASE_GROUPS,
    PHASE_OF_KIND,
    PHASES,
    POOL_OF_KIND,
    VERDICTS,
    Origin,
    Pool,
    Value,
    is_number,
)
from diagnose.vocabulary.measured import COUNTERS, MOMENTS, PARTS, pool_of
from diagnose.vocabulary.plan import BATCH_UNITS, RESIDENTS
from diagnose.vocabulary.spec import FactSpec

__all__ = [
    "BATCH_UNITS",
    "BEHAVIOURS",
    "COUNTERS",
    "FACTS",
    "FactSpec",
    "KINDS",
    "NO_CACHE",
    "MOMENTS",
    "NUMBERS",
    "OF_CARDS",
    "OF_ENGINE_START",
    "OFFLINE_ALGOS",
    "ONLINE_ALGOS",
    "OTHER_POOL",
    "Origin",
    "PARTS",
    "PHASES",
    "PHASE_OF_KIND",
    "PHASE_GROUPS",
    "POOL_OF_KIND",
    "Pool",
    "RESIDENTS",
    "SIGNS",
    "VERDICTS",
    "Value",
    "is_number",
    "pool_of",
]
