"""What a refused request was: its size held against the matrices, layers and logits of the model at hand.

torch asks the driver for more than a tensor takes: below 1 MiB for 2 MiB, below 10 MiB for 20 MiB, above it for the next 2 MiB
(c10/cuda/CUDACachingAllocator.cpp, kSmallBuffer, kLargeBuffer, kRoundLarge). What is printed is that size with two decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.batch import whole
from diagnose.estimate.plan import PAIRED, Plan, plan_of
from diagnose.estimate.shape import head_dim, layer
from diagnose.estimate.terms_logits import vocabulary_parts
from diagnose.knowledge.hardware import Model
from diagnose.types import Facts, FailedRow, Paste
from diagnose.units import MIB, number_and_unit, parse_size
from diagnose.vocabulary import OFFLINE_ALGOS

_ROUND = 2 * MIB
_SMALL = {2 * MIB: (0, MIB), 20 * MIB: (MIB, 10 * MIB)}
_LEAST = 32 * MIB
# The printed figure leaves a window; a shape that falls into it says something only where the window is this narrow.
_NARROW = 0.01
_MOST = 2
# what a pass takes in rows, and in tokens; the update first
_PASSES = (("micro_batch", "micro_tokens", "an update"), ("logprob_micro_batch", "logprob_tokens", "a log-prob"))
# in which no rows pass through a model, so that nothing is made of their tokens
_WITHOUT_PASS = ("load", "weight_sync", "optimizer_step", "checkpoint")
_OF_ENGINE = ("init", "weight_sync", "rollout")
_UPCAST = re.compile(r"\.float\(\)|\btorch\.float32\b", re.A)
_HEAD = re.compile(
    r"matmul|\bmm\(|\blinear\b|addmm|einsum|empty\(", re.I | re.A
)  # a product, or the tensor that it is written into
_LOGITS = re.compile(r"log_softmax|logits|cross_entropy|logsumexp|log_probs?\b|logps\b|entropy|lm_head", re.I)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something of the size that was asked for: its name, its factors with their words, and bytes of one number."""

    name: str
    factors: tuple[tuple[str, int], ...]
    each: int

    @property
    def bytes(self) -> int:
        total = self.each
        for _, factor in self.factors:
            total *= factor
        return total


@dataclass(frozen=True, slots=True)
class Refused:
    """``small``: bounds of the tensor behind one of the allocator's fixed pieces. ``tokens``: how many tokens' logits it holds, by
    bytes of a logit, where the traceback is about logits and no length that is known explains it; of the vocabulary each card has one
    of so many ``parts``. ``beyond``: the budget of tokens that even the fewest of them exceed, where a single row may do so. ``row``: what
    it tells of the rows where it can be nothing but logits.
    """

    asked: int
    pieces: tuple[Piece, ...] = ()
    small: tuple[int, int] | None = None
    tokens: tuple[tuple[int, int], ...] = ()
    vocab: int = 0
    parts: int = 1
    beyond: int = 0
    row: FailedRow | None = None


def explain(facts: Facts, paste: Paste) -> Refused | None:
    """What the request may have been; None where nothing was refused or nothing is known that it could be."""
    asked = asked_for(facts)
    if asked in _SMALL:
        return Refused(asked, small=_SMALL[asked])
    if asked < _LEAST or facts.model is None:
        return None
    if fitting := known_sizes(facts):
        return Refused(asked, fitting)
    if facts.failed_row:
        return Refused(asked, row=facts.failed_row)
    return _logits(asked, facts, facts.model, paste)


def _asked(facts: Facts) -> tuple[str, int]:
    """The request as it is printed and in bytes, 0 where nothing was refused; one that was answered as torch prints it."""
    fact, gib = facts.stated.get("tried_alloc_gib"), facts.number("tried_alloc_gib")
    if fact is None or gib is None:
        return "", 0
    written = fact.written if fact.origin == "read" else f"{gib:.2f} GiB"
    try:
        return written, parse_size(written) if written else 0
    except ValueError:
        return written, 0


