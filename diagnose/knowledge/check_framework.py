"""What must hold for a framework file beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnose import vocabulary
from diagnose.conditions import version
from diagnose.knowledge.check_pattern import product_misfits
from diagnose.knowledge.check_words import condition_misfits, fact_misfits, word_misfits
from diagnose.knowledge.frameworks import Fork, Framework, Key, Part
from diagnose.knowledge.loader import Problem, did_you_mean
from diagnose.knowledge.parts import check_parts, files_of, place_of


def check_framework(framework: Framework) -> Iterator[Problem]:
    for file in files_of(framework):
        yield from _rows(place_of(file), file, framework)
    place = place_of(framework)
    for phase in framework.phases:
        yield from word_misfits(place, "phases", phase, vocabulary.PHASES)
    numbers = [version(release) for release in framework.releases]
    if numbers != sorted(numbers):
        yield Problem(f"{place}: releases", "are out of order: write the oldest first")
    if framework.releases and framework.newest and version(framework.newest) != numbers[-1]:
        last = list(framework.releases)[-1]
        yield Problem(f"{place}: newest", f"is {framework.newest} while releases end with {last}: read that one, too")
    yield from check_parts(framework)


def _rows(place: str, file: Part, framework: Framework) -> Iterator[Problem]:
    """The rows of one file, of a framework that may stand in several."""
    for i, key in enumerate(file.keys):
        yield from _key(place, f"key[{i}]", key)
    yield from _refused(place, file, framework)
    for i, default in enumerate(file.defaults):
        yield from fact_misfits(place, f"default[{i}].facts", default.facts)
        yield from condition_misfits(place, f"default[{i}].when", default.when)
        if default.fork:
            yield from word_misfits(place, f"default[{i}].fork", default.fork, [fork.id for fork in framework.forks])
    for i, resident in enumerate(file.residents):
        yield from word_misfits(place, f"resident[{i}].what", resident.what, vocabulary.RESIDENTS)
        yield from word_misfits(place, f"resident[{i}].pool", resident.pool, ("gpu", "host"))
        yield from condition_misfits(place, f"resident[{i}].when", resident.when)
        for phase in resident.phases:
            yield from word_misfits(place, f"resident[{i}].phases", phase, vocabulary.PHASES)
    for i, behaviour in enumerate(file.behaviours):
        yield from _does(place, f"behaviour[{i}].does", behaviour.does)
        yield from condition_misfits(place, f"behaviour[{i}].when", behaviour.when)
    for i, frame in enumerate(file.frames):
        yield from word_misfits(place, f"frame[{i}].phase", frame.phase, vocabulary.PHASES)
    for i, example in enumerate(file.examples):
        yield from fact_misfits(place, f"example[{i}].facts", example.facts)
    for fork in file.forks:
        yield from _fork(place, fork, framework)
    yield from _versions(place, file, framework)


def _refused(place: str, file: Part, framework: Framework) -> Iterator[Problem]:
    """What some programs do not take, and what none takes together."""
    for i, scope in enumerate(file.scopes):
        yield from condition_misfits(place, f"scope[{i}].when", scope.when)
        for head in scope.keys:
            if not any(key.key.startswith(head) for key in framework.keys):
                yield Problem(f"{place}: scope[{i}].keys", f"no key begins with “{head}”")
    for i, clash in enumerate(file.clashes):
        yield from condition_misfits(place, f"clash[{i}].when", clash.when)
        if len(clash.when) < 2:
            yield Problem(f"{place}: clash[{i}].when", f"names {len(clash.when)} fact: give the key a when instead")
    for i, lack in enumerate(file.lacks):
        yield from condition_misfits(place, f"lack[{i}].when", lack.when)
    for i, tie in enumerate(file.ties):
        yield from condition_misfits(place, f"tie[{i}].when", tie.when)
        for name in tie.keys:
            yield from word_misfits(place, f"tie[{i}].keys", name, [key.key for key in framework.keys])


def _fork(place: str, fork: Fork, framework: Framework) -> Iterator[Problem]:
    yield from fact_misfits(place, f"fork {fork.id}.facts", fork.facts)
    for id in fork.fixed:
        yield from word_misfits(place, f"fork {fork.id}.fixed", id, vocabulary.FACTS)
    yield from _does(place, f"fork {fork.id}.does", fork.does)
    for release, does in fork.before.items():
        yield from _does(place, f"fork {fork.id}.before.{release}", does)
    if fork.version and fork.version not in framework.releases:
        known = did_you_mean(fork.version, framework.releases)
        yield Problem(f"{place}: fork {fork.id}.version", f"no release of {framework.title}{known}")


def _versions(place: str, file: Part, framework: Framework) -> Iterator[Problem]:
    """What tells a version names one of the releases."""
    for i, mark in enumerate(file.marks):
        if not (mark.since or mark.until):
            yield Problem(f"{place}: mark[{i}]", f"“{mark.literal}” tells nothing: give since or until")
    for i, code in enumerate(file.code):
        for release, lines in code.at.items():
            if release not in framework.releases:
                yield Problem(f"{place}: code[{i}].at", f"unknown release{did_you_mean(release, framework.releases)}")
            if len(lines) != 2 or lines[0] > lines[1]:
                yield Problem(f"{place}: code[{i}].at.{release}", f"is {list(lines)}, must be [first line, last line]")


def check_fork_ids(frameworks: Mapping[str, Framework]) -> Iterator[Problem]:
    """A fork's id is its own: no other fork and no framework has it."""
    seen = {slug: f"frameworks/{slug}.md" for slug in frameworks}
    for file in (file for framework in frameworks.values() for file in files_of(framework)):
        for fork in file.forks:
            if fork.id in seen:
                yield Problem(f"{place_of(file)}: fork", f"“{fork.id}” stands in {seen[fork.id]} too: keep it in one")
            seen[fork.id] = place_of(file)


