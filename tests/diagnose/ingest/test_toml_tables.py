"""TOML's tables: a key means what the table above it says."""

from __future__ import annotations

from diagnose.ingest import read


def keys(text: str) -> dict[str, str]:
    return {setting.key: setting.value for setting in read(text).settings}


def test_a_table_stands_before_its_keys_and_ends_with_the_next() -> None:
    text = (
        'seq_len = 4096\n\n[model]\nname = "Qwen/Qwen3-8B"\n\n# a comment\n[[sampler.train.source]]\nbatch_size = 256\n'
    )
    assert keys(text) == {
        "seq_len": "4096",
        "model.name": "Qwen/Qwen3-8B",
        "sampler.train.source.batch_size": "256",
    }


def test_a_line_of_a_log_ends_the_table() -> None:
    assert keys("[trainer]\nmicro_batch = 2\nstarting with these\nmax_steps = 10\n") == {
        "trainer.micro_batch": "2",
        "max_steps": "10",
    }


def test_a_list_over_lines_does_not_end_it() -> None:
    assert keys('[data]\nfiles = [\n  "a",\n]\nbatch_size = 4\n')["data.batch_size"] == "4"


def test_a_rank_in_brackets_is_no_table() -> None:
    assert "rank0.batch_size" not in keys("[rank0]: starting\nbatch_size = 4\n")
