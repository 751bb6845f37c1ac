"""The rows of benchmarks/data/measured_elsewhere.jsonl: measured runs that the estimator was first held against when it stood."""

import json
import re
from pathlib import Path

import pytest

from diagnose.estimate import estimate
from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.vocabulary import FACTS

FILE = Path(__file__).resolve().parents[1] / "benchmarks/data/measured_elsewhere.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
KINDS = {"measured_per_gpu_gib", "fits", "does_not_fit"}
COUNTERS = {"torch_allocated", "torch_reserved", "device", "unclear", "card"}
SILENT = 0.02  # of the rows: those whose model nobody can size by its name


@pytest.fixture(scope="module")
def knowledge():
    return current()


def test_each_row_names_file_and_commit_of_its_figure():
    for row in ROWS:
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/blob/[0-9a-f]{40}/\S.*", row["source"]), row["id"]


def test_each_row_is_told_apart_and_uses_known_words():
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row["kind"] in KINDS, row["id"]
        assert row["counter"] in COUNTERS, row["id"]
        assert row["trust"] in "ABC", row["id"]
        assert set(row["answers"]) <= set(FACTS), row["id"]
        assert row["paste"].strip(), row["id"]


def test_a_measured_row_has_a_value_that_its_card_can_hold():
    for row in ROWS:
        if row["kind"] == "measured_per_gpu_gib":
            assert 0 < row["value_gib"] <= row["answers"].get("gpu_mem_gib", 1000), row["id"]


def test_rows_are_answered(knowledge):
    silent = []
    for row in ROWS:
        gpu = estimate(read_facts(read(row["paste"]), row["answers"], knowledge), knowledge.fallback).gpu
        if gpu is None:
            silent.append(row["id"])
        else:
            assert gpu.peak.low <= gpu.peak.bytes <= gpu.peak.high, row["id"]
    assert len(silent) <= SILENT * len(ROWS), silent


def test_samples_are_always_taken_in_chunks_and_supervised_rows_since_a_version(knowledge):
    rows = {row["stage"]: row for row in ROWS if row["framework"] == "prime-rl"}
    newest = {id: value for id, value in rows["sft"]["answers"].items() if id != "framework_version"}
    chunked = [
        diagnose(rows[stage]["paste"], answers, knowledge, ()).facts.values["logits_chunked"]
        for stage, answers in (("grpo", rows["grpo"]["answers"]), ("sft", rows["sft"]["answers"]), ("sft", newest))
    ]
    assert chunked == [True, False, True]
