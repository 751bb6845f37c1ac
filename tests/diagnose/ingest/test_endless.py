"""Logs whose line ends were taken out, and long lines that are no such log."""

from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.ingest.normalise import normalise

FRAMES = (
    'Traceback (most recent call last):\n  File "/w/a.py", line 42, in main\n    run(config)\n'
    '  File "/w/actor.py", line 381, in update_policy\n    loss.backward()\n'
)
ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
LOG = "\n".join(f"(Worker pid={number}) a line about loading part {number}" for number in range(200))


def functions(text: str) -> list[str]:
    return [frame.function for frame in read(text).frames]


def test_it_leaves_a_long_line_of_settings_whole() -> None:
    line = "python train.py " + " ".join(f"--key_{number} {number}" for number in range(600))
    assert normalise(line) == line


def test_it_leaves_a_single_frame_in_a_sentence_whole() -> None:
    line = 'It stops at File "/w/a.py", line 42, in main and I do not know why'
    assert normalise(line) == line


@pytest.mark.parametrize("joined", [(FRAMES + ERROR).replace("\n", " "), " ".join((FRAMES + ERROR).split())])
def test_a_traceback_in_one_line_has_its_frames_and_its_error(joined: str) -> None:
    assert functions(joined) == ["main", "update_policy"]
    assert normalise(joined).split("\n")[-1] == ERROR


def test_a_log_in_one_line_is_read_to_its_end() -> None:
    joined = f"{LOG}\n{FRAMES}{ERROR}".replace("\n", " ")
    assert len(normalise(joined).split("\n")) == 200 + 6
    assert functions(joined) == ["main", "update_policy"]


def test_an_error_behind_millions_of_letters_stands_on_a_line_of_its_own() -> None:
    assert normalise("x" * 2_000_000 + f" {ERROR}").split("\n")[-1] == ERROR


@pytest.mark.parametrize(
    "text", [" " * 1_000_000 + "x", "\t " * 500_000 + "x", FRAMES.split("\n")[1] + " " * 1_000_000 + "x"]
)
def test_a_megabyte_of_blanks_is_no_log(text: str) -> None:
    """Tried from each blank anew it would take hours."""
    assert len(normalise(text).split("\n")) <= 3
