"""Two failures of one text at two shares of the card: too little for the engine's cache, and a larger one too much for the trainer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from diagnose.facts.sentences.prose import span_of
from diagnose.facts.whose_run.other_tries import number_of, shares_set
from diagnose.knowledge.records import Framework
from diagnose.types import Hit, Line, Paste, Setting, Span, Tried

_NO_CACHE = "vllm_no_kv_blocks"
_DOWN = "rollout.gpu_memory_utilization.down"
_OUT = r"(?:CUDA\s+|GPU\s+)?(?:OOM\w*|out[ -]of[ -]memory)"
_RUNS_OUT = re.compile(
    rf"\b(?:with|at|on|using|to)\s+(?P<share>0?\.\d{{1,3}})(?![\w%]|\.\d)[^.;\n\d]{{0,40}}?\b{_OUT}\b"
    rf"|(?:^\s*(?:[-*•]|\d[.)])|[;,，；])\s*(?P<share_item>0?\.\d{{1,3}})\s*(?:[:：]|-+>|→|=>)[^.;\n\d]{{0,60}}?\b{_OUT}\b"
    r"|(?<![\w.])(?P<share_zh>0?\.\d{1,3})(?![\w.%])\s*(?:的话|时候?|以上)?[,，]?\s*(?:(?:就|又|则|会|还是|直接|训练|反向|报|出现|是)\s*){0,4}"
    rf"(?:{_OUT}|爆显存|显存\s*(?:不足|不够|爆))",
    re.I | re.A,
)


def at_larger_share(
    paste: Paste, hits: tuple[Hit, ...], speech: Sequence[Line], framework: Framework | None
) -> tuple[Paste, tuple[Hit, ...], tuple[Tried, ...]]:
    """The paste and its messages as of the larger share, where both are told, and that a smaller one was tried.

    At the smaller one the engine does not start: what can be mended is the failure at the larger.
    """
    no_cache = [hit for hit in hits if hit.signature.kind == _NO_CACHE]
    kept = tuple(hit for hit in hits if hit.signature.kind != _NO_CACHE)
    set_to = shares_set(paste, framework)
    larger = _larger(speech, set_to) if no_cache and kept else None
    if larger is None:
        return paste, hits, ()
    share, span = larger
    settings = tuple(replace(one, value=share, span=span) if one in set_to else one for one in paste.settings)
    return replace(paste, settings=settings), kept, (Tried(_DOWN, no_cache[0].span),)


def _larger(speech: Sequence[Line], set_to: Sequence[Setting]) -> tuple[str, Span] | None:
    """The share at which the card runs out, where the settings have smaller ones alone."""
    most = max((number_of(one) or 0.0 for one in set_to), default=1.0)
    for line in speech:
        for found in _RUNS_OUT.finditer(line.words):
            group = next(name for name in ("share", "share_item", "share_zh") if found[name])
            if most < float(found[group]) < 1:
                return found[group], span_of(line, found, group)
    return None
