"""What a line of a log can measure: which counter, at which moment of a phase."""

from __future__ import annotations

from diagnose.vocabulary.failure import Pool

# Whole sizes first; then parts of the engine, each named like the term of the estimate that it is held against.
COUNTERS = {
    "allocated": "held by tensors, as torch counts it in one process",
    "reserved": "taken by torch's allocator in one process, used or not",
    "device": "in use on the card, as the driver counts it: every process, an awake engine included",
    "free": "free on the card, as the driver counts it",
    "host": "in use on the node, all processes",
    "host_used": "in use on the node, less shared pages: page-locked copies are left out",
    "engine_weights": "the engine's own weights",
    "engine_activations": "what a step of the engine takes beside weights and cache, by its profile run",
    "engine_graphs": "the engine's captured graphs",
    "kv_pool": "the engine's KV cache",
    "kv_tokens": "tokens that the engine's KV cache holds",
    "engine_freed": "what a sleeping engine gave back on the card",
    "engine_backup": "what a sleeping engine keeps on the host",
}
PARTS = ("engine_weights", "engine_activations", "engine_graphs", "kv_pool")

MOMENTS = {
    "now": "at the line",
    "before": "before the phase",
    "after": "after the phase",
    "peak": "the highest since the counter began",
}


def pool_of(counter: str) -> Pool:
    """The pool that a counter counts in."""
    return "host" if counter in ("host", "host_used", "engine_backup") else "gpu"
