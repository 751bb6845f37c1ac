import threading
import time

import pytest

from diagnose import knowledge
from diagnose.knowledge import ContentError, Knowledge, load
from diagnose.knowledge.loader import nesting, parse

GPU = """+++
title = "A100"
reviewed = 2026-11-20
sources = ["https://www.nvidia.com/en-us/data-center/a100/"]
[sizes]
80 = 79.15
+++
Two sizes.
"""


def says(kind, text, slug="x"):
    record, problems = parse(kind, slug, text)
    assert (record is None) == bool(problems)
    return [str(problem) for problem in problems]


def test_it_names_a_missing_fence_and_its_cure():
    assert "begin the file with a line +++" in says("gpus", "title = 1")[0]


def test_it_names_broken_toml_with_its_line():
    (message,) = says("gpus", "+++\ntitle = \n+++\n")
    assert message.startswith("gpus/x.md: the front matter is no TOML:")
    assert "line 2" in message


def test_it_tells_every_misfit_at_once():
    messages = says("gpus", GPU.replace('title = "A100"', 'titel = "A100"').replace("2026-11-20", '"today"'))
    assert messages == [
        "gpus/x.md: titel: unknown field “titel”, did you mean “title”?",
        "gpus/x.md: reviewed: is 'today', must be a date",
        "gpus/x.md: title: is missing: it is required",
    ]


def test_it_refuses_a_record_without_a_source():
    assert (
        "a record without a source"
        in says("gpus", GPU.replace('"https://www.nvidia.com/en-us/data-center/a100/"', ""))[0]
    )


def test_it_refuses_true_where_a_number_is_needed():
    assert says("gpus", GPU.replace("79.15", "true")) == ["gpus/x.md: sizes.80: is True, must be a number"]


def test_brackets_inside_of_a_text_are_words():
    assert nesting('a = "[[[[[[[[[[[["\nb = ["[", "{{{"]\n') == 1


def test_it_refuses_deep_nesting_before_parsing():
    assert "nested deeper" in says("gpus", f"+++\na = {'[' * 5000}{']' * 5000}\n+++\n")[0]


def test_it_refuses_a_record_that_is_too_long():
    assert "at most 65,536" in says("gpus", GPU + "x" * 70_000)[0]


def test_it_refuses_a_pattern_that_does_not_compile():
    text = '+++\ntitle="t"\nreviewed=2026-11-20\nsources=["s"]\nkind="other"\nliterals=[["x"]]\npatterns=["("]\n+++\n'
    assert "must be a regular expression" in says("signatures", text)[0]


def test_it_reads_a_record():
    record, problems = parse("gpus", "a100", GPU)
    assert not problems
    assert (record.slug, record.title, record.sizes, record.body) == ("a100", "A100", {"80": 79.15}, "Two sizes.\n")


def test_loading_raises_with_all_problems(tmp_path):
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "a.md").write_text("no fence")
    (tmp_path / "gpus" / "b.md").write_text("no fence")
    with pytest.raises(ContentError) as caught:
        load(tmp_path)
    assert len(caught.value.problems) == 2


def test_threads_that_ask_together_wait_for_one_reading(monkeypatch):
    readings, given = [], []

    def read():
        readings.append(1)
        time.sleep(0.1)
        return Knowledge()

    monkeypatch.setattr(knowledge, "load", read)
    monkeypatch.setattr(knowledge, "_read", [])
    threads = [threading.Thread(target=lambda: given.append(knowledge.current())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(readings) == 1
    assert len(given) == 8
    assert all(one is given[0] for one in given)
