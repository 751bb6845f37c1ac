"""``python -m diagnose.knowledge.check [folder]``: every word of every record against the vocabulary and against each other."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose import vocabulary
from diagnose.knowledge.check_advisory import check_advisory
from diagnose.knowledge.check_dataset import check_datasets
from diagnose.knowledge.check_framework import check_fork_ids, check_framework
from diagnose.knowledge.check_log import check_log
from diagnose.knowledge.check_pattern import may_hang
from diagnose.knowledge.check_words import condition_misfits, fact_misfits, word_misfits
from diagnose.knowledge.loader import Problem, did_you_mean
from diagnose.knowledge.records import Case, Fix, Lever, Question, Signature

if TYPE_CHECKING:
    from diagnose.knowledge import Knowledge

_CASE_SECTIONS = ("Symptom", "Why it ran out", "What was tried", "What worked", "Evidence")
_LEVER_SECTIONS = ["What it does", "When it helps", "When it does not"]


def cross_check(knowledge: Knowledge) -> list[Problem]:
    """Everything in ``knowledge`` that names a word nobody defines, or that contradicts another record."""
    problems: list[Problem] = []
    for framework in knowledge.frameworks.values():
        problems += check_framework(framework)
    for signature in knowledge.signatures.values():
        problems += _signature(signature)
    for log in knowledge.logs.values():
        problems += check_log(log)
    for lever in knowledge.levers.values():
        problems += [*_lever(lever), *_below(f"levers/{lever.slug}.md", lever.body)]
        if (other := lever.makes_room_for) and other not in knowledge.levers:
            place = f"levers/{lever.slug}.md: makes_room_for"
            problems.append(Problem(place, f"unknown lever{did_you_mean(other, knowledge.levers)}"))
    for advisory in knowledge.advisories.values():
        problems += check_advisory(advisory, knowledge)
        problems += condition_misfits(f"advisories/{advisory.slug}.md", "when", advisory.when)
    problems += _usual(knowledge.signatures.values())
    for case in knowledge.cases.values():
        problems += check_case(case, knowledge)
    for question in knowledge.questions.values():
        problems += _question(question)
    problems += _aliases("gpus", knowledge.gpus) + _aliases("models", knowledge.models)
    problems += [*_aliases("datasets", knowledge.datasets), *check_datasets(knowledge.datasets)]
    problems += check_fork_ids(knowledge.frameworks)
    if sum(framework.fallback for framework in knowledge.frameworks.values()) > 1:
        problems.append(Problem("frameworks", "more than one has fallback = true: keep one"))
    return problems


def check_case(case: Case, knowledge: Knowledge) -> list[Problem]:
    """Everything in one case that does not fit the vocabulary, the levers or the fixed sections."""
    place = f"cases/{case.slug}.md"
    problems = [*fact_misfits(place, "facts", case.facts), *_trainer(place, "facts", case.facts, knowledge)]
    for i, fix in enumerate(case.fixes):
        if fix.lever not in knowledge.levers:
            problems.append(
                Problem(f"{place}: fix[{i}].lever", f"unknown lever{did_you_mean(fix.lever, knowledge.levers)}")
            )
        problems += fact_misfits(place, f"fix[{i}].facts", fix.facts)
        problems += _trainer(place, f"fix[{i}].facts", fix.facts, knowledge)
        problems += _named(place, f"fix[{i}].advisory", fix, knowledge)
        problems += word_misfits(place, f"fix[{i}].by", fix.by, ("reporter", "maintainer", "other"))
    for i, claim in enumerate(case.claims):
        problems += word_misfits(
            place, f"claim[{i}].verdict", claim.verdict, ("confirmed", "contradicted", "without_ground", "suggested")
        )
    headings = _headings(case.body)
    if headings != [section for section in _CASE_SECTIONS if section in headings] or not headings:
        problems.append(
            Problem(
                f"{place}: body", f"has the sections {headings}, must be these in this order: {list(_CASE_SECTIONS)}"
            )
        )
    return problems


def _trainer(place: str, where: str, facts: Mapping[str, Any], knowledge: Knowledge) -> Iterator[Problem]:
    """The framework that facts name is one of the catalogue or a fork of one: lists, facets and matches compare its id."""
    told = facts.get("framework")
    ids = {one.title.lower(): one.slug for one in knowledge.frameworks.values()}
    ids |= {fork.title.lower(): fork.id for one in knowledge.frameworks.values() for fork in one.forks}
    if not isinstance(told, str) or told in ids.values():
        return
    meant = ids.get(told.lower())
    near = f" “{told}”, did you mean “{meant}”?" if meant else did_you_mean(told, ids.values())
    if near == f" “{told}”":
        near += ": leave it out" + (f", or write “{knowledge.fallback.slug}”" if knowledge.fallback else "")
    yield Problem(f"{place}: {where}.framework", f"unknown framework{near}")


def _named(place: str, where: str, fix: Fix, knowledge: Knowledge) -> Iterator[Problem]:
    """The advisory of a fix is a record, and of the same kind of move."""
    if not fix.advisory:
        return
    yield from word_misfits(place, where, fix.advisory, knowledge.advisories)
    advisory = knowledge.advisories.get(fix.advisory)
    if advisory and advisory.lever != fix.lever:
        yield Problem(f"{place}: {where}", f"moves by {advisory.lever}, the fix by {fix.lever}: make them one")


def _patterns(place: str, signature: Signature) -> Iterator[Problem]:
    for where, patterns in (("patterns", signature.patterns), ("cues", signature.cues)):
        for i, pattern in enumerate(patterns):
            if misfit := may_hang(pattern.pattern):
                yield Problem(f"{place}: {where}[{i}]", misfit)
    if signature.cues and not (signature.phase and signature.strength == 1):
        yield Problem(f"{place}: cues", "are of a person's words for a phase alone: give phase, and strength = 1")


def _signature(signature: Signature) -> Iterator[Problem]:
    place = f"signatures/{signature.slug}.md"
    yield from word_misfits(place, "kind", signature.kind, vocabulary.KINDS)
    if signature.phase:
        yield from word_misfits(place, "phase", signature.phase, vocabulary.PHASES)
    for literal in (*signature.unless, *(one for alternative in signature.literals for one in alternative)):
        if literal != literal.lower():
            yield Problem(
                f"{place}: literals", f"“{literal}” has capitals: write it in lower case, as the text is compared"
            )
    groups = {name for pattern in signature.patterns for name in pattern.groupindex}
    for where, facts in (("gives", signature.gives), *(("leaves", one) for one in _each(signature.leaves))):
        yield from fact_misfits(place, where, facts)
    for group, capture in signature.captures.items():
        yield from word_misfits(place, f"captures.{group}.fact", capture.fact, vocabulary.FACTS)
        if group not in groups:
            yield Problem(f"{place}: captures.{group}", "no pattern has a group of this name")
    yield from _patterns(place, signature)
    if not any(example.matches for example in signature.examples):
        yield Problem(f"{place}: example", "none that matches: add one")


def _each(several: Mapping[str, Iterable[Any]]) -> Iterator[Mapping[str, Any]]:
    return ({id: value} for id, values in several.items() for value in values)


def _usual(signatures: Iterable[Signature]) -> Iterator[Problem]:
    """One message of a kind is the usual one."""
    usual = [signature for signature in signatures if signature.usual]
    first = {signature.kind: signature for signature in reversed(usual)}
    for signature in usual:
        if signature is not first[signature.kind]:
            place = f"signatures/{signature.slug}.md: usual"
            yield Problem(place, f"{first[signature.kind].slug} is the usual one of this kind already: keep one")


def _lever(lever: Lever) -> Iterator[Problem]:
    place = f"levers/{lever.slug}.md"
    for i, change in enumerate(lever.changes):
        yield from word_misfits(place, f"change[{i}].fact", change.fact, vocabulary.FACTS)
        yield from word_misfits(place, f"change[{i}].op", change.op, ("scale", "set", "step"))
        needed = change.to if change.op == "set" else change.by
        if needed is None:
            yield Problem(f"{place}: change[{i}]", f"op “{change.op}” needs “{'to' if change.op == 'set' else 'by'}”")
    for pool in lever.pools:
        yield from word_misfits(place, "pools", pool, ("gpu", "host"))
    yield from word_misfits(place, "results", lever.results, ("same", "may_change"))
    yield from condition_misfits(place, "when", lever.when)
    yield from condition_misfits(place, "on", lever.on)
    for i, rank in enumerate(lever.ranks):
        yield from condition_misfits(place, f"rank[{i}].when", rank.when, {**vocabulary.FACTS, **vocabulary.SIGNS})
    if lever.only_ranked and not lever.ranks:
        yield Problem(f"{place}: only_ranked", "no rank can hold: add one, or take it out")
    for field in ("cost", "verify", "undo", "words"):
        if not getattr(lever, field):
            yield Problem(f"{place}: {field}", "is missing: a page of a remedy tells it")
    if (headings := _headings(lever.body)) != _LEVER_SECTIONS:
        yield Problem(f"{place}: body", f"has the sections {headings}, must have {_LEVER_SECTIONS}")


def _headings(body: str) -> list[str]:
    return re.findall(r"^## (.+?)\s*$", body, flags=re.M)


def _below(place: str, body: str) -> Iterator[Problem]:
    """Fields that slipped below the front matter, where they are words of the page and nothing else."""
    for line in body.splitlines():
        if re.match(r"\w+ = ", line, re.A):
            try:
                names = tomllib.loads(line)
            except tomllib.TOMLDecodeError:
                continue  # a sentence
            yield Problem(f"{place}: {', '.join(names)}", "stands in the text: move it above the second +++")


def _question(question: Question) -> Iterator[Problem]:
    place = f"questions/{question.slug}.md"
    yield from word_misfits(place, "fact", question.fact, vocabulary.FACTS)
    yield from condition_misfits(place, "when", question.when)
    for i, option in enumerate(question.options):
        yield from condition_misfits(place, f"option[{i}].when", option.when)
        spec = vocabulary.FACTS.get(question.fact)
        if spec and spec.options:
            yield from word_misfits(place, f"option[{i}].value", option.value, dict(spec.options))


def _aliases(kind: str, records: Mapping[str, Any]) -> list[Problem]:
    seen: dict[str, str] = {}
    problems = []
    for slug, record in records.items():
        for alias in {name.lower() for name in (record.title, *record.aliases, *getattr(record, "machines", ()))}:
            if alias in seen:
                problems.append(
                    Problem(f"{kind}/{slug}.md: aliases", f"“{alias}” belongs to {seen[alias]} too: keep it in one")
                )
            seen[alias] = slug
    return problems


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
