"""Lines that a terminal broke, and lines that only look so."""

from __future__ import annotations

import textwrap

import pytest

from diagnose.ingest.normalise import normalise

LOG = """Traceback (most recent call last):
  File "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1739, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "/opt/conda/lib/python3.11/site-packages/transformers/models/qwen2/modeling_qwen2.py", line 703, in forward
    logits = self.lm_head(hidden_states[:, -num_logits_to_keep:, :])
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 79.10 GiB of which 3.31 GiB is free. \
Process 4711 has 75.78 GiB memory in use. Of the allocated memory 70.02 GiB is allocated by PyTorch, and 2.11 GiB is reserved by PyTorch \
but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid \
fragmentation."""
PROSE = """We train a model of seven billion parameters on four cards of eighty gigabytes with a batch that was small enough last week,
and since the update the very first step of the actor runs out of memory, whichever length we choose for the responses of the model.
Nothing else was changed on the machine, and the same script runs on the older one of the two machines that stand in the other room."""


def broken(text: str, width: int) -> str:
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, len(line), width))


@pytest.mark.parametrize("width", [66, 80, 97])
def test_it_puts_lines_together_that_a_terminal_broke(width: int) -> None:
    assert normalise(broken(LOG, width)) == LOG


def test_it_leaves_the_long_lines_of_a_person_beside_them() -> None:
    assert normalise(f"{PROSE}\n\n{broken(LOG, 80)}") == f"{PROSE}\n\n{LOG}"


def test_it_leaves_text_that_was_filled_at_blanks() -> None:
    filled = textwrap.fill(PROSE, 72)
    assert normalise(filled) == filled


def test_it_leaves_the_lines_of_a_program_that_are_all_as_long() -> None:
    lines = [
        f"step {number:4} loss 0.{number:04} kl 0.{number:04} length {number + 100} tokens {number:06} of that many"
        for number in range(30)
    ]
    table = ["|" + "-" * 88 + "|"] * 5
    text = "\n".join([*lines, *table])
    assert normalise(text) == text


def test_it_leaves_the_rows_of_a_table_which_are_all_as_wide() -> None:
    titles = "       JobID      State ExitCode     MaxRSS     ReqMem    Elapsed"
    rule = "------------ ---------- -------- ---------- ---------- ----------"
    rows = [
        f"{job:<12} OUT_OF_ME+    0:125 261234567K       256G   00:41:02"
        for job in ("88123", "88123.batch", "88123.extern")
    ]
    table = "\n".join((titles, rule, *rows))
    assert {len(line) for line in table.split("\n")} == {65}
    assert normalise(table) == table
