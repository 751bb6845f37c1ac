"""Words without prefix, colour and repeat mark; columns that lead back into the text."""

from __future__ import annotations

import pytest

from diagnose.ingest.lines import read_rows
from diagnose.types import Line


def line(text: str) -> Line:
    return read_rows([(1, text)])[0].line


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: out of memory",
        "(see below) it fails",
        "[1, 2, 3]",
        "  indented: true",
        "2025 was a good year",
        "--flag 3",
        "Info on the run",
        "[config]",
        "-> CUDA out of memory",
    ],
)
def test_it_leaves_lines_without_a_prefix_alone(text: str) -> None:
    assert (line(text).words, line(text).offset) == (text, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(WorkerDict pid=7921, ip=‹address›)   File x", "  File x"),
        ("(EngineCore_DP0 pid=12) ERROR 03-01 10:07:12 [core.py:300] RuntimeError: x", "RuntimeError: x"),
        ("(lm_policy-0-1:PolicyWorker pid=3) hi", "hi"),
        ("(VllmWorker rank=3 pid=1) hi", "hi"),
        ("(raylet) [2024-01-26 02:45:03,582 E 3301 3301] (raylet) node_manager.cc:3022: 1", "node_manager.cc:3022: 1"),
        ("[rank0]:   File x", "  File x"),
        ("5: [rank5]: torch.OutOfMemoryError", "torch.OutOfMemoryError"),
        ("ERROR 03-01 10:07:12 [core.py:300]   File x", "  File x"),
        ("INFO 02-03 10:22:48 config.py:887] Defaulting", "Defaulting"),
        ("[2025-03-01 10:07:12,318] [INFO] [config.py:1003:print]   stage ... 3", "  stage ... 3"),
        ("2025-06-03 22:17:40,118 ERROR worker.py:422 -- Unhandled", "Unhandled"),
        ("2025-06-03T22:17:40.118Z x", "x"),
        ("[INFO|trainer.py:12] 2025-03-01 10:07:12,318 >> hello", "hello"),
        ("E0419 02:08:18.574000 7731 api.py:984] failed", "failed"),
        ("[Tue Jun  9 03:12:55 2026] oom-kill", "oom-kill"),
        ("> a quoted line", "a quoted line"),
        ("[36m(CriticActor pid=88231)[0m [2025-03-01 10:07:12,331] [INFO] [config.py:1003:print]   a 3", "  a 3"),
        ("^[[36m(main_task pid=3)^[[0m x", "x"),
        ("Mar  2 09:00:01 gpu-07 python3[4711]:   File x", "  File x"),
        ("Mar 02 09:00:01 x", "x"),
        ("09:00:01 x", "x"),
        ("2025-03-02 09:00:01,123 - verl.trainer - INFO -   key: 3", "  key: 3"),
        ("2025-03-02 09:00:01.123 | INFO     | trainer.main:run:42 - x", "x"),
        ("[2025-03-02, 09:00:01 UTC] {subprocess.py:93} INFO - x", "x"),
        ("[pod/train-worker-0/trainer] x", "x"),
        ("(A pid=3) out of memory [repeated 7x across cluster]", "out of memory"),
    ],
)
def test_it_takes_the_prefix_off(text: str, words: str) -> None:
    found = line(text)
    assert found.words == words
    assert found.text[found.offset :].startswith(words)


def test_it_keeps_apart_what_several_processes_print() -> None:
    rows = read_rows(enumerate(("(A pid=1) x", "(A pid=2) x", "(A pid=1) y", "[rank0]: x", "x"), 1))
    assert [row.source for row in rows] == ["(A pid=1)", "(A pid=2)", "(A pid=1)", "[rank0]", ""]


def rows(*texts: str) -> list[tuple[str, str]]:
    return [(row.words, row.source) for row in read_rows(enumerate(texts, 1))]


