"""The laws of the house that a machine can hold: directions, names, sizes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from django.db.migrations import AddField, AddIndex, CreateModel, RunPython
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from diagnose.knowledge import CONTENT, current
from diagnose.vocabulary import BEHAVIOURS, RESIDENTS

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("diagnose", "kb", "wizard", "config")  # each may import itself and those before it
FIRST_BASES = {"kb": "0007_refresh_runs", "wizard": "0001_saved_diagnoses"}
CODE = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts)
CORE = [path for path in CODE if path.is_relative_to(ROOT / "diagnose")]
READS = ("diagnose/facts/", "diagnose/ingest/", "diagnose/knowledge/loader.py")
NAMES = ("id", "attr", "name", "arg")  # the fields of a node that hold an identifier
UNESCAPED = {"kb/markdown.py", "wizard/chart/svg.py"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(tree: ast.AST) -> Iterator[str]:
    """The first part of every imported module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def misfits(law: Callable[[Path], Iterable[object]], files: Iterable[Path] = CODE) -> list[str]:
    """What breaks a law, each with its file: all files are looked at in one test, since thousands of tests cost more than the looking."""
    return [f"{name_of(path)}: {said}" for path in files for said in law(path)]


def test_imports_point_one_way() -> None:
    def later(path: Path) -> set[str]:
        room = path.relative_to(ROOT).parts[0]
        return set(ROOMS[ROOMS.index(room) + 1 :]) & set(imports(tree_of(path)))

    assert misfits(later) == []


def test_the_core_imports_the_standard_library_and_itself() -> None:
    assert misfits(lambda path: set(imports(tree_of(path))) - {*sys.stdlib_module_names, "diagnose"}, CORE) == []


def test_what_reads_a_paste_takes_no_chinese_sign_for_a_letter_of_a_word() -> None:
    """Chinese stands against names and figures without a blank: “在rollout阶段OOM”. Without re.A there is no end of a word there."""
    assert misfits(unicode_words, [path for path in CORE if name_of(path).startswith(READS)]) == []


def of_the_module_re(called: ast.expr) -> bool:
    """Whether it takes a pattern: a function of ``re``, but for the one that makes a pattern of plain words."""
    named = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    return named and called.attr != "escape"


def unicode_words(path: Path) -> Iterator[str]:
    """The patterns of a file in which a Chinese sign counts as a letter of a word."""
    source = path.read_text()
    for call in ast.walk(tree_of(path)):
        if isinstance(call, ast.Call) and call.args and of_the_module_re(call.func):
            pattern, *flags = (ast.get_source_segment(source, part) or "" for part in call.args)
            of_text = re.search(r"\\[wWbB]", pattern) and not pattern.startswith(("b", "rb"))
            if of_text and not any("re.A" in flag for flag in flags):
                yield f"line {call.lineno}: {pattern}"


def stage_of(module: str) -> int | None:
    stages = ("ingest", "facts", "estimate", "fit", "match", "prescribe", "questions", "pipeline")
    part = (module.split(".") + [""])[1]
    return stages.index(part) if part in stages else None


def test_stages_import_only_what_comes_before_them() -> None:
    def later(path: Path) -> Iterator[str]:
        own = stage_of(name_of(path).removesuffix(".py").replace("/", "."))
        for node in ast.walk(tree_of(path)):
            if own is not None and isinstance(node, ast.ImportFrom) and (node.module or "").startswith("diagnose."):
                stage = stage_of(node.module or "")
                if stage is not None and stage > own:
                    yield str(node.module)

    assert misfits(later, CORE) == []


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of the nodes that are docstrings: they may cite sources."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found


@cache
def words_of(path: Path) -> set[str]:
    """Identifiers and string constants, docstrings left out."""
    cited, words = docstrings(tree_of(path)), set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in cited:
            words.add(node.value)
        words.update(word for field in NAMES if isinstance(word := getattr(node, field, None), str))
    return words


@cache
def framework_names() -> list[str]:
    """Ids, titles and names of the catalogue's frameworks and their forks, but for the plan for unknown ones."""
    named = [framework for framework in current().frameworks.values() if not framework.fallback]
    forks = [fork for framework in named for fork in framework.forks]
    words = {word.lower() for f in named for word in (f.slug, f.title, *f.detect.names)}
    return sorted(words | {word.lower() for fork in forks for word in (fork.id, fork.title, *fork.detect.names)})


