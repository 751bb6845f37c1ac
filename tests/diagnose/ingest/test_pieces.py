"""A command that a script of Python puts together from pieces of text."""

from __future__ import annotations

import pytest

from diagnose.ingest import read


def given(text: str) -> list[tuple[str, str]]:
    return [(setting.key, setting.value) for setting in read(text).settings]


@pytest.mark.parametrize(
    "text",
    [
        'if args.recompute:\n    train_args += "--recompute-granularity full "\n',
        'Adding "--recompute-granularity full" did not help.\n',
        '# "--recompute-granularity full "\n',
    ],
)
def test_what_may_not_be_given_is_not_read(text: str) -> None:
    assert given(text) == []


def test_words_and_flags_without_a_value_are_read_beside_numbers() -> None:
    text = 'perf_args = (\n    "--sequence-parallel "\n    "--recompute-granularity full "\n    "--recompute-num-layers 1 "\n)\n'
    assert given(text) == [
        ("sequence-parallel", "true"),
        ("recompute-granularity", "full"),
        ("recompute-num-layers", "1"),
    ]


def test_several_pieces_on_a_line_are_told_apart() -> None:
    text = 'perf_args = "--use-dynamic-batch-size " "--max-tokens-per-gpu 8192 "  # 32768 elsewhere\n'
    assert given(text) == [("use-dynamic-batch-size", "true"), ("max-tokens-per-gpu", "8192")]


def test_a_value_that_python_fills_in_is_no_flag_without_one() -> None:
    assert ("tag", "true") not in given('args = (\n    f"--tag {name} --optimizer adam "\n)\n')
