"""Which version of the framework: named, frozen by a fork, or bounded by keys, literals, line numbers and days.

A bound is told as one release inside it, since that is what conditions and ranges compare; ``why`` says what bounds it. Bounded on both
sides it is the middle one, from which the fewest releases differ; bounded above alone the newest, since most people run what is new.
A lower bound alone tells nothing: an unknown version counts as the newest anyway.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from diagnose.conditions import holds, version
from diagnose.facts.hardware.cards import aside
from diagnose.facts.sentences.prose import asked, clause_of, place_of
from diagnose.facts.settings.answered_version import of_day
from diagnose.facts.settings.spelling import normal
from diagnose.facts.trainer.framework import loose
from diagnose.knowledge.records import Behaviour, Default, Fork, Framework, Resident
from diagnose.types import Fact, Package, Paste, Span
from diagnose.vocabulary import Origin

_NUMBER = r"v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:\.?(?:(?:post|rc|dev)\d{0,8}|[ab]\d{1,3}))?)(?![\w%]|\.\d)"
_SAYS = r"(?:[ \t_]{0,2}[(（]?(?:version|ver\.?|release|tag|main|的?版本|[用装]?的)?[ \t]{0,2}[:=：是为@(（]{0,2}[ \t]{0,2})"
# a share, a size or a span of time, with what it counts behind it
_NO_VERSION = (
    r"(?!\s*(?:gpu[ _-]?|vllm[ _-]?)?(?:mem\w*[ _-]?)?(?:util|frac|share|ratio|gmu\b)|\s*的?(?:显存|利用率|占比|比例)"
    r"|\s*(?:s|sec\w*|ms|it|its|iters?|steps?|samples?|tok\w*)\s*/|\s*(?:T?FLOPs?|s|ms)(?![A-Za-z])"
    r"|\s*(?:[x×*]|hours?|days?|min|sec|tokens?|epochs?|GiB|GB)(?![A-Za-z]))"
)
# a day with a time of day behind it is a log's
_DAY = re.compile(r"(?<!\d)(20[12]\d)[-/](\d\d)[-/](\d\d)[ T_,]{1,2}\d\d:\d\d", re.A)


# “0.3 was fine, after upgrading to 0.5 …”: nothing that is advised
_MOVED = re.compile(
    r"(?:升级到|更新到|升到|换到了?"
    r"|\b(?:after|since|having)\s+(?:i\s+|we\s+)?(?:upgrad|updat|mov|switch)\w+\s+(?:it\s+)?to"
    r"|\b(?:i|we)\s+(?:upgraded|updated|moved|switched)\s+(?:it\s+)?to)"
    r"\s*v?(\d+\.\d+(?:\.\d+){0,2})(?![\w.]*\d)",
    re.I | re.A,
)
_NEAR = 120
# of what marks a trainer the names of its classes: “PolicyActor.update in 0.6.2”
_CLASS = re.compile(r"[A-Z][a-z]\w{4,60}", re.A)


@dataclass(frozen=True, slots=True)
class _Bound:
    """since ≤ version < until, and what says so."""

    since: str
    until: str
    why: str


def version_of(framework: Framework | None, fork: Fork | None, paste: Paste, answered: Fact | None) -> Fact | None:
    """The version that was answered or named; else that which a fork froze; else the newest that the text leaves possible."""
    if answered is not None:
        return of_day(answered, framework)
    if framework is None:
        return None
    named = _of_package({framework.package}, paste) or _of_words(framework, paste)
    # an image's tag calls a package by the short name of the trainer: ``owner/image:torch2.8.0-name3.9.1``
    if (named := named or _of_package(_names(framework), paste)) is not None:
        return named
    if fork is not None and fork.version:
        why = f"{fork.title} is built on {framework.title} of this time"
        return Fact("framework_version", fork.version, "derived", why=why)
    sure = _sure(framework, paste)
    likely = [*_of_literals(framework, paste, likely=True), *_of_days(framework, paste)]
    derived = _inside(framework, sure, "derived")
    assumed = _inside(framework, [*sure, *likely], "assumed")
    found = derived if assumed is None or (derived and derived.value == assumed.value) else assumed
    effect = [*_of_effect(framework, paste)] if found else []
    if found is None or all(_allows(bound, str(found.value)) for bound in effect):
        return found
    return _inside(framework, [*sure, *likely, *effect], "assumed") or found


def _sure(framework: Framework, paste: Paste) -> list[_Bound]:
    """What keys, literals and lines of code say for certain; not the lines of a code that contradicts its keys: somebody edited it."""
    written, code = [*_of_keys(framework, paste), *_of_literals(framework, paste)], [*_of_code(framework, paste)]
    return [*written, *code] if _span([*written, *code]) else written


def _span(bounds: Sequence[_Bound]) -> tuple[str, str] | None:
    """From which version on and before which; "" is open. None where the bounds contradict each other."""
    since = max((bound.since for bound in bounds if bound.since), key=version, default="")
    until = min((bound.until for bound in bounds if bound.until), key=version, default="")
    return None if since and until and version(until) <= version(since) else (since, until)


def _of_package(names: Collection[str], paste: Paste) -> Fact | None:
    own = {_plain(name) for name in names if name}
    named = [found for found in paste.packages if _plain(found.name) in own]
    for found in (*(one for one in named if not _elsewhere(paste, one)), *named):
        span = place_of(paste, found.line)
        return Fact("framework_version", found.version, "read", written=found.version, span=span)
    return None


def _elsewhere(paste: Paste, package: Package) -> bool:
    """Whether a sentence says of this version that all went well, or names it beside the run's."""
    line = paste.line(package.line)
    place = re.search(rf"(?<![\w.]){re.escape(package.version)}(?![\w]|\.\d)", line.words, re.A) if line else None
    return bool(line and place and aside(line.words, place))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _of_words(framework: Framework, paste: Paste) -> Fact | None:
    """“… 0.4” or “… v0.3.1” behind one of the framework's names."""
    if not framework.releases:
        return None
    forms = "|".join(loose(name) for name in sorted(_names(framework), key=len, reverse=True))
    said = re.compile(rf"(?<![A-Za-z0-9/_.-])(?:{forms}){_SAYS}{_NUMBER}{_NO_VERSION}", re.I | re.A)
    classes = "|".join(word for word in framework.detect.literals if _CLASS.fullmatch(word))
    method = re.compile(
        rf"\b(?:{classes})(?:\.\w{{1,40}})?(?:\(\))?`? (?:in|of|at|on) v?(\d\.\d{{1,2}}\.\d{{1,2}})(?![\w.]*\d)", re.A
    )
    for line in paste.lines:
        places = list(said.finditer(line.text)) if "." in line.text else []
        places += method.finditer(line.text) if classes and "." in line.text else ()
        if found := next((one for one in places if not aside(line.text, one)), next(iter(places), None)):
            told = _moved_to(line.text, found)
            span = Span(line.number, told.start(1), told.end(1))
            return Fact("framework_version", told[1], "read", written=told[1], span=span)
    return None


