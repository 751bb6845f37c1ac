"""Configurations as trackers of runs and structured logs keep them."""

from __future__ import annotations

import json

from diagnose.ingest import read


def values(text: str) -> dict[str, str]:
    return {setting.key: setting.value for setting in read(text).settings}


def test_metrics_beside_each_other_and_lone_paths_are_no_settings() -> None:
    assert "actor.pg_loss" not in values("step:1 - actor/pg_loss:0.1 - critic/vf_loss:0.2 - perf/x:3")
    assert values("see a/b/c: fine\nand nothing else") == {}


def test_keys_that_are_joined_by_slashes_are_read_below_each_other() -> None:
    text = "a/b/name: vllm\na/b/n: 5\ndata/train_batch_size: 256\ntrainer/nnodes\t1\n"
    assert values(text) == {"a.b.name": "vllm", "a.b.n": "5", "data.train_batch_size": "256", "trainer.nnodes": "1"}


def test_a_value_below_a_key_called_value_is_that_of_the_key() -> None:
    assert values('{"lr": {"value": 1e-6}, "n": {"desc": null, "value": 8}}')["n"] == "8"
    assert values("max_length:\n  desc: null\n  value: 4096\nbf16:\n  value: true\n") == {
        "max_length": "4096",
        "max_length.desc": "null",
        "bf16": "true",
    }


def test_settings_beside_the_text_of_a_logs_entry_are_kept() -> None:
    text = '{"ts": "2025-08-01T10:00:00Z", "msg": "resolved", "cfg": {"a.b.c": 2}, "labels": {"pod": "x"}}\n'
    found = read(text)
    assert {setting.key: setting.value for setting in found.settings} == {"a.b.c": "2"}
    assert read(found.text).settings == found.settings


def test_keys_that_end_at_a_comma_are_read_below_each_other() -> None:
    text = "key,value\nmodel_name_or_path,Qwen/Qwen2.5-3B\nnum_generations,8\ndata.max_prompt_length,512\n"
    assert values(text) == {
        "model_name_or_path": "Qwen/Qwen2.5-3B",
        "num_generations": "8",
        "data.max_prompt_length": "512",
    }
    assert values("num_generations,8\nthen it died\n") == {}


LINES = (
    "Traceback (most recent call last):",
    '  File "/x/trl/trainer/grpo_trainer.py", line 12, in f',
    "ValueError: x",
)


def test_the_text_of_logfmt_and_of_an_export_in_commas_is_the_program_s() -> None:
    logfmt = "".join(f"ts=2026-03-14T02:11:40Z level=error pod=a-0 msg={json.dumps(line)}\n" for line in LINES)
    commas = "".join('"Mar 14, 2026","{}"\n'.format(line.replace('"', '""')) for line in LINES)
    for text in (logfmt, commas):
        assert read(text).text == "\n".join(LINES)


def test_cells_of_a_page_stay_apart() -> None:
    page = "<table><tr><td>num_generations</td><td>8</td></tr><tr><td>max_length</td>\n<td>2048</td></tr></table>"
    assert values(page) == {"num_generations": "8", "max_length": "2048"}