@pytest.mark.parametrize(
    ("texts", "source"),
    [
        (("0: a: 1", "0:   b: 2", "0: c"), "0:"),
        (("worker-0: a: 1", "worker-0:   b: 2", "worker-0: c"), "worker-0"),
        (("trainer-1  | a: 1", "trainer-1  |   b: 2", "trainer-1  | c"), "trainer-1"),
        (("     7\ta: 1", "     8\t  b: 2", "     9\tc"), ""),
        (("17:a: 1", "18:  b: 2", "19:c"), ""),
        ((">a: 1", ">  b: 2", ">c"), ""),
    ],
)
def test_it_takes_labels_off_that_lines_in_a_row_have(texts: tuple[str, ...], source: str) -> None:
    assert rows(*texts) == [("a: 1", source), ("  b: 2", source), ("c", source)]


@pytest.mark.parametrize(
    "texts",
    [
        ("0: a", "1: b"),
        ("layer0: a", "key: b", "layer1: c"),
        ("4711\t0.87\tpython", "812\t0.4\tray", "93\t0.1\tsh"),
        ("8 cards", "9 cards", "10 cards"),
    ],
)
def test_it_takes_nothing_else_for_a_label(texts: tuple[str, ...]) -> None:
    assert rows(*texts) == [(text, "") for text in texts]


def test_a_colour_behind_an_indent_leaves_the_indent() -> None:
    assert line("  [36mkey: 3[0m").words == "  key: 3"


def test_it_takes_colour_remains_and_html_entities_out_of_words_but_not_out_of_the_text() -> None:
    row = read_rows([(4, "(A pid=1) a [31mred[0m &lt;b&gt; n=42 &amp;")])[0]
    assert row.line.words == "a red <b> n=42 &"
    span = row.span(row.words.index("42"), row.words.index("42") + 2)
    assert (span.line, row.line.text[span.start : span.end]) == (4, "42")


def test_it_reads_the_entities_that_web_pages_leave() -> None:
    assert line("--model &quot;a&quot; &#39;b&#x27; 2.50&nbsp;GiB").words == "--model \"a\" 'b' 2.50 GiB"


def test_it_looks_at_the_first_four_thousand_characters_of_a_line() -> None:
    assert len(line("x" * 100_000).words) == 4_000


def words(text: str) -> list[str]:
    return [row.words for row in read_rows(list(enumerate(text.split("\n"), 1)))]


TRACED = ["Traceback (most recent call last):", '  File "/a/b.py", line 3, in f', "    g()", "ValueError: x"]


@pytest.mark.parametrize("label", ["pod-0 app ", "<anna> ", "ERROR:root:", "12.5 worker ", "│ "])
def test_what_stands_before_a_traceback_is_a_label_wherever_it_stands_again(label: str) -> None:
    assert words("\n".join(label + line for line in [*TRACED, "after"])) == [*TRACED, "after"]


def test_a_label_is_one_whatever_its_level_and_its_figures_are() -> None:
    labels = ["9.1 INFO    Main:7 ", "10.2 ERROR Main:7 ", "11.3 WARNING Main:12 ", "12.4 INFO    Main:7 "]
    assert words("\n".join(map(str.__add__, labels, TRACED))) == TRACED


def test_what_all_lines_begin_with_is_a_label_where_some_are_indented_behind_it() -> None:
    lines = ["run \\", "  --a 1 \\", "  --b 2", "x", "y", "z"]
    assert words("\n".join(f"app {line}" for line in lines)) == lines


@pytest.mark.parametrize(
    "line",
    [
        "step:{n} - loss:{n}",
        "python train.py --a {n}",
        "export A{n}={n}",
        "- name: {n}",
        "actor.a{n}={n}",
        "| A{n} |  x |",
    ],
)
def test_lines_of_one_form_have_no_label(line: str) -> None:
    text = "\n".join(line.format(n=n) for n in range(9, 17))
    assert words(text) == text.split("\n")


def test_an_error_that_a_sentence_names_makes_no_label() -> None:
    text = "I get ValueError: x\nI get nothing else\nand run on"
    assert words(text) == text.split("\n")


def test_numbers_of_processes_that_follow_each_other_are_a_column_of_their_table() -> None:
    rows = read_rows([(1, "PID\tMEM(GB)\tCOMMAND"), *((n, f"{4000 + n}\t12.{n}\tray::A.b") for n in range(2, 9))])
    assert [row.line.words for row in rows[1:3]] == ["4002\t12.2\tray::A.b", "4003\t12.3\tray::A.b"]