def _names(framework: Framework) -> set[str]:
    names = {framework.title, framework.slug, *framework.detect.names}
    return names | {name.rstrip("0123456789").rstrip() for name in names}  # “name 3” is told by the major version


def _moved_to(words: str, found: re.Match[str]) -> re.Match[str]:
    """The version to which the same line says that the trainer was moved, else the one that was found."""
    later = _MOVED.search(words, found.end(), found.end() + _NEAR)
    return later if later and not asked(words, *clause_of(words, later)) else found


def _of_keys(framework: Framework, paste: Paste) -> Iterator[_Bound]:
    """A key that only some versions take: all its entries together, since a range may only mean another sense of it."""
    ranges = _ranges(framework)
    for setting in paste.settings:
        since, until = ranges.get(normal(setting.key), ("", ""))
        if since or until:
            yield _Bound(since, until, setting.key)


def _of_effect(framework: Framework, paste: Paste) -> Iterator[_Bound]:
    """A key that later versions take without effect in some algorithm is likely set where it has one; a named script tells which."""
    idle = {normal(key.key) for key in framework.keys if key.dead and key.when}
    set_to = {word: setting.key for setting in paste.settings if (word := normal(setting.key)) in idle}
    told = (default.facts for default in framework.defaults if default.script and default.script in paste.text)
    values = {id: value for facts in told for id, value in facts.items() if id == "algo"} if set_to else {}
    for word, written in set_to.items() if values else ():
        live = [key for key in framework.keys if normal(key.key) == word and not key.dead]
        since, until = _union([(key.since, key.until) for key in live if holds(key.when, values) is not False])
        if until:
            yield _Bound(since, until, written)


@lru_cache(maxsize=128)
def _ranges(framework: Framework) -> dict[str, tuple[str, str]]:
    """The versions that take a key, by each of its spellings."""
    ranges: dict[str, list[tuple[str, str]]] = {}
    for key in framework.keys:
        for name in (key.key, *key.aliases):
            ranges.setdefault(normal(name), []).append((key.since, key.until))
    return {name: _union(each) for name, each in ranges.items()}


