"""The laws of the house that a machine can hold: directions, names, sizes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
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
READS = ("diagnose/facts/", "diagnose/ingest/", "diagnose/knowledge/loader.py")
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


every_file = pytest.mark.parametrize("path", CODE, ids=name_of)


@every_file
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    later = set(ROOMS[ROOMS.index(room) + 1 :])
    assert not later & set(imports(tree_of(path)))


@pytest.mark.parametrize("path", [path for path in CODE if name_of(path).startswith("diagnose/")], ids=name_of)
def test_the_core_imports_the_standard_library_and_itself(path: Path) -> None:
    assert set(imports(tree_of(path))) <= {*sys.stdlib_module_names, "diagnose"}


@pytest.mark.parametrize("path", [path for path in CODE if name_of(path).startswith(READS)], ids=name_of)
def test_what_reads_a_paste_takes_no_chinese_sign_for_a_letter_of_a_word(path: Path) -> None:
    """Chinese stands against names and figures without a blank: “在rollout阶段OOM”. Without re.A there is no end of a word there."""
    source = path.read_text()
    for call in ast.walk(tree_of(path)):
        if (
            isinstance(call, ast.Call)
            and ast.unparse(call.func).startswith("re.")
            and call.args
            and call.func.attr != "escape"
        ):
            pattern, *flags = (ast.get_source_segment(source, part) or "" for part in call.args)
            if re.search(r"\\[wWbB]", pattern) and not pattern.startswith(("b", "rb")):
                assert any("re.A" in flag for flag in flags), f"line {call.lineno}: {pattern}"


def stage_of(module: str) -> int | None:
    stages = ("ingest", "facts", "estimate", "fit", "match", "prescribe", "questions", "pipeline")
    part = (module.split(".") + [""])[1]
    return stages.index(part) if part in stages else None


@pytest.mark.parametrize("path", [path for path in CODE if name_of(path).startswith("diagnose/")], ids=name_of)
def test_stages_import_only_what_comes_before_them(path: Path) -> None:
    own = stage_of(name_of(path).removesuffix(".py").replace("/", "."))
    if own is None:
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("diagnose."):
            stage = stage_of(node.module)
            assert stage is None or stage <= own, node.module


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of the nodes that are docstrings: they may cite sources."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found


def words_of(tree: ast.Module) -> Iterator[str]:
    """Identifiers and string constants, docstrings left out."""
    cited = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in cited:
            yield node.value
        for field in ("id", "attr", "name", "arg"):
            if isinstance(word := getattr(node, field, None), str):
                yield word


@cache
def framework_names() -> list[str]:
    """Ids, titles and names of the catalogue's frameworks and their forks, but for the plan for unknown ones."""
    named = [framework for framework in current().frameworks.values() if not framework.fallback]
    forks = [fork for framework in named for fork in framework.forks]
    words = {word.lower() for f in named for word in (f.slug, f.title, *f.detect.names)}
    return sorted(words | {word.lower() for fork in forks for word in (fork.id, fork.title, *fork.detect.names)})


@every_file
def test_no_framework_is_named_in_code(path: Path) -> None:
    names = framework_names()
    assert names
    pattern = re.compile(rf"(?<![a-z0-9])({'|'.join(map(re.escape, names))})(?![a-z0-9])")
    said = {hit[1] for word in words_of(tree_of(path)) if (hit := pattern.search(word.lower().replace("_", "-")))}
    assert not said


@pytest.mark.parametrize("path", [path for path in CODE if name_of(path).startswith("diagnose/")], ids=name_of)
def test_only_the_module_of_units_reckons_in_1024(path: Path) -> None:
    """A plain 1024, as the most rows of a pass, is no size."""
    sums = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.BinOp))
    found = {part.lineno for node in sums for part in (node.left, node.right) if ast.unparse(part) == "1024"}
    assert not found or name_of(path) == "diagnose/units.py"


@cache
def key_paths() -> set[str]:
    """The dotted keys of all frameworks, and what stands before their names."""
    keys = [key for framework in current().frameworks.values() for key in framework.keys]
    dotted = {name for key in keys for name in (key.key, *key.aliases) if "." in name}
    return dotted | {f"{name.rpartition('.')[0]}." for name in dotted}


@every_file
def test_no_key_of_a_framework_stands_in_code(path: Path) -> None:
    paths = key_paths()
    assert paths
    assert not paths & set(words_of(tree_of(path)))


@every_file
def test_only_the_markdown_renderer_and_the_drawing_vouch_for_markup(path: Path) -> None:
    if name_of(path) not in UNESCAPED:
        assert "mark_safe" not in set(words_of(tree_of(path)))


@every_file
def test_files_and_functions_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno + 1 <= 40, node.name


VIEWS = [path for path in CODE if path.parent.name == "views" or path.name == "views.py"]
METHODS = {"require_GET", "require_POST", "require_safe", "require_http_methods"}


def decorator_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return decorator_name(node.func)
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


@pytest.mark.parametrize("path", VIEWS, ids=name_of)
def test_every_view_says_which_methods_it_takes_and_is_short(path: Path) -> None:
    for node in tree_of(path).body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or not node.args.args:
            continue
        if node.args.args[0].arg == "request":
            assert METHODS & {decorator_name(decorator) for decorator in node.decorator_list}, node.name
            assert (node.end_lineno or 0) - node.lineno + 1 <= 25, node.name


@cache
def words_of_estimate() -> set[str]:
    """Those of the rooms in which a plan is worked out and looked at."""
    rooms = ("diagnose/estimate/", "diagnose/facts/", "diagnose/prescribe/")
    return {word for path in CODE if name_of(path).startswith(rooms) for word in words_of(tree_of(path))}


@pytest.mark.parametrize("word", [*RESIDENTS, *BEHAVIOURS])
def test_what_a_framework_file_may_say_of_memory_is_done_in_code(word: str) -> None:
    assert word in words_of_estimate()


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    assert not [path for path in CODE if path.stem in ("utils", "util", "helpers", "common", "misc")]


def test_the_content_is_read_from_the_repository() -> None:
    assert CONTENT == ROOT / "content"


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