def asked_for(facts: Facts) -> int:
    """Bytes of the request that was refused, 0 where none was."""
    return _asked(facts)[1]


def known_sizes(facts: Facts) -> tuple[Piece, ...]:
    """The shapes of the run, by lengths and limits that are known, that have the size that was asked for."""
    written, asked = _asked(facts)
    return _fitting(facts, facts.model, written, asked) if facts.model and asked >= _LEAST else ()


def _fitting(facts: Facts, model: Model, written: str, asked: int) -> tuple[Piece, ...]:
    """The first two shapes of the run that have the size that was asked for."""
    low, high = _window(written, asked)
    if (high - low) / asked > _NARROW:
        return ()
    fitting = [piece for piece in _pieces(facts, model) if low <= piece.bytes <= high]
    return _different([piece for piece in fitting if _of_phase(piece, facts)])


def _of_phase(piece: Piece, facts: Facts) -> bool:
    """Whether a shape is one of the failing phase: of its own pass, where each has limits of its own, and of none where no rows pass."""
    phase = facts.values.get("phase")
    if phase in _WITHOUT_PASS:
        return not any(words == "tokens" for words, _ in piece.factors)
    own = any(id in facts.values for id in ("logprob_micro_batch", "logprob_tokens"))
    other = {"actor_update": "a log-prob", "logprob": "an update", "ref_logprob": "an update"}.get(str(phase))
    return not (own and other and f" of {other} " in piece.name)


def asked_in(facts: Facts) -> tuple[str, ...]:
    """The phases in which alone a tensor of the size that was asked for is made; empty where it may be anything.

    Logits of a pass by its own limit of rows or tokens. Where no limit of the log-prob is known it may have the update's.
    """
    pieces = known_sizes(facts)
    if not pieces or not all(piece.name.startswith("logits of ") for piece in pieces):
        return ()
    update = any("update" in piece.name for piece in pieces)
    forward = any("log-prob" in piece.name for piece in pieces)
    told = _samples(facts) and any(id in facts.values for id in ("logprob_micro_batch", "logprob_tokens"))
    return (*(("logprob", "ref_logprob") if forward or not told else ()), *(("actor_update",) if update else ()))


def _window(words: str, asked: int) -> tuple[float, float]:
    """Bounds of the tensor: half a digit of the print to both sides, and what the allocator rounds up."""
    number, unit = number_and_unit(words)
    digits = len(number.partition(".")[2])
    half = parse_size(f"1 {unit}") / 10**digits / 2
    return asked - half - _ROUND, asked + half


def _different(pieces: list[Piece]) -> tuple[Piece, ...]:
    """One of each name, the first two."""
    found = {piece.name: piece for piece in reversed(pieces)}
    order = [piece.name for piece in pieces]
    return tuple(sorted(found.values(), key=lambda piece: order.index(piece.name)))[:_MOST]


def _logits(asked: int, facts: Facts, model: Model, paste: Paste) -> Refused | None:
    settings = {setting.span.line for setting in paste.settings}  # whose keys may speak of log-probs and entropy
    told = any(_LOGITS.search(line.words) for line in paste.lines if line.number not in settings)
    if facts.values.get("phase") in _WITHOUT_PASS or not told:
        return None
    plan, parts = _plan(facts), _parts(facts)
    tokens = tuple((each, round(asked * parts / (model.vocab * each))) for each in reversed(widths(plan, paste)))
    budget = _soft_budget(plan)
    beyond = budget if budget and tokens[-1][1] > budget else 0
    return Refused(asked, tokens=tokens, vocab=model.vocab, parts=parts, beyond=beyond)


def _soft_budget(plan: Plan | None) -> int:
    """The tokens of a pass, where a row that is longer makes one of its own; 0 where nothing like that is known."""
    if plan is None or plan.does.get("row_beyond_budget") != "alone" or plan.values.get("dynamic_batch") is not True:
        return 0
    own = {"logprob": "logprob_tokens", "ref_logprob": "ref_logprob_tokens"}.get(
        str(plan.values.get("phase")), "micro_tokens"
    )
    return whole(plan.values, own) or whole(plan.values, "micro_tokens") or 0


