"""Whether a script makes an engine in its own process before it loads the model that it trains."""

from __future__ import annotations

import re

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Paste

_MAKES = re.compile(r"(?:^|[=\s.])(?P<call>LLM\()(?=\s*(?:model\s*=|[A-Za-z_\"'][\w.\"'/-]*\s*[,)]|$))", re.A)
_LOADS = re.compile(r"(?<![A-Za-z])AutoModel\w{0,40}\.from_pretrained\(", re.A)
# on another card, or its process has ended by then
_ELSEWHERE = re.compile(
    r"\bdevice\s*=|\bdel\s+\w|destroy_model_parallel|CUDA_VISIBLE_DEVICES|\bProcess\(|\.sleep\(", re.A
)


def engine_first(paste: Paste) -> Fact | None:
    """The engine that stands on the card, awake, when the model is loaded."""
    if "LLM(" not in paste.text or "from_pretrained(" not in paste.text or _ELSEWHERE.search(paste.text):
        return None
    frames = {frame.line for frame in paste.frames} | {frame.line + 1 for frame in paste.frames}
    code = [line for line in paste.lines if line.number not in frames and line.words.lstrip()[:1] != "#"]
    made = next(((line, found) for line in code if (found := _MAKES.search(line.words))), None)
    if made is None or not any(_LOADS.search(line.words) for line in code if line.number > made[0].number):
        return None
    return Fact("engine_first", True, "read", written=made[1]["call"], span=span_of(*made, "call"))