def _union(ranges: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The smallest range that holds all of them; "" is open."""
    sinces, untils = [since for since, _ in ranges], [until for _, until in ranges]
    since = "" if not all(sinces) else min(sinces, key=version, default="")
    return since, "" if not all(untils) else max(untils, key=version, default="")


def _of_literals(framework: Framework, paste: Paste, likely: bool = False) -> Iterator[_Bound]:
    keys = {setting.key for setting in paste.settings}  # whole, where a printed configuration nests their parts
    for mark in framework.marks:
        if mark.likely is not likely:
            continue
        if any(mark.literal in line.text for line in paste.lines) or any(mark.literal in key for key in keys):
            yield _Bound(mark.since, mark.until, f"“{mark.literal}”")


def _of_code(framework: Framework, paste: Paste) -> Iterator[_Bound]:
    """Releases in which the named function held the line that a traceback names."""
    releases = list(framework.releases)
    for frame in paste.frames:
        for code in framework.code:
            if frame.function != code.function or not frame.path.endswith(code.path):
                continue
            inside = [release for release, (first, last) in code.at.items() if first <= frame.source_line <= last]
            if inside:
                after = releases.index(max(inside, key=version)) + 1
                until = releases[after] if after < len(releases) else ""
                yield _Bound(min(inside, key=version), until, f"{code.function} at line {frame.source_line}")


def _of_days(framework: Framework, paste: Paste) -> Iterator[_Bound]:
    """A run of one day cannot use a release of a later one."""
    last = last_day(paste)
    later = [release for release, day in framework.releases.items() if last and day > last]
    if len(later) == len(framework.releases):
        later = later[1:]  # older than all that are known: the oldest of them is the nearest
    if last and later:
        yield _Bound("", later[0], f"the log’s day, {last.isoformat()}")


def last_day(paste: Paste) -> datetime.date | None:
    """The last day that a line of the log bears."""
    lines = (line.text for line in paste.lines if "20" in line.text)
    return max((day for text in lines for found in _DAY.finditer(text) if (day := _day(found))), default=None)


def _day(found: re.Match[str]) -> datetime.date | None:
    try:
        return datetime.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def _inside(framework: Framework, bounds: list[_Bound], origin: Origin) -> Fact | None:
    """A release that every bound allows; nothing when none is bounded above, or they contradict each other."""
    above = [bound for bound in bounds if bound.until]
    if not above:
        return None
    allowed = [release for release in framework.releases if all(_allows(bound, release) for bound in bounds)]
    if not allowed:
        return None
    nearest = min(above, key=lambda bound: version(bound.until))
    below = [bound for bound in bounds if bound.since]
    why = f"before {nearest.until}, by {nearest.why}"
    if not below:
        return Fact("framework_version", allowed[-1], origin, why=why)
    oldest = max(below, key=lambda bound: version(bound.since))
    why = (
        f"since {oldest.since}, by {oldest.why}, and {why}"
        if oldest is not nearest
        else f"{oldest.since} or later, {why}"
    )
    return Fact("framework_version", allowed[len(allowed) // 2], origin, why=why)


def _allows(bound: _Bound, release: str) -> bool:
    number = version(release)
    return (not bound.since or number >= version(bound.since)) and (not bound.until or number < version(bound.until))


def possible(framework: Framework | None, paste: Paste) -> tuple[str, str]:
    """The versions that keys, literals and lines of code leave: from the first on and before the second.

    "" is open, and both are where they contradict each other.
    """
    if framework is None:
        return "", ""
    return _span(_sure(framework, paste)) or ("", "")


def turns(framework: Framework | None, since: str = "", until: str = "", most: int = 3) -> tuple[str, ...]:
    """Releases that show how much hangs on the version, newest first, of those from ``since`` on and before ``until``.

    Of three they are the last before the newest change of the plan, and before those that two thirds and one third of the changes
    precede; of ``most`` as many parts apart.
    """
    if framework is None:
        return ()
    plan: tuple[Default | Resident | Behaviour, ...] = (
        *framework.defaults,
        *framework.residents,
        *framework.behaviours,
    )
    ranges = [(entry.since, entry.until) for entry in plan]
    ranges += [(key.since, key.until) for key in framework.keys if not key.note]
    changes = {bound for bounds in ranges for bound in bounds if bound}
    open_to = [release for release in framework.releases if _allows(_Bound(since, until, ""), release)]
    before = [
        older[-1]
        for change in sorted(changes, key=version)
        if (older := [release for release in open_to if version(release) < version(change)])
    ]
    apart = list(dict.fromkeys(before))
    places = (-1, *(part * len(apart) // most for part in reversed(range(1, most))))
    return tuple(dict.fromkeys(apart[place] for place in places)) if apart else ()
