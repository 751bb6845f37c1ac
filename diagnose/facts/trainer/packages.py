"""Which version of each package the run has: what the text gives it, or nothing where the text names several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from diagnose.conditions import parts
from diagnose.facts.sentences.prose import place_of
from diagnose.knowledge.records import Fork, Framework
from diagnose.types import Fact, Facts, Package, Paste

_FOLDER = re.compile(r"/([a-z]{3,12})_v_(\d{1,3}(?:_\d{1,3}){1,2})/", re.A)
_OTHER_NAMES = {"pytorch": "torch", "flash-attention": "flash-attn", "mcore": "megatron-core"}


def plain(name: str) -> str:
    """A package's name as pip compares it, in small letters and with ``-``; by its usual other name as well."""
    word = name.lower().replace("_", "-")
    return _OTHER_NAMES.get(word, word)


def read_versions(paste: Paste) -> dict[str, Fact]:
    """By package. One that is named with two versions was changed or is compared: which of them ran is not known."""
    named: dict[str, list[Package]] = {}
    for package in paste.packages:
        if parts(package.version) and not package.version.endswith(".x"):
            named.setdefault(plain(package.name), []).append(package)
    return {name: _fact(found, paste) for name, found in (_folders(paste) | named).items() if len(_numbers(found)) == 1}


def _folders(paste: Paste) -> dict[str, list[Package]]:
    """The versions for which a traceback's code was written, where its folder names one: third_party/engine/engine_v_0_6_3/."""
    found: dict[str, list[Package]] = {}
    for frame in paste.frames:
        if folder := _FOLDER.search(frame.path):
            found.setdefault(folder[1], []).append(Package(folder[1], folder[2].replace("_", "."), frame.line))
    return found


def _numbers(found: list[Package]) -> set[tuple[int, ...]]:
    """The versions that are not merely a shorter spelling of another: 0.8 beside 0.8.4 is one."""
    numbers = {parts(package.version) for package in found}
    return {one for one in numbers if not any(one != other and other[: len(one)] == one for other in numbers)}


def _fact(found: list[Package], paste: Paste) -> Fact:
    """The longest spelling, and where it stands."""
    package = max(found, key=lambda one: len(parts(one.version)))
    return Fact("", package.version, "read", written=package.version, span=place_of(paste, package.line))


def _of_facts(stated: Mapping[str, Fact]) -> dict[str, str]:
    """The facts that are a version, with their package; an engine goes by the name of its package."""
    engine = stated.get("rollout_engine")
    return {"torch_version": "torch", **({"engine_version": str(engine.value)} if engine else {})}


def with_versions(
    stated: Mapping[str, Fact], paste: Paste, framework: Framework | None, fork: Fork | None
) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """The facts with those that are a package's version, and the versions by package; what is certain already stays.

    A framework's own version stands under its id, and not where another trainer froze it.
    """
    facts, versions = dict(stated), read_versions(paste)
    for id, package in _of_facts(stated).items():
        known = stated.get(id)
        if package in versions and not (known and known.certain):
            facts[id] = replace(versions[package], id=id)
        if id in facts:
            versions[package] = facts[id]
    if framework is not None:
        versions.pop(plain(framework.package), None)
        if "framework_version" in facts and fork is None:
            versions[framework.slug] = facts["framework_version"]
    return facts, versions


def version_fact(package: str, facts: Facts) -> str:
    """The fact that is this package's version in this run; "" where none is."""
    if facts.framework is not None and package == facts.framework.slug:
        return "framework_version"
    return next((id for id, name in _of_facts(facts.stated).items() if name == package), "")
