"""Cards that a configuration gives to each role by their numbers, as ``actor_infer.device_mapping: list(range(8,16))``.

(alibaba/ROLL v0.3.0 roll/configs/worker_config.py: device_mapping; pipeline/agentic/agentic_pipeline.py: _validate_partial_gpu_config)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.facts.settings.spelling import normal
from diagnose.types import Fact, Paste, Setting

_MAPPED = re.compile(r"(?:^|\.)(?P<role>[a-z]\w{0,40})(?:\.\w{1,40})?\.device_mapping$", re.A)
_PART = re.compile(
    r"\s*(?:list\(\s*)?range\(\s*(?:(?P<first>\d{1,6})\s*,\s*)?(?P<end>\d{1,6})\s*(?:,\s*(?P<step>[1-9]\d{0,5})\s*)?\)\s*\)?\s*"
    r"|\s*\[(?P<listed>[\d,\s]{1,4000})\]\s*",
    re.A,
)
_TRAINS, _SAMPLES = "actor_train", "actor_infer"
# as configurations name the other roles, and as facts do
_OTHERS = {"critic": "critic", "reference": "ref", "reward": "reward"}
_MOST = 100_000


def mapped_cards(paste: Paste) -> dict[str, Fact]:
    """The cards of the whole run, where two roles or more are told theirs."""
    roles = _roles(paste)
    if len(roles) < 2:
        return {}
    count = len(frozenset.union(*(cards for cards, _ in roles.values())))
    return {"n_gpus": Fact("n_gpus", count, "derived", why="all cards that a role is given")}


def engine_place(paste: Paste) -> Fact | None:
    """Whether the engine has cards on which nothing trains, or shares some with the trainer."""
    roles = _roles(paste)
    if _TRAINS not in roles or _SAMPLES not in roles:
        return None
    cards, setting = roles[_SAMPLES]
    apart = cards.isdisjoint(roles[_TRAINS][0])
    value, why = ("server", "no card trains as well") if apart else ("colocated", "some of its cards train as well")
    return _told("rollout_mode", value, setting, why)


def role_places(paste: Paste) -> Iterator[Fact]:
    """Whether a critic, a reference or a reward model has cards that no other role has, and how many; else it is with the trainer."""
    roles = _roles(paste)
    if _TRAINS not in roles:
        return
    for role, id in _OTHERS.items():
        if role not in roles:
            continue
        cards, setting = roles[role]
        others = frozenset[int]().union(*(theirs for name, (theirs, _) in roles.items() if name != role))
        if cards.isdisjoint(others):
            yield _told(f"{id}_place", "own", setting, "no other role has its cards")
            yield _told(f"{id}_gpus", len(cards), setting, "the cards that it is given")
        elif cards <= roles[_TRAINS][0]:
            yield _told(f"{id}_place", "actor", setting, "the trainer has its cards as well")


def _told(id: str, value: str | int, setting: Setting, why: str) -> Fact:
    return Fact(id, value, "derived", "", "", setting.value, setting.span, why=why)


def _roles(paste: Paste) -> dict[str, tuple[frozenset[int], Setting]]:
    found: dict[str, tuple[frozenset[int], Setting]] = {}
    for setting in paste.settings:
        mapped = _MAPPED.search(normal(setting.key))
        if mapped and (cards := _numbers(setting.value)):
            found[mapped["role"]] = cards, setting
    return found


def _numbers(value: str) -> frozenset[int]:
    """The cards of ``list(range(0,8)) + list(range(16,24))`` or ``[0,1,2]``; none where a part is something else."""
    numbers: set[int] = set()
    for part in value.strip("\"' ").split("+"):
        found = _PART.fullmatch(part)
        if found is None:
            return frozenset()
        if found["listed"]:
            numbers |= {int(number) for number in re.findall(r"\d{1,6}", found["listed"], re.A)}
        elif int(found["end"]) <= _MOST:
            numbers |= set(range(int(found["first"] or 0), int(found["end"]), int(found["step"] or 1)))
    return frozenset(numbers)
