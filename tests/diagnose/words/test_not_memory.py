"""Failures that come in the same logs and are none of memory."""

import pytest

from diagnose import words
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words.headline import headline


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: CUDA error: device-side assert triggered",
        "OSError: [Errno 28] No space left on device: '/ckpt/step_10/model.pt'",
        "Fatal Python error: Segmentation fault",
        "RuntimeError: The size of tensor a (2048) must match the size of tensor b (4096) at non-singleton dimension 1",
        "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
        "torch.distributed.DistNetworkError: port: 29500, code: -98, name: EADDRINUSE, message: address already in use",
        "KeyError: 'multi_modal_inputs'",
    ],
)
def test_a_failure_that_is_none_of_memory_is_said_to_be_none(line):
    found = diagnose(line, {}, current(), [])
    assert headline(found).startswith("This is no memory failure: ")
    assert found.questions == found.prescriptions == ()
    assert len(words.lead(found)) > 60


def test_a_failure_of_memory_outranks_what_it_drags_down():
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nWatchdog caught collective operation timeout"
    assert headline(diagnose(text, {}, current(), [])).startswith("GPU memory runs out")


def test_an_error_of_code_behind_a_full_card_is_not_the_cause():
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nKeyError: 'loss'"
    assert headline(diagnose(text, {}, current(), [])).startswith("GPU memory runs out")


def test_cases_of_memory_stand_beside_no_other_failure():
    knowledge = current()
    text = "verl ppo 8xH100, saving\nRuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 9 vs 8"
    assert diagnose(text, {}, knowledge, tuple(knowledge.cases.values())).matches == ()