def _does(place: str, where: str, does: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in does.items():
        yield from word_misfits(place, where, name, vocabulary.BEHAVIOURS)
        options = vocabulary.BEHAVIOURS.get(name, ("", ()))[1]
        if options:
            yield from word_misfits(place, f"{where}.{name}", str(value), options)
        elif isinstance(value, (str, bool)):
            yield Problem(f"{place}: {where}.{name}", f"is {value!r}, must be a number")


def _key(place: str, where: str, key: Key) -> Iterator[Problem]:
    if bool(key.fact) + bool(key.values) + bool(key.note) != 1 and not key.dead:
        yield Problem(f"{place}: {where}", f"“{key.key}” must have either a fact or a table of values, or a note")
    if key.fact:
        yield from word_misfits(place, f"{where}.fact", key.fact, vocabulary.FACTS)
    yield from _unit(place, f"{where}.unit", key.unit)
    for misfit in product_misfits(key.product, key.part):
        yield Problem(f"{place}: {where}.product", misfit)
    if key.new_in:
        yield from word_misfits(
            place, f"{where}.new_in", key.new_in, ("command", "file", "nowhere", "script", "server")
        )
    for written in key.call:
        yield from word_misfits(place, f"{where}.call", written, tuple(key.values or ("true", "false")))
    for written, facts in key.values.items():
        yield from fact_misfits(place, f"{where}.values.{written}", facts)
    for written in key.along:
        yield from word_misfits(place, f"{where}.along", written, ("*", *(key.values or ("true", "false"))))
    for name, fact in key.alike.items():
        if fact:
            yield from word_misfits(place, f"{where}.alike.{name}", fact, vocabulary.FACTS)
    yield from condition_misfits(place, f"{where}.when", key.when)


def _unit(place: str, where: str, unit: str) -> Iterator[Problem]:
    if unit:
        yield from word_misfits(place, where, unit, vocabulary.BATCH_UNITS)
