"""How a key may be spelled: alike whatever dashes it has, by an alias, by the last parts of its path, or below a longer path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from diagnose.knowledge.records import Framework

# A name → the places among a framework's keys of those that it may mean.
Places = Mapping[str, set[int]]
# A path that merely ends like a framework's key is that key only if this many parts agree.
_SUFFIX_PARTS = 3


@lru_cache(maxsize=4096)
def normal(key: str) -> str:
    """A key as it is compared: argument parsers take dashes and underscores alike."""
    return key.strip().lstrip("-+").replace("-", "_").lower()


@lru_cache(maxsize=128)
def places(framework: Framework) -> tuple[Places, Places]:
    """Which of the framework's keys are spelled so, and which end so behind the head of their path."""
    spelled: dict[str, set[int]] = defaultdict(set)
    below: dict[str, set[int]] = defaultdict(set)
    for place, key in enumerate(framework.keys):
        for name in (normal(spelling) for spelling in (key.key, *key.aliases)):
            spelled[name].add(place)
            for end in _ends(name):
                below[end].add(place)
    return dict(spelled), dict(below)


def _ends(name: str) -> list[str]:
    """``b.c`` and ``c`` of ``a.b.c``."""
    parts = name.split(".")
    return [".".join(parts[i:]) for i in range(1, len(parts))]


def deeper(word: str, spelled: Places, below: Places) -> list[int]:
    """The places of keys that the word is the end of, and of long keys that are the end of the word."""
    long = (end for end in _ends(word) if end.count(".") + 1 >= _SUFFIX_PARTS)
    return sorted(below.get(word, set()).union(*(spelled.get(end, ()) for end in long)))
