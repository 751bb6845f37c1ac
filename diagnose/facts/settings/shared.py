"""Sizes that roles in one process share: where the settings of two roles differ, that of the first that is made is in force for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diagnose.conditions import in_range
from diagnose.facts.settings.key_values import facts_of
from diagnose.facts.settings.keys import KeyFacts
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge.frameworks import Key
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Paste, Setting


def with_shared(
    keyed: KeyFacts, paste: Paste, framework: Framework, version: str | None, sure: Mapping[str, Fact]
) -> KeyFacts:
    """The facts with the size that is in force, and a remark for each setting of another role that is not."""
    stated, remarks = dict(keyed.stated), list(keyed.remarks)
    for key in framework.keys:
        own = stated.get(key.fact)
        if own is None or normal(own.key) not in {normal(name) for name in (key.key, *key.aliases)}:
            continue
        for name, present in key.alike.items():
            there = _pasted(paste, name)
            absent = present and {**sure, **stated}.get(present, _UNTOLD).value is False
            if there is None or absent or (other := _told(key, there)) is None or other.value == own.value:
                continue
            first = key.leads.get(name)
            if first is not None and version is not None and in_range(first, "", version):
                own, other = other, own
            stated[key.fact] = own
            remarks.append(
                f"{other.key} {other.written} is not in force beside {own.key} {own.written}: models that share a process have one set of "
                f"parallel groups, and the first that is made sets it. {own.written} is counted for both."
            )
    return replace(keyed, stated=stated, remarks=tuple(dict.fromkeys(remarks)))


_UNTOLD = Fact("has_critic", "", "assumed")


def _pasted(paste: Paste, name: str) -> Setting | None:
    """The last setting of this key, as it is spelled in whole."""
    return next((one for one in reversed(paste.settings) if normal(one.key) == normal(name)), None)


def _told(key: Key, there: Setting) -> Fact | None:
    value = facts_of(key, there.value).get(key.fact)
    return None if value is None else Fact(key.fact, value, "read", key.unit, there.key, there.value, there.span)