def _plan(facts: Facts) -> Plan | None:
    """The trainer's plan; None where it was the engine that asked, or too little is known of the run."""
    return None if facts.values.get("phase") in _OF_ENGINE else plan_of(facts, None)


def _parts(facts: Facts) -> int:
    """Cards that share the vocabulary of a token's logits."""
    plan = _plan(facts) if (facts.number("tp") or 1) > 1 else None
    return vocabulary_parts(plan) if plan else 1


def widths(plan: Plan | None, paste: Paste | None) -> tuple[int, ...]:
    """Bytes that a logit of the tensor may have that was asked for: 4 alone where the line of code at which it failed casts to fp32, or
    where the loss is sure to get them so and it was not the product that makes them."""
    last = max((frame.line for frame in paste.frames), default=0) if paste else 0
    code = paste.line(last + 1) if paste and last else None
    if code is None:
        return 4, 2
    of_loss = plan is not None and plan.does.get("logits_type") == "fp32" and not _HEAD.search(code.words)
    return (4,) if of_loss or _UPCAST.search(code.words) else (4, 2)


def _pieces(facts: Facts, model: Model) -> Iterator[Piece]:
    """Every shape of the run, what hangs on no length first."""
    hidden, vocab, wide = ("hidden", model.hidden), ("vocabulary", model.vocab), ("intermediate", model.intermediate)
    for each in (2, 4):
        yield Piece("embedding or output matrix", (vocab, hidden), each)
        yield Piece("MLP matrix", (hidden, wide), each)
        yield Piece("gate and up matrix of the MLP together", (("2", 2), hidden, wide), each)
        yield Piece("decoder layer", (("parameters", layer(model)),), each)
        yield Piece("query matrix", (hidden, ("heads × width", model.heads * head_dim(model))), each)
    words = ("words of the vocabulary", model.vocab // parts) if (parts := _parts(facts)) > 1 else vocab
    for name, rows in _rows(facts):
        for each in (2, 4):
            yield Piece(f"logits of {name}", (*rows, words), each)
            yield Piece(f"MLP activations of {name}", (*rows, wide), each)
    yield from _scores(facts, model)


def _rows(facts: Facts) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
    """Rows × tokens that one pass may hold, by the batch and length limits that are known."""
    lengths, passes = _lengths(facts), _PASSES if _samples(facts) else _PASSES[:1]
    for id, _, name in passes:
        rows = facts.values.get(id)
        if isinstance(rows, int) and not isinstance(rows, bool) and rows > 0:
            for length in lengths:
                yield f"{name} micro batch", (("rows", rows * _texts(facts)), ("tokens", length))
    for _, id, name in passes:
        budget = facts.values.get(id)
        if isinstance(budget, int) and budget > 0:
            yield f"{name} token budget", (("tokens", budget),)


def _samples(facts: Facts) -> bool:
    """Whether it has passes of its own for log-probs: what trains on a data set passes the reference the update's rows."""
    return not str(facts.values.get("algo", "")).startswith(OFFLINE_ALGOS)


def _texts(facts: Facts) -> int:
    """Sequences of a row: both of a pair."""
    return 2 if facts.values.get("algo") in PAIRED else 1


def _lengths(facts: Facts) -> list[int]:
    """The whole row, the response, the limit of a row: those that are known, each once."""
    prompt, response, row = (facts.number(id) for id in ("prompt_length", "response_length", "max_length"))
    found = [prompt + response if prompt and response else None, response, row]
    return list(dict.fromkeys(int(length) for length in found if length))


def _scores(facts: Facts, model: Model) -> Iterator[Piece]:
    """Attention scores, where attention is computed in full."""
    rows = facts.number("micro_batch") or 1
    for length in _lengths(facts):
        for each in (2, 4):
            factors = (("rows", int(rows)), ("heads", model.heads), ("tokens", length), ("tokens", length))
            yield Piece("attention scores, rows against rows", factors, each)
