"""What the editor of a new page begins with."""

from __future__ import annotations

from django.utils import timezone

from kb.models import Document

_CASE = """+++
title = ""
reviewed = {today}
sources = [
  "",
]
summary = ""

[facts]
oom_kind = "gpu_oom"
+++
## Symptom

## Why it ran out

## What was tried

## What worked

## Evidence
"""
_GUIDE = """+++
title = ""
reviewed = {today}
sources = [
  "",
]
summary = ""
+++
"""

# What the form has no fields for, as the editor shows it.
BLOCKS = """[[fix]]
lever = "batch.micro.down"
detail = "micro batch 4 to 1"
by = "reporter"
worked = true

[[claim]]
text = "The logits filled the card."
verdict = "confirmed"
ground = "The traceback ends in log_softmax."
"""


def text(kind: str) -> str:
    """The empty form of a case or a guide, as a document; nothing for a note."""
    today = timezone.localdate().isoformat()
    return {Document.CASES: _CASE, Document.GUIDES: _GUIDE}.get(kind, "").format(today=today)
