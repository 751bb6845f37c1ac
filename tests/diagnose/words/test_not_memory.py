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
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: can't start new thread",
        "openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
        "ray.exceptions.RayTaskError(ZeroDivisionError): ray::TaskRunner.run() (pid=2312, ip=10.0.0.2)",
        "OSError: Can't load tokenizer for 'org/model'.",
        "worker-0 terminated with exit code 143",
        "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)",
        "Job exited with code 137 after I ran scancel.",
    ],
)
def test_a_failure_that_is_none_of_memory_is_said_to_be_none(line):
    found = diagnose(line, {}, current(), [])
    assert headline(found).startswith("This is no memory failure: ")
    assert found.questions == found.prescriptions == ()
    assert len(words.lead(found)) > 60


def test_nothing_is_advised_against_it_though_the_estimate_sees_the_cards_run_out():
    text = "RuntimeError: CUDA error: device-side assert triggered\ntrl grpo, Llama-3.1-8B, 4x L40S, added a pad token"
    found = diagnose(text, {}, current(), [])
    assert found.verdict == "out"
    assert (found.pool, found.prescriptions, found.together, found.checks) == (None, (), None, ())


def test_a_signal_that_somebody_sent_tells_of_no_memory():
    text = "slurmstepd: error: *** JOB 8 ON n7 CANCELLED AT 2026-11-20T04:00:12 DUE TO TIME LIMIT ***\nexitcode: -9 (pid: 4242)"
    assert headline(diagnose(text, {}, current(), [])) == "This is no memory failure: a job that the scheduler ended"


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
