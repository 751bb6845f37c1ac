"""``python -m diagnose.knowledge.check [folder]``: every word of every record against the vocabulary and against each other."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose import vocabulary
from diagnose.conditions import OPERATORS, version
from diagnose.knowledge.check_advisory import check_advisory
from diagnose.knowledge.check_dataset import check_datasets
from diagnose.knowledge.check_log import check_log
from diagnose.knowledge.check_pattern import product_misfits, repeats_a_repeat
from diagnose.knowledge.loader import Problem, did_you_mean
from diagnose.knowledge.records import Case, Fix, Fork, Framework, Key, Lever, Question, Signature

if TYPE_CHECKING:
    from diagnose.knowledge import Knowledge

_CASE_SECTIONS = ("Symptom", "Why it ran out", "What was tried", "What worked", "Evidence")


def cross_check(knowledge: Knowledge) -> list[Problem]:
    """Everything in ``knowledge`` that names a word nobody defines, or that contradicts another record."""
    problems: list[Problem] = []
    for framework in knowledge.frameworks.values():
        problems += _framework(framework)
    for signature in knowledge.signatures.values():
        problems += _signature(signature)
    for log in knowledge.logs.values():
        problems += check_log(log)
    for lever in knowledge.levers.values():
        problems += _lever(lever)
    for advisory in knowledge.advisories.values():
        problems += check_advisory(advisory, knowledge)
        problems += _conditions(f"advisories/{advisory.slug}.md", "when", advisory.when)
    for case in knowledge.cases.values():
        problems += check_case(case, knowledge)
    for question in knowledge.questions.values():
        problems += _question(question)
    problems += _aliases("gpus", knowledge.gpus) + _aliases("models", knowledge.models)
    problems += [*_aliases("datasets", knowledge.datasets), *check_datasets(knowledge.datasets)]
    problems += _fork_ids(knowledge)
    if sum(framework.fallback for framework in knowledge.frameworks.values()) > 1:
        problems.append(Problem("frameworks", "more than one has fallback = true: keep one"))
    return problems


def check_case(case: Case, knowledge: Knowledge) -> list[Problem]:
    """Everything in one case that does not fit the vocabulary, the levers or the fixed sections."""
    place = f"cases/{case.slug}.md"
    problems = list(_facts(place, "facts", case.facts))
    for i, fix in enumerate(case.fixes):
        if fix.lever not in knowledge.levers:
            problems.append(
                Problem(f"{place}: fix[{i}].lever", f"unknown lever{did_you_mean(fix.lever, knowledge.levers)}")
            )
        problems += _facts(place, f"fix[{i}].facts", fix.facts)
        problems += _named(place, f"fix[{i}].advisory", fix, knowledge)
        problems += _word(place, f"fix[{i}].by", fix.by, ("reporter", "maintainer", "other"))
    for i, claim in enumerate(case.claims):
        problems += _word(
            place, f"claim[{i}].verdict", claim.verdict, ("confirmed", "contradicted", "without_ground", "suggested")
        )
    headings = re.findall(r"^## (.+?)\s*$", case.body, flags=re.M)
    if headings != [section for section in _CASE_SECTIONS if section in headings] or not headings:
        problems.append(
            Problem(
                f"{place}: body", f"has the sections {headings}, must be these in this order: {list(_CASE_SECTIONS)}"
            )
        )
    return problems


def _named(place: str, where: str, fix: Fix, knowledge: Knowledge) -> Iterator[Problem]:
    """The advisory of a fix is a record, and of the same kind of move."""
    if not fix.advisory:
        return
    yield from _word(place, where, fix.advisory, knowledge.advisories)
    advisory = knowledge.advisories.get(fix.advisory)
    if advisory and advisory.lever != fix.lever:
        yield Problem(f"{place}: {where}", f"moves by {advisory.lever}, the fix by {fix.lever}: make them one")


def _framework(framework: Framework) -> Iterator[Problem]:
    place = f"frameworks/{framework.slug}.md"
    for i, key in enumerate(framework.keys):
        yield from _key(place, f"key[{i}]", key)
    for i, default in enumerate(framework.defaults):
        yield from _facts(place, f"default[{i}].facts", default.facts)
        yield from _conditions(place, f"default[{i}].when", default.when)
        if default.fork:
            yield from _word(place, f"default[{i}].fork", default.fork, [fork.id for fork in framework.forks])
    for i, resident in enumerate(framework.residents):
        yield from _word(place, f"resident[{i}].what", resident.what, vocabulary.RESIDENTS)
        yield from _word(place, f"resident[{i}].pool", resident.pool, ("gpu", "host"))
        yield from _conditions(place, f"resident[{i}].when", resident.when)
        for phase in resident.phases:
            yield from _word(place, f"resident[{i}].phases", phase, vocabulary.PHASES)
    for i, behaviour in enumerate(framework.behaviours):
        yield from _does(place, f"behaviour[{i}].does", behaviour.does)
        yield from _conditions(place, f"behaviour[{i}].when", behaviour.when)
    for phase in (*framework.phases, *(frame.phase for frame in framework.frames)):
        yield from _word(place, "phases", phase, vocabulary.PHASES)
    for i, example in enumerate(framework.examples):
        yield from _facts(place, f"example[{i}].facts", example.facts)
    for fork in framework.forks:
        yield from _fork(place, fork, framework)
    yield from _releases(place, framework)


def _fork(place: str, fork: Fork, framework: Framework) -> Iterator[Problem]:
    yield from _facts(place, f"fork {fork.id}.facts", fork.facts)
    yield from _does(place, f"fork {fork.id}.does", fork.does)
    if fork.version and fork.version not in framework.releases:
        known = did_you_mean(fork.version, framework.releases)
        yield Problem(f"{place}: fork {fork.id}.version", f"no release of {framework.title}{known}")


def _releases(place: str, framework: Framework) -> Iterator[Problem]:
    """The releases stand oldest first, and what tells a version names one of them."""
    numbers = [version(release) for release in framework.releases]
    if numbers != sorted(numbers):
        yield Problem(f"{place}: releases", "are out of order: write the oldest first")
    for i, mark in enumerate(framework.marks):
        if not (mark.since or mark.until):
            yield Problem(f"{place}: mark[{i}]", f"“{mark.literal}” tells nothing: give since or until")
    for i, code in enumerate(framework.code):
        for release, lines in code.at.items():
            if release not in framework.releases:
                yield Problem(f"{place}: code[{i}].at", f"unknown release{did_you_mean(release, framework.releases)}")
            if len(lines) != 2 or lines[0] > lines[1]:
                yield Problem(f"{place}: code[{i}].at.{release}", f"is {list(lines)}, must be [first line, last line]")


def _fork_ids(knowledge: Knowledge) -> list[Problem]:
    """A fork's id is its own: no other fork and no framework has it."""
    seen = {slug: f"frameworks/{slug}.md" for slug in knowledge.frameworks}
    problems = []
    for framework in knowledge.frameworks.values():
        for fork in framework.forks:
            if fork.id in seen:
                place = f"frameworks/{framework.slug}.md: fork"
                problems.append(Problem(place, f"“{fork.id}” stands in {seen[fork.id]} too: keep it in one"))
            seen[fork.id] = f"frameworks/{framework.slug}.md"
    return problems


