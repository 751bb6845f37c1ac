"""What a process of another model than the trained one prints of its own settings."""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.types import Paste

# Ray's name of the process before the line: a role with its number, or a class, of which a critic's has the policy's engine
# (alibaba/ROLL@8eb27cc2d roll/distributed/strategy/megatron_strategy.py prints a worker's arguments, deepspeedai/DeepSpeed@edaa722
# deepspeed/runtime/config.py an engine's)
_OF_ANOTHER = re.compile(
    r"\s*(?:\x1b\[\d{1,3}m)?\((?:(?:ref|reference|critic|reward|judge|teacher)[a-z_]{0,40}-(?:[a-z_]{1,40}-)?\d{1,4}"
    r"|(?:Ref|Reference|Reward)[A-Z]\w{0,60})[ ](?:pid=|\()",
    re.A,
)


def without_others(paste: Paste) -> Paste:
    """The paste without the settings that stand in such lines."""
    others = {line.number for line in paste.lines if "(" in line.text[:24] and _OF_ANOTHER.match(line.text)}
    if not others:
        return paste
    return replace(paste, settings=tuple(one for one in paste.settings if one.span.line not in others))
