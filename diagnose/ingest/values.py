"""Values as programs print them: members of an enumeration by what they stand for."""

from __future__ import annotations

import re

# OptimizerNames.ADAMW_TORCH and <OptimizerNames.ADAMW_TORCH: 'adamw_torch'>, as Python prints members.
_MEMBER = re.compile(r"<?\b[A-Z][a-z]\w{1,40}\.([A-Z][A-Z0-9_]{1,40})\b(?::[ ]?'([^'\n]{0,80})'>)?", re.A)
# <LossType.dapo: 'dapo'>: of whatever spelling, and what it stands for; a shell takes the quotes away
_SHOWN = re.compile(r"<\b[A-Za-z_]\w{0,40}(?:\.\w{1,40}){1,4}:[ ]?'?([^'<>\n]{1,80})'?>", re.A)


def plain(value: str) -> str:
    """The value with members of an enumeration as they are written in a configuration."""
    if "." not in value:
        return value
    value = _SHOWN.sub(lambda found: found[1], value) if "<" in value else value
    return _MEMBER.sub(lambda found: found[1].lower() if found[2] is None else found[2], value)
