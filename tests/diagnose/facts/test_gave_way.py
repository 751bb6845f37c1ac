"""A failure that a change put an end to, printed above the one that came in its place."""

import pytest

from tests.diagnose.facts.conftest import told

UPDATE = (
    "verl, 8 x A100, micro batch 8:\n"
    '  File "/opt/verl/verl/workers/actor/dp_actor.py", line 338, in update_policy\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.91 GiB. "
    "GPU 2 has a total capacity of 79.15 GiB of which 6.01 GiB is free.\n"
    "The cards have 80 GB.\n"
)
WAKE_UP = (
    "(WorkerDict pid=991) CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n"
    '(WorkerDict pid=991)   File "/opt/vllm/device_allocator/cumem.py", line 219, in wake_up\n'
)
CODE = "Traceback (most recent call last):\n  File \"/w/run.py\", line 3, in step\nKeyError: 'answer'\n"


@pytest.mark.parametrize(
    "words",
    [
        "then I set ppo_micro_batch_size_per_gpu=1 and that error went away but now it crashes here:",
        "After that change a different error:",
        "改成 1 之后上面的错没了，但是现在报：",
    ],
)
def test_the_failure_that_came_in_the_place_of_another_is_the_one_of_now(words):
    found = told(f"{UPDATE}{words}\n{WAKE_UP}")
    assert (found.kind, found.phase) == ("gpu_oom_raw", "weight_sync")
    assert found.facts.values["gpu_mem_gib"] == 80
    assert "tried_alloc_gib" not in found.facts.values
    assert any("given way" in note for note in found.facts.notes)


def test_what_came_in_its_place_may_be_none_of_memory():
    assert told(f"{UPDATE}after lowering it that OOM is gone but now I get\n{CODE}").kind is None


@pytest.mark.parametrize("words", ["on the driver I now get:", "That error is not gone, and now there is also:", ""])
def test_what_only_follows_it_leaves_the_first_as_it_is(words):
    found = told(f"{UPDATE}{words}\n{CODE}")
    assert (found.kind, found.phase) == ("gpu_oom", "actor_update")


def test_what_is_told_before_any_other_message_takes_nothing_away():
    assert told(f"{UPDATE}I set the share to 0.3 and that error went away, now it works.\n").kind == "gpu_oom"
