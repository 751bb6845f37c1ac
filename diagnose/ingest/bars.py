"""Progress bars: what a bar shows behind its pace is measured, and no setting."""

from __future__ import annotations

import re

# tqdm 4.67 std.py: format_meter writes [elapsed<remaining, rate, postfix]
_FIGURES = re.compile(r"(?<=%\|)[^|\n]{0,300}\|[^\[\n]{0,40}\[[\d:?]{1,12}<[\d:?]{1,12},[^\]\n]{0,2000}", re.A)


def without_figures(words: str) -> str:
    """A line without the figures of its bars, in the same columns."""
    return _FIGURES.sub(lambda found: " " * len(found[0]), words) if "%|" in words else words
