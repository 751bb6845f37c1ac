"""A framework in several files: ``frameworks/<slug>.md`` and beside it ``frameworks/<slug>/*.md``, each with more rows of its tables.

The framework's own rows come first, then those of its parts by the names of their files: where a later row outranks an earlier one, a part
outranks the framework's own file. A part may hold for further frameworks, which it names: there it comes last. What is told once, such as
how a framework is recognised, stands in its own file alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from diagnose.knowledge.frameworks import Framework, Key, Part
from diagnose.knowledge.loader import Problem, did_you_mean, parse_as, singular
from diagnose.knowledge.record import Record

KIND = "frameworks"
_RECORD = {field.name for field in dataclasses.fields(Record)}
_TABLES = [field.name for field in dataclasses.fields(Part) if field.name not in {*_RECORD, "also"}]
_TOLD_ONCE = {field.name for field in dataclasses.fields(Framework)} - {*_RECORD, *_TABLES, "also", "parts"}


def place_of(part: Part) -> str:
    """The file of a framework or of a part of one, as a misfit names it."""
    return f"{KIND}/{part.slug}.md"


def parse_part(slug: str, text: str) -> tuple[Part | None, list[Problem]]:
    """One part from its whole text, with everything that does not fit; ``slug`` is ``framework/part``."""
    whole = f"{KIND}/{slug.split('/')[0]}.md"
    once = dict.fromkeys(_TOLD_ONCE, f"is told once for the whole framework: write it in {whole}")
    return parse_as(Part, f"{KIND}/{slug}.md", slug, text, once)


def join_all(frameworks: dict[str, Record], texts: Mapping[str, str], written: Collection[str]) -> Iterator[Problem]:
    """Puts each framework that has parts in the place of its own file alone; gives everything that does not fit.

    ``texts`` are the parts by their slugs, ``written`` the frameworks that have a file, with those that did not fit.
    """
    found: dict[str, list[Part]] = {}
    for slug, text in texts.items():
        part, misfits = parse_part(slug, text)
        yield from misfits
        name = slug.split("/")[0]
        if name not in written:
            cure = f"write {KIND}/{name}.md, or move the file into the folder of its framework"
            yield Problem(f"{KIND}/{slug}.md", f"there is no framework{did_you_mean(name, written)}: {cure}")
        elif part:
            for one in (name, *part.also):
                found.setdefault(one, []).append(part)
            yield from _unwritten(part, written)
    for name, of_it in found.items():
        framework = frameworks.get(name)
        if isinstance(framework, Framework):
            frameworks[name] = join(framework, sorted(of_it, key=lambda part: not part.slug.startswith(f"{name}/")))


def _unwritten(part: Part, written: Collection[str]) -> Iterator[Problem]:
    for name in part.also:
        if name not in written:
            yield Problem(f"{place_of(part)}: also", f"there is no framework{did_you_mean(name, written)}")


def join(framework: Framework, parts: Sequence[Part]) -> Framework:
    """The framework with the rows, the sources and the texts of its parts, each text below the part's title."""
    files = (framework, *parts)
    rows: dict[str, Any] = {name: tuple(row for file in files for row in getattr(file, name)) for name in _TABLES}
    told = [
        framework.body.rstrip(),
        *(f"## {part.title}\n\n{part.body.strip()}" for part in parts if part.body.strip()),
    ]
    sources = tuple(dict.fromkeys(source for file in files for source in file.sources))
    return dataclasses.replace(framework, **rows, body="\n\n".join(told) + "\n", sources=sources, parts=files)


def files_of(framework: Framework) -> Sequence[Part]:
    """The files that a framework stands in, its own first."""
    return framework.parts or (framework,)


def check_parts(framework: Framework) -> Iterator[Problem]:
    """A part says what it is about under a title of its own, and a row stands once."""
    titles: dict[str, str] = {}
    for file in files_of(framework):
        place = place_of(file)
        if file.title in titles:
            yield Problem(f"{place}: title", f"“{file.title}” is that of {titles[file.title]} too: give another")
        titles.setdefault(file.title, place)
        if file.slug != framework.slug and not file.body.strip():
            yield Problem(f"{place}: body", "is empty: say below the front matter what its rows are about")
    for table in _TABLES:
        yield from _twice(files_of(framework), table)


def _twice(files: Sequence[Part], table: str) -> Iterator[Problem]:
    """Rows that stand in a table already, in the same file or in another."""
    seen: list[tuple[Any, str]] = []
    for file in files:
        for i, row in enumerate(getattr(file, table)):
            said, place = _said(row), f"{place_of(file)}: {singular(table)}[{i}]"
            first = next((where for other, where in seen if other == said), None)
            if first:
                yield Problem(place, f"is told by {first} already: keep one")
            else:
                seen.append((said, place))


def _said(row: Any) -> Any:
    """What no second row may say: of a key which fact it tells when, whatever it counts; else the whole row."""
    if isinstance(row, Key) and row.fact:
        return row.key, row.fact, row.since, row.until, row.when
    return row
