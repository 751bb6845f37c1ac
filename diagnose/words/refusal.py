"""The sentences on an allocator's message, written once for the page and the terminal: what was asked for, and who holds the card."""

from __future__ import annotations

from diagnose.allocator import FULL, TENANT, beyond_card, contradictions, false_shortage, foreign_gib, idle_gib, limited
from diagnose.estimate.refused import Piece, Refused, explain
from diagnose.types import Diagnosis, Facts, FailedRow
from diagnose.units import GIB, KIB, MIB
from diagnose.words.figures import NBSP

_TYPES = {2: "bf16", 4: "fp32"}


def told(diagnosis: Diagnosis) -> list[str]:
    """What the figures of the message say, the request first; empty without figures."""
    facts = diagnosis.facts
    if facts.number("tried_alloc_gib") is None and facts.number("gpu_total_gib") is None:
        return []
    refused = explain(facts, diagnosis.paste)
    return [
        *_request(refused),
        *_shortage(facts, refused),
        *_before_start(diagnosis),
        *_tenant(facts),
        *_idle(facts),
        *_contradictions(facts),
    ]


def _request(refused: Refused | None) -> list[str]:
    if refused is None:
        return []
    asked = _size(refused.asked)
    if refused.small:
        low, high = refused.small
        tensor = f"less than {high // MIB}{NBSP}MiB" if not low else f"{low // MIB} to {high // MIB}{NBSP}MiB"
        return [
            f"{asked} is the allocator’s own piece for a tensor of {tensor}: the request was small, the card was full before it."
        ]
    if refused.tokens:
        each = " or ".join(f"{_TYPES[width]} logits of {tokens:,} tokens" for width, tokens in refused.tokens)
        parted = f", of which each card has one of {refused.parts} parts" if refused.parts > 1 else ""
        alone = "a row that is longer makes a pass of its own, which no smaller budget parts"
        row = f" That is more than the budget of {refused.beyond:,}: {alone}." if refused.beyond else ""
        return [f"{asked} are the {each} at a vocabulary of {refused.vocab:,}{parted}.{row}"]
    if refused.row:
        return [f"{asked} can only be logits here: nothing else of this pass is as large. {_rows(refused.row)}"]
    pieces = ", or ".join(_piece(piece) for piece in refused.pieces)
    return [f"{asked} is the size of {pieces}."]


def _rows(row: FailedRow) -> str:
    if row.shortest == row.longest:
        return f"That makes rows of about {row.likely:,.0f} tokens on average, which the estimate takes."
    shorter = row.likely == row.shortest
    why = "with which the phase needs all that was in use" if shorter else "the longer ones"
    return (
        f"That makes rows of about {row.shortest:,.0f} tokens on average in fp32, or {row.longest:,.0f} in bf16; the estimate takes "
        f"{row.likely:,.0f}, {why}."
    )


def _piece(piece: Piece) -> str:
    product = " × ".join(_factor(words, factor) for words, factor in piece.factors)
    article = "the" if piece.name.startswith(("logits", "MLP activations", "attention", "gate")) else "one"
    return f"{article} {piece.name} in {_TYPES[piece.each]} ({product} × {piece.each} bytes)"


def _shortage(facts: Facts, refused: Refused | None) -> list[str]:
    if beyond_card(facts):
        whole = _gib(facts.number("tried_alloc_gib") or 0.0)
        if _is_logits(refused):
            return [
                f"{whole} in one piece is more than the whole card: only a smaller tensor helps, by fewer rows or tokens in a pass or by "
                "logits in chunks."
            ]
        return [
            f"{whole} in one piece is more than the whole card: no other setting makes room for that. Such a size is a product of two "
            "lengths (attention computed in full over long rows or image patches), or a wrong shape."
        ]
    if limited(facts):
        allowed, free = facts.number("torch_allowed_gib") or 0.0, facts.number("gpu_free_gib") or 0.0
        return [
            f"torch may take {_gib(allowed)} in this process and no more, though {_gib(free)} were free on the card: the program sets that "
            "limit (torch.cuda.set_per_process_memory_fraction), and a higher one is the nearest change."
        ]
    if not false_shortage(facts):
        return []
    asked, free = facts.number("tried_alloc_gib") or 0.0, facts.number("gpu_free_gib") or 0.0
    return [
        f"{_gib(free)} were free and {_gib(asked)} were asked for: the card was not short of memory when this was printed. "
        "Memory came free just before, the process has a limit of its own, or the driver refused for another reason."
    ]