def test_no_framework_is_named_in_code() -> None:
    names = framework_names()
    assert names
    pattern = re.compile(rf"(?<![a-z0-9])({'|'.join(map(re.escape, names))})(?![a-z0-9])")

    def named(path: Path) -> set[str]:
        return {hit[1] for word in words_of(path) if (hit := pattern.search(word.lower().replace("_", "-")))}

    assert misfits(named) == []


def test_only_the_module_of_units_reckons_in_1024() -> None:
    """A plain 1024, as the most rows of a pass, is no size."""

    def lines(path: Path) -> set[int]:
        sums = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.BinOp))
        return {part.lineno for node in sums for part in (node.left, node.right) if ast.unparse(part) == "1024"}

    found = {path for path in CORE if lines(path)}
    assert found == {ROOT / "diagnose/units.py"}


@cache
def key_paths() -> set[str]:
    """The dotted keys of all frameworks, and what stands before their names."""
    keys = [key for framework in current().frameworks.values() for key in framework.keys]
    dotted = {name for key in keys for name in (key.key, *key.aliases) if "." in name}
    return dotted | {f"{name.rpartition('.')[0]}." for name in dotted}


def test_no_key_of_a_framework_stands_in_code() -> None:
    paths = key_paths()
    assert paths
    assert misfits(lambda path: paths & words_of(path)) == []


def test_only_the_markdown_renderer_and_the_drawing_vouch_for_markup() -> None:
    assert {name_of(path) for path in CODE if "mark_safe" in words_of(path)} == UNESCAPED


def test_files_and_functions_stay_small() -> None:
    def large(path: Path) -> Iterator[str]:
        if (lines := len(path.read_text().splitlines())) > 300:
            yield f"{lines} lines"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and length(node) > 40:
                yield f"{node.name}: {length(node)} lines"

    assert misfits(large) == []


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


VIEWS = [path for path in CODE if path.parent.name == "views" or path.name == "views.py"]
METHODS = {"require_GET", "require_POST", "require_safe", "require_http_methods"}


def decorator_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return decorator_name(node.func)
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def views(path: Path) -> list[ast.FunctionDef]:
    functions = [node for node in tree_of(path).body if isinstance(node, ast.FunctionDef) and node.args.args]
    return [node for node in functions if not node.name.startswith("_") and node.args.args[0].arg == "request"]


def test_every_view_says_which_methods_it_takes_and_is_short() -> None:
    def wrong(path: Path) -> Iterator[str]:
        for view in views(path):
            if not METHODS & {decorator_name(decorator) for decorator in view.decorator_list}:
                yield f"{view.name} takes any method"
            if length(view) > 25:
                yield f"{view.name}: {length(view)} lines"

    assert any(map(views, VIEWS))
    assert misfits(wrong, VIEWS) == []


@cache
def words_of_estimate() -> set[str]:
    """Those of the rooms in which a plan is worked out and looked at."""
    rooms = ("diagnose/estimate/", "diagnose/facts/", "diagnose/prescribe/", "diagnose/outlived.py")
    return {word for path in CODE if name_of(path).startswith(rooms) for word in words_of(path)}


def test_what_a_framework_file_may_say_of_memory_is_done_in_code() -> None:
    assert {*RESIDENTS, *BEHAVIOURS} - words_of_estimate() == set()


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    assert not [path for path in CODE if path.stem in ("utils", "util", "helpers", "common", "misc")]


def test_the_content_is_read_from_the_repository() -> None:
    assert CONTENT == ROOT / "content"


def test_no_script_hides_a_package_from_those_beside_it() -> None:
    """``python benchmarks/pages.py`` looks for what it imports in its own folder first."""
    assert not {path.stem for path in (ROOT / "benchmarks").glob("*.py")} & packages_distributions().keys()


def later_operations() -> list[tuple[str, Operation]]:
    """Of the migrations since the first base that a team may have."""
    found = MigrationLoader(None).disk_migrations
    return [
        (f"{app}.{name}", operation)
        for (app, name), migration in sorted(found.items())
        if name > FIRST_BASES.get(app, "~")
        for operation in migration.operations
    ]


@pytest.mark.parametrize(("name", "operation"), later_operations())
def test_a_migration_only_adds_since_the_old_version_goes_on_serving(name: str, operation: Operation) -> None:
    """docs/deployment.md: what it reads is there, and what it writes is taken without the columns that it does not know."""
    assert isinstance(operation, (AddField, AddIndex, CreateModel, RunPython)), name
    if isinstance(operation, AddField):
        assert operation.field.null or operation.field.has_db_default(), f"{name}: {operation.name}"
