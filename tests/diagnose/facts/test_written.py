import pytest

from diagnose.facts.settings import written


@pytest.mark.parametrize(
    "text", ["$LEN", "a few", "", "1.2.3", "128 if DEBUG else 16", "1e999", "9" * 400, "9" * 400 + " * 2"]
)
def test_it_does_not_guess_a_number(text):
    assert written.number(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1_024", 1024),
        ("8", 8),
        ("'16'", 16),
        ("1e-6", 1e-6),
        ("0.95", 0.95),
        ("32k", 32768),
        ("$(expr 16 / 4)", 4),
        ("4 * 1024", 4096),
        ("list(range(0,16))", 16),
        ("list(range(8))", 8),
        ("list(range(0, 4)) + list(range(8, 12))", 8),
    ],
)
def test_it_reads_the_ways_in_which_numbers_are_written(text, number):
    assert written.number(text) == number


@pytest.mark.parametrize("text", ["null", "None", "~", ""])
def test_null_is_not_set(text):
    assert written.of("micro_batch", text) is None


def test_a_fraction_is_no_count():
    assert written.of("n_gpus", "0.5") is None


def test_it_reads_yes_and_no():
    assert [written.of("remove_padding", word) for word in ("True", "on", "1", "false", "OFF", "0")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("id", "text"),
    [("gpu_memory_utilization", "7.5"), ("micro_batch", "-5"), ("n_gpus", "9" * 20), ("response_length", "1e300")],
)
def test_a_number_that_no_run_can_have_is_not_set(id, text):
    assert written.of(id, text) is None