def _is_logits(refused: Refused | None) -> bool:
    """Whether what was asked for is told to be logits, which go with the rows of a pass and their length alone."""
    if refused is None:
        return False
    named = bool(refused.pieces) and all(piece.name.startswith("logits") for piece in refused.pieces)
    return named or bool(refused.tokens or refused.row)


def _factor(words: str, factor: int) -> str:
    """``2 rows``, ``1 row``; of a bare number the number."""
    return f"{factor:,}" if words.isdigit() else f"{factor:,} {words.removesuffix('s') if factor == 1 else words}"


def _before_start(diagnosis: Diagnosis) -> list[str]:
    """Who has what is not free where an engine starts, which itself has nothing yet."""
    facts = diagnosis.facts
    total, free = facts.number("gpu_total_gib"), facts.number("gpu_free_gib")
    if diagnosis.kind != "vllm_free_memory_too_low" or total is None or free is None or total - free < TENANT:
        return []
    held = f"{_gib(total - free)} of the card were in use before the engine took anything"
    others = "another process, an engine, another rank or a job that was left behind"
    if facts.serves or facts.values.get("rollout_mode") == "server":
        return [f"{held}: by {others}."]
    gpu = diagnosis.estimate.gpu
    start = gpu.phase("init") if gpu else None
    own = sum(term.bytes for term in start.terms if term.family in ("held", "fixed")) / GIB if start else 0.0
    if not own:
        return [f"{held}: by the trainer of the same run, or by {others}."]
    if own + TENANT >= total - free:
        return [f"{held}: by the estimate the trainer of the same run has {_gib(own)} of it."]
    return [
        f"{held}: by the estimate {_gib(own)} of it are of the trainer of the same run, the rest is held by {others}."
    ]


def _tenant(facts: Facts) -> list[str]:
    others = foreign_gib(facts)
    if others is None or others < TENANT or contradictions(facts):
        return []
    if facts.engine_awake:
        share = facts.number("gpu_memory_utilization") or 0.0
        return [
            f"{_gib(others)} of the card are neither this process’s nor free: another process holds as much as the engine may take "
            f"({share:g} of the card). So the engine is awake, its cache with it, while the weights go to it."
        ]
    return [
        f"{_gib(others)} of the card are neither this process’s nor free: another process holds them, an engine, another rank or a job "
        "that was left behind."
    ]


def _idle(facts: Facts) -> list[str]:
    """Whether what is free and what torch holds and does not use would have done, had it been in one piece."""
    asked, idle, unused = facts.number("tried_alloc_gib"), idle_gib(facts), facts.number("torch_reserved_gib")
    if asked is None or idle is None or false_shortage(facts) or beyond_card(facts):
        return []
    what = f"{_gib(idle)} are free or reserved and unused"
    total = facts.number("gpu_total_gib") or 0.0
    if idle >= asked and idle < total * FULL:
        return [f"Only {what}: the card is full."]
    if idle >= asked:
        return [
            f"{what} ({_gib(unused or 0.0)} of it reserved), and {_gib(asked)} were asked for: enough, but not in one piece."
        ]
    if _gib(idle) == _gib(asked):
        return [f"{what}, a little less than was asked for: a full card, not a fragmented one."]
    return [f"{what}, less than the {_gib(asked)} asked for: a full card, not a fragmented one."]


def _contradictions(facts: Facts) -> list[str]:
    held, allocated = facts.number("process_gib") or 0.0, facts.number("torch_allocated_gib") or 0.0
    said = {
        "overfull": "What the process holds and what is free come to more than the card has: the figures are of two moments.",
        "beyond_process": f"torch counts {_gib(allocated)} as allocated and the process holds {_gib(held)}: a sleeping engine’s pool is "
        "still counted although the driver has it back, or the figures are of two moments. Do not add them up.",
        "spilled": f"torch counts {_gib(allocated)} as allocated, more than the card has: on Windows and WSL the driver moves what does "
        "not fit to host RAM, which is slow and ends too. The run needs what torch counts.",
        "unseen": "The driver tells nothing of this process, as in a container: what the process holds is not known.",
    }
    return [said[found] for found in contradictions(facts)]


def _gib(size: float) -> str:
    return f"{size:,.1f}{NBSP}GiB" if size >= 1 else f"{size * KIB:,.0f}{NBSP}MiB"


def _size(size: int) -> str:
    return f"{size / MIB:,.0f}{NBSP}MiB" if size < GIB else f"{size / GIB:,.2f}{NBSP}GiB"
