"""A patch in a text: what a line of it is without its sign, and which lines it takes away.

The form is that of ``diff -u`` and ``git diff`` (POSIX.1-2024, diff, “Diff -u or -U Output Format”): a hunk's head tells how many
lines it has on either side. What is read is the side after the change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Numbered = tuple[int, str]
_HEAD = re.compile(r"@@ -\d{1,9}(?:,(?P<old>\d{1,9}))? \+\d{1,9}(?:,(?P<new>\d{1,9}))? @@", re.A)
_FILE = re.compile(
    r"(?:diff --git a/|index [0-9a-f]{7,40}\.\.[0-9a-f]{7,40}|--- (?:a/|/dev/null)|(?:new|deleted) file mode )", re.A
)
_FENCE = re.compile(r"[ ]{0,3}```[ ]?(?:diff|patch)[ ]*$", re.A)


def after_change(lines: Sequence[Numbered]) -> dict[int, str | None]:
    """The lines of patches by their numbers: the sign before each, or None where nothing of it is in the changed file."""
    found: dict[int, str | None] = {}
    old = new = 0  # lines of the hunk that are still to come, on either side
    fenced = False  # in a block that is marked as a patch, which may have no heads
    for number, text in lines:
        sign = text[:1] or " "  # a blank line of the context may have lost its blank on the way
        if (old > 0 or new > 0) and sign in " +-\\":
            old, new = old - (sign in " -"), new - (sign in " +")
            found[number] = None if sign in "-\\" else text[:1]
            continue
        if (
            sign == "+" and found.get(number - 1) is not None and not fenced
        ):  # a line put in by hand, which no head counts
            found[number] = "+"
            continue
        old = new = 0
        if head := _HEAD.match(text):
            old, new = int(head["old"] or 1), int(head["new"] or 1)
            found[number] = None
        elif _FILE.match(text):
            found[number] = None
        elif text.lstrip().startswith("```"):
            fenced = bool(_FENCE.match(text))
        elif fenced and sign in "+-":
            found[number] = "+" if sign == "+" else None
    return found
