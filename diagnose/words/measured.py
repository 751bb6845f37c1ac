"""The sentences on what a log measured, written once for the page, the terminal and the issue block."""

from __future__ import annotations

from diagnose.types import Compared, Diagnosis, Estimate, Growth, Measured
from diagnose.units import gib, tenths, to_gib
from diagnose.vocabulary import PHASES

_GIB = "\u00a0GiB"

COUNTER_WORDS = {
    "allocated": "allocated by torch",
    "reserved": "reserved by torch",
    "device": "in use on the card",
    "free": "free on the card",
    "host": "in use on the node",
    "host_used": "in use on the node, page-locked copies left out",
    "engine_weights": "engine’s weights",
    "engine_activations": "engine’s step",
    "engine_graphs": "CUDA graphs",
    "kv_pool": "KV cache",
    "kv_tokens": "KV cache",
    "engine_freed": "given back by the sleeping engine",
    "engine_backup": "kept on the host by the sleeping engine",
}
_POOLS = {"gpu": "GPU memory", "host": "Host RAM"}
_MOST = 12


def starts_from(diagnosis: Diagnosis) -> str:
    """What message and log come to beyond the settings, where the changes start from there."""
    seen = next((given.before.measured for given in diagnosis.prescriptions if given.before), None)
    return (
        f"By the figures of message and log it is {gib(seen)}{_GIB}: the changes below start from there."
        if seen is not None
        else ""
    )


def unheld(measured: tuple[Measured, ...]) -> tuple[Compared, ...]:
    """Readings where there is no estimate to hold them against."""
    return tuple(Compared(one) for one in measured)


def shown(compared: tuple[Compared, ...], most: int = _MOST) -> tuple[Compared, ...]:
    """What says most, in the order of the log's phases: readings with a counterpart, then peaks, then the rest; the same is said once."""
    first = {_said(one): one for one in reversed(compared)}
    compared = tuple(one for one in compared if first[_said(one)] is one)
    weight = {id(one): (one.estimate is None, one.measured.moment != "peak", -one.measured.bytes) for one in compared}
    kept = {id(one) for one in sorted(compared, key=lambda one: weight[id(one)])[:most]}
    return tuple(one for one in compared if id(one) in kept)


def _said(one: Compared) -> tuple[str, int]:
    """What a reader is told of a reading: two lines of a log may give one thing in bytes and in tokens."""
    return counter_words(one.measured), tenths(one.measured.bytes) or one.measured.tokens


def counter_words(one: Measured) -> str:
    """``reserved by torch, peak of the actor update``."""
    phase = PHASES.get(one.phase, "")
    moment = {"before": "before the {}", "after": "after the {}", "peak": "peak of the {}"}.get(one.moment, "{}")
    where = moment.format(phase) if phase else "peak" if one.moment == "peak" else ""
    return f"{COUNTER_WORDS[one.counter]}{', ' if where else ''}{where}"


def told(diagnosis: Diagnosis) -> list[str]:
    """Each reading with the estimate of the same thing, then what grows."""
    compared = diagnosis.estimate.compared or unheld(diagnosis.facts.measured)
    lines = [_line(one) for one in shown(compared)]
    return [*lines, *(growth_words(one, diagnosis.estimate) for one in diagnosis.facts.growth)]


def _line(one: Compared) -> str:
    words = counter_words(one.measured)
    size = (
        f"{gib(one.measured.bytes)}{_GIB}"
        if one.measured.bytes or not one.measured.tokens
        else f"{one.measured.tokens:,} tokens"
    )
    beside = ""
    if one.estimate is not None and one.difference is not None:
        beside = f"; estimate {gib(one.estimate)}{_GIB}, difference {signed(one.difference)}"
    return f"{words[0].upper()}{words[1:]}: {size}{beside} (line {one.measured.span.line})"


def signed(size: int) -> str:
    """A difference in GiB with its sign, without the unit."""
    value = tenths(size)
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{abs(value) / 10:,.1f}"


def reached(growth: Growth, estimate: Estimate) -> int | None:
    """The step at which a growth comes to the limit of its pool; None where that is not known."""
    pool = estimate.pool(growth.pool)
    return growth.reaches(pool.limit) if pool and pool.limit is not None else None


def growth_words(growth: Growth, estimate: Estimate) -> str:
    """How fast it grows, between which steps, and when it comes to the limit."""
    what = f"{_POOLS[growth.pool]} ({COUNTER_WORDS[growth.counter]}{', peak' if growth.peak else ''})"
    rate = to_gib(growth.each)
    each = f"{rate:,.1f}" if rate >= 0.095 else f"{rate:,.2g}"
    sentence = (
        f"{what} grows by {each}{_GIB} a step: {gib(growth.first[1])}{_GIB} at step {growth.first[0]:,}, "
        f"{gib(growth.last[1])}{_GIB} at step {growth.last[0]:,}"
    )
    pool, step = estimate.pool(growth.pool), reached(growth, estimate)
    if pool is None or pool.limit is None or step is None:
        return f"{sentence}."
    if step <= growth.last[0]:
        return f"{sentence}; that is the limit."
    return f"{sentence}. It comes to {gib(pool.limit)}{_GIB} at about step {step:,}."
