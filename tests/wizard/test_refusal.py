"""The figures of an allocator's message as a note of the page, and the one question about a kill that says no cause."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text
from wizard.notes import notes

MESSAGE = (
    "GRPO on Qwen2.5-VL-72B-Instruct\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 462.00 MiB. GPU 4 has a total capacity of 79.11 GiB of which "
    "100.00 MiB is free. Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of the allocated memory 74.57 GiB is "
    "allocated by PyTorch, and 92.46 MiB is reserved by PyTorch but unallocated."
)


def answer(text: str):
    return diagnose(text, {}, current(), ())


def titled(text: str) -> dict[str, str]:
    return {note.title: note.words for note in notes(answer(text))}


def test_a_message_without_figures_has_no_such_note():
    assert "What the message’s figures say" not in titled("CUDA error: out of memory")


def test_the_page_says_what_the_figures_say():
    assert "one MLP matrix in bf16" in titled(MESSAGE)["What the message’s figures say"]


def test_the_terminal_says_the_same():
    assert "one MLP matrix in bf16" in to_text(answer(MESSAGE))


def test_a_kill_without_a_cause_is_asked_about_first():
    diagnosis = answer("failed (exitcode: -9) local_rank: 0 (pid: 4242) of binary: /usr/bin/python3")
    assert diagnosis.questions[0].question.fact == "oom_kind"
    assert diagnosis.facts.stated["oom_kind"].origin == "assumed"


def test_a_kill_that_the_kernel_explains_is_not_asked_about():
    diagnosis = answer("exit code -9\nMemory cgroup out of memory: Killed process 4242 (python)")
    assert "oom_kind" not in [asked.question.fact for asked in diagnosis.questions]


def test_the_peak_of_a_note_is_the_one_that_the_chart_shows():
    run = {
        "oom_kind": "gpu_oom",
        "framework": "verl",
        "model": "Qwen2.5-7B",
        "n_gpus": 8,
        "gpu_mem_gib": 80,
        "algo": "grpo",
        "phase": "checkpoint",
    }
    for version in ("0.8.2", "0.8.5"):
        found = diagnose("", {**run, "engine_version": version}, current(), ())
        told = next(note.words for note in notes(found) if note.title == "The settings do not explain this failure")
        assert f"needs {found.estimate.gpu.peak.shown}\u00a0GiB" in told
