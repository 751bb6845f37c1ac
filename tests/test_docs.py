"""What the documents promise, held against what they speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagnose.knowledge import CONTENT, current
from diagnose.pipeline import diagnose
from diagnose.report import to_json
from diagnose.vocabulary import BATCH_UNITS, BEHAVIOURS, RESIDENTS
from wizard.home import EXAMPLE

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    ROOT.glob("docs/**/*.md")
)
GRAMMAR = (ROOT / "docs/decisions/0001-knowledge-grammar.md").read_text()
DEPENDENCIES = (ROOT / "docs/decisions/0002-dependencies.md").read_text()


@pytest.mark.parametrize("word", [*BATCH_UNITS, *RESIDENTS, *BEHAVIOURS])
def test_a_word_of_a_framework_file_stands_in_the_decision_about_them(word: str) -> None:
    assert f"`{word}`" in GRAMMAR


@pytest.mark.parametrize("name", [name for name, (_, options) in BEHAVIOURS.items() if options])
def test_the_decision_names_the_options_of_a_behaviour(name: str) -> None:
    line = next(line for line in GRAMMAR.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    assert [option for option in BEHAVIOURS[name][1] if f"`{option}`" not in line] == []


def test_the_decision_about_dependencies_names_every_one() -> None:
    lines = (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-dev.txt").read_text()
    packages = re.findall(r"^([A-Za-z][\w-]*)", lines, flags=re.M)
    assert len(packages) > 10
    assert [package for package in packages if not re.search(rf"(?<![\w-]){package}(?![\w-])", DEPENDENCIES)] == []


def test_every_make_target_is_told_of() -> None:
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert targets
    told = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets[1].split() if f"make {target}" not in told] == []


def test_the_readme_names_every_folder_of_the_content() -> None:
    told = (ROOT / "README.md").read_text()
    assert [folder.name for folder in CONTENT.iterdir() if folder.is_dir() and f"`{folder.name}/`" not in told] == []


def names_in(answer: object) -> Iterator[str]:
    """The names of an answer and of the objects in it; facts and keys, which differ by paste, left out."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield name
            if name not in ("facts", "assumed", "config"):
                yield from names_in(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from names_in(value)


def test_the_batch_interface_tells_of_every_name_that_it_gives() -> None:
    answer = to_json(diagnose(EXAMPLE.read_text(), {}, current(), tuple(current().cases.values())))
    told = set(re.findall(r"`([\w.]+)`", (ROOT / "docs/batch-interface.md").read_text()))
    parts = {part for name in told for part in name.split(".")}
    assert answer["prescriptions"]
    assert sorted(set(names_in(answer)) - parts) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_document_names_no_file_that_is_not_there(document: Path) -> None:
    text = document.read_text()
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    named = re.findall(r"`((?:config|content|diagnose|docs|kb|tests|wizard)/[\w./-]+)`", text)
    assert [path for path in linked if not (document.parent / path).exists()] == []
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_folder_of_the_core_is_told_of() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text()
    folders = {path.parent.name for path in (ROOT / "diagnose").rglob("__init__.py")} - {"diagnose"}
    assert not {name for name in folders if f"`{name}/`" not in told}