def _does(place: str, where: str, does: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in does.items():
        yield from _word(place, where, name, vocabulary.BEHAVIOURS)
        options = vocabulary.BEHAVIOURS.get(name, ("", ()))[1]
        if options:
            yield from _word(place, f"{where}.{name}", str(value), options)
        elif isinstance(value, (str, bool)):
            yield Problem(f"{place}: {where}.{name}", f"is {value!r}, must be a number")


def _key(place: str, where: str, key: Key) -> Iterator[Problem]:
    if bool(key.fact) + bool(key.values) + bool(key.note) != 1 and not key.dead:
        yield Problem(f"{place}: {where}", f"“{key.key}” must have either a fact or a table of values, or a note")
    if key.fact:
        yield from _word(place, f"{where}.fact", key.fact, vocabulary.FACTS)
    yield from _unit(place, f"{where}.unit", key.unit)
    for misfit in product_misfits(key.product):
        yield Problem(f"{place}: {where}.product", misfit)
    if key.new_in:
        yield from _word(place, f"{where}.new_in", key.new_in, ("command", "nowhere"))
    for written, facts in key.values.items():
        yield from _facts(place, f"{where}.values.{written}", facts)
    yield from _conditions(place, f"{where}.when", key.when)


def _signature(signature: Signature) -> Iterator[Problem]:
    place = f"signatures/{signature.slug}.md"
    yield from _word(place, "kind", signature.kind, vocabulary.KINDS)
    if signature.phase:
        yield from _word(place, "phase", signature.phase, vocabulary.PHASES)
    for literal in (*signature.unless, *(one for alternative in signature.literals for one in alternative)):
        if literal != literal.lower():
            yield Problem(
                f"{place}: literals", f"“{literal}” has capitals: write it in lower case, as the text is compared"
            )
    groups = {name for pattern in signature.patterns for name in pattern.groupindex}
    yield from _facts(place, "gives", signature.gives)
    for group, capture in signature.captures.items():
        yield from _word(place, f"captures.{group}.fact", capture.fact, vocabulary.FACTS)
        if group not in groups:
            yield Problem(f"{place}: captures.{group}", "no pattern has a group of this name")
    for i, pattern in enumerate(signature.patterns):
        if repeats_a_repeat(pattern.pattern):
            yield Problem(
                f"{place}: patterns[{i}]", "repeats a group that repeats: it can hang on a long line, rewrite it"
            )
    if not any(example.matches for example in signature.examples):
        yield Problem(f"{place}: example", "none that matches: add one")


def _lever(lever: Lever) -> Iterator[Problem]:
    place = f"levers/{lever.slug}.md"
    for i, change in enumerate(lever.changes):
        yield from _word(place, f"change[{i}].fact", change.fact, vocabulary.FACTS)
        yield from _word(place, f"change[{i}].op", change.op, ("scale", "set", "step"))
        needed = change.to if change.op == "set" else change.by
        if needed is None:
            yield Problem(f"{place}: change[{i}]", f"op “{change.op}” needs “{'to' if change.op == 'set' else 'by'}”")
    for pool in lever.pools:
        yield from _word(place, "pools", pool, ("gpu", "host"))
    yield from _word(place, "results", lever.results, ("same", "may_change"))
    yield from _conditions(place, "when", lever.when)
    yield from _conditions(place, "on", lever.on)
    for i, rank in enumerate(lever.ranks):
        yield from _conditions(place, f"rank[{i}].when", rank.when, {**vocabulary.FACTS, **vocabulary.SIGNS})
    if lever.only_ranked and not lever.ranks:
        yield Problem(f"{place}: only_ranked", "no rank can hold: add one, or take it out")


def _question(question: Question) -> Iterator[Problem]:
    place = f"questions/{question.slug}.md"
    yield from _word(place, "fact", question.fact, vocabulary.FACTS)
    for i, option in enumerate(question.options):
        spec = vocabulary.FACTS.get(question.fact)
        if spec and spec.options:
            yield from _word(place, f"option[{i}].value", option.value, dict(spec.options))


def _aliases(kind: str, records: Mapping[str, Any]) -> list[Problem]:
    seen: dict[str, str] = {}
    problems = []
    for slug, record in records.items():
        for alias in {record.title.lower(), *(alias.lower() for alias in record.aliases)}:
            if alias in seen:
                problems.append(
                    Problem(f"{kind}/{slug}.md: aliases", f"“{alias}” belongs to {seen[alias]} too: keep it in one")
                )
            seen[alias] = slug
    return problems


def _word(place: str, where: str, word: str, words: Iterable[str]) -> Iterator[Problem]:
    known = list(words)
    if word not in known:
        yield Problem(f"{place}: {where}", f"unknown word{did_you_mean(word, known)}")


def _unit(place: str, where: str, unit: str) -> Iterator[Problem]:
    if unit:
        yield from _word(place, where, unit, vocabulary.BATCH_UNITS)


def _facts(place: str, where: str, facts: Mapping[str, Any]) -> Iterator[Problem]:
    types: dict[str, tuple[type, ...]] = {
        "int": (int,),
        "number": (int, float),
        "bool": (bool,),
        "text": (str,),
        "choice": (str, bool),
    }
    for id, value in facts.items():
        spec = vocabulary.FACTS.get(id)
        if spec is None:
            yield Problem(f"{place}: {where}", f"unknown fact{did_you_mean(id, vocabulary.FACTS)}")
        elif not isinstance(value, types[spec.type]) or (isinstance(value, bool) and spec.type in ("int", "number")):
            yield Problem(f"{place}: {where}.{id}", f"is {value!r}, must be of type {spec.type}")
        elif spec.options and str(value).lower() not in dict(spec.options):
            yield from _word(place, f"{where}.{id}", str(value), dict(spec.options))


def _conditions(
    place: str, where: str, conditions: Mapping[str, Any], words: Iterable[str] = vocabulary.FACTS
) -> Iterator[Problem]:
    for id, test in conditions.items():
        yield from _word(place, where, id, words)
        if isinstance(test, Mapping):
            for operator in test:
                yield from _word(place, f"{where}.{id}", operator, OPERATORS)


def main(folder: Path) -> int:
    """Prints every misfit; 0 when there is none."""
    from diagnose.knowledge import Knowledge, read_content

    records, problems, _ = read_content(folder)
    problems += cross_check(Knowledge(**records))  # type: ignore[arg-type]
    for problem in problems:
        print(problem)
    total = sum(len(kind) for kind in records.values())
    print(f"{total} records, {len(problems)} problems" if problems else f"{total} records, all fit")
    return 1 if problems else 0


if __name__ == "__main__":
    from diagnose.knowledge import CONTENT

    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else CONTENT))
