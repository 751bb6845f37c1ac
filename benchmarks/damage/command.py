"""What shells and people do to a command: flags, quotes, the ends of continued lines."""

from __future__ import annotations

import re

from benchmarks.damage.shapes import Damage, replaced, substituted

_FLAG_VALUE = re.compile(r"(?<![\w\"'-])(--[A-Za-z][\w.-]*)[ ](?=[A-Za-z0-9./\"'$])(?!\S+\.py\b)")
_FLAG_EQUALS = re.compile(r"(?<![\w\"'-])(--[A-Za-z][\w.-]*)=(?=[^\s=])")
_OVERRIDE = re.compile(r"(?m)(?<![\S])((?:\+{1,2})?[a-z]\w*(?:\.\w+)+)=([\w./-]+)(?=\s|$)")
_CONTINUED = re.compile(r"[ \t]*\\[ \t]*\n[ \t]*")


def in_one_line(text: str) -> str:
    """Continued lines put together, and the backslashes gone with the line ends."""
    return _CONTINUED.sub(" ", re.sub(r"(?m)^[ \t]*#.*\\\n", "", text))


COMMAND: dict[str, Damage] = {
    "flags with =": substituted(_FLAG_VALUE, r"\1="),
    "flags with blank": substituted(_FLAG_EQUALS, r"\1 "),
    "two blanks behind flags": substituted(_FLAG_VALUE, r"\1  "),
    "quoted values": substituted(_OVERRIDE, r"\1='\2'"),
    "quoted overrides": substituted(_OVERRIDE, r"'\1=\2'"),
    "backslash, blank": replaced(("\\\n", "\\ \n")),
    "backslash, no blank before": substituted(r"[ \t]+\\\n", r"\\\n"),
    "backslash doubled": replaced(("\\\n", "\\\\\n")),
    "backslash lost": substituted(r"[ \t]*\\\n", "\n"),
    "backslash joined": substituted(r"\\\n\s*", r"\\ "),
    "continued in one line": in_one_line,
    "continued by ticks": replaced(("\\\n", "`\n")),
    "continued by carets": replaced(("\\\n", "^\n")),
}
