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


HEAD = "trl 0.17.0, 8x A100 80GB\n"
STARTED = (
    "accelerate launch --config_file zero3.yaml train_grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct "
    "--per_device_train_batch_size {} --max_completion_length 1024\n"
)
CRASHED = (
    'Traceback (most recent call last):\n  File "trl/trainer/grpo_trainer.py", line 1063, in compute_loss\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB.\n"
)


@pytest.mark.parametrize(
    "between", ["", "I then set the batch to 1 and now\n", "Second attempt, batch 1:\n", "After:\n", "改小之后：\n"]
)
def test_a_program_that_was_started_again_fails_with_its_own_settings(between):
    found = told(
        HEAD + STARTED.format(4) + CRASHED.format("9.28") + between + STARTED.format(1) + CRASHED.format("2.10")
    )
    assert (found.facts.values["micro_batch"], found.facts.values["tried_alloc_gib"]) == (1, 2.1)
    assert found.facts.values["n_gpus"] == 8
    assert any("given way" in note for note in found.facts.notes)


def test_an_engine_that_found_no_cache_before_is_not_the_failure():
    no_cache = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.\n"
    found = told(HEAD + STARTED.format(4) + no_cache + STARTED.format(1) + CRASHED.format("2.10"))
    assert (found.kind, found.phase) == ("gpu_oom", "actor_update")


@pytest.mark.parametrize(
    "text",
    [
        STARTED.format(4) + CRASHED.format("9.28") + CRASHED.format("9.10"),  # two ranks of one failure
        STARTED.format(4)
        + CRASHED.format("9.28")
        + "[rank1]: torch.distributed.DistBackendError: NCCL error, remote process exited\n",
        STARTED.format(4)
        + CRASHED.format("9.28")
        + "During handling of the above exception:\n"
        + CRASHED.format("9.28"),
        STARTED.format(4) + CRASHED.format("9.28") + STARTED.format(1),  # it has not failed yet
        "CUDA_VISIBLE_DEVICES=7 trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct\n"
        + STARTED.format(4)
        + CRASHED.format("9.28"),
        STARTED.format(4).replace("launch", "launch --machine_rank 0")
        + CRASHED.format("9.28")
        + STARTED.format(4).replace("launch", "launch --machine_rank 1")
        + CRASHED.format("9.10"),  # two nodes of one run
    ],
)
def test_the_first_of_one_run_is_the_cause(text):
    assert told(HEAD + text).facts.values["tried_alloc_gib"] == 9.28
