"""An object that a program prints with all that it was made of, one value in each row: a table of settings, and no words.

Forms: huggingface/transformers src/transformers/training_args.py (TrainingArguments.__str__), Textualize/rich rich/pretty.py (pprint), as
allenai/open-instruct@e6c3044aa open_instruct/grpo_fast.py prints its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from diagnose.types import Line

_OPENS = re.compile(r"[^=(){}\n]{0,200}\b[A-Z]\w{1,80}\($", re.A)  # what is assigned or handed on is code
_ENTRY = re.compile(r"\s*(?:[A-Za-z_]\w{0,80}=\S|['\"\d\[{(<])", re.A)
_CLOSES = re.compile(r"\s*[\])}]{1,8},?$", re.A)
_FEW = 3  # rows


def printed_objects(lines: Sequence[Line]) -> Set[int]:
    """The numbers of the lines between an object's name and its end."""
    found: set[int] = set()
    run: list[int] | None = None
    for line in lines:
        words = line.words.rstrip()
        if run is not None and (_ENTRY.match(words) or _CLOSES.match(words)):
            run.append(line.number)
            continue
        if run is not None and len(run) >= _FEW:
            found.update(run)
        run = [] if words.endswith("(") and _OPENS.match(words) else None
    if run is not None and len(run) >= _FEW:
        found.update(run)
    return found
