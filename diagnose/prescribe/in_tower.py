"""Whether a traceback ends within the vision tower: then images alone, their size and their number, decide what it asks for."""

from __future__ import annotations

import re

from diagnose.types import Frame, Paste

# how models and engines call a tower, what its layers alone are given (transformers 4.51.3 models/qwen2_5_vl: cu_seqlens_now), and
# files that hold nothing else
_CALLS = re.compile(
    r"\.(?:visual|vision_(?:tower|model|encoder)|get_(?:image|video)_features|get_multimodal_embeddings|_?process_(?:image|video)_input)\("
    r"|\bcu_seqlens=cu_seqlens_now\b",
    re.A,
)
_FILES = re.compile(r"(?:^|[/_])(?:vision|visual|siglip|clip|intern_vit|moonvit)(?:_\w{0,24})?\.py$", re.I | re.A)


def in_tower(paste: Paste) -> bool:
    """Whether a frame of the last traceback calls the tower or stands in a file of its own."""
    framed = [frame for frame in paste.frames if frame.path]
    last = framed[-1].traceback if framed else 0
    return any(frame.traceback == last and _within(paste, frame) for frame in framed)


def _within(paste: Paste, frame: Frame) -> bool:
    line = paste.line(frame.line + 1)
    return bool(_FILES.search(frame.path)) or bool(line and _CALLS.search(line.words))
