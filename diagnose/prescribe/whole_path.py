"""The whole path of a key that a printed configuration shows without its head, since the log is cut there."""

from __future__ import annotations

from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.records import Key
from diagnose.prescribe.situation import Situation
from diagnose.types import Fact


def whole_path(read: Fact, key: Key, situation: Situation) -> str:
    """The key as it was read, or its whole path where an override takes no other: one of a dump whose outer brackets are cut away."""
    framework = situation.facts.framework
    if (
        framework is None
        or framework.config_shape != "override"
        or not normal(key.key).endswith(f".{normal(read.key)}")
    ):
        return read.key
    dumped = any(one.span == read.span and one.shape == "json" for one in situation.paste.settings)
    return key.key if dumped else read.key
