"""The older path of a key, where the paste writes the older paths of the keys beside it."""

from __future__ import annotations

from diagnose.knowledge.records import Key
from diagnose.prescribe.situation import Situation


def older_path(key: Key, situation: Situation) -> str:
    """The alias of a key in the section that the paste has in the place of the key's own; empty where it has none or both."""
    framework = situation.facts.framework
    others = [alias for alias in key.aliases if "." in alias]
    pasted = {one.key for one in situation.paste.settings}
    if framework is None or not others or "." not in key.key:
        return ""
    for like in framework.keys:
        head = like.key.rpartition(".")[0] + "."
        if len(head) == 1 or not key.key.startswith(head) or any(name.startswith(head) for name in pasted):
            continue
        for alias in like.aliases:
            older = alias.rpartition(".")[0] + "."
            moved = older + key.key.removeprefix(head)
            if alias in pasted and older not in (head, ".") and moved in others:
                return moved
    return ""
