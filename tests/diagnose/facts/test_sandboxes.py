"""A sandbox for the model's code that is killed beside the training: its memory is none of the trainer's."""

import pytest

from diagnose.facts.failing.kind import not_memory
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words.headline import headline

RUN = "verl 0.5.0 GRPO Qwen2.5-7B-Instruct, 8x H100 80GB, 1 node, 1 TB RAM\n"


@pytest.mark.parametrize(
    "words",
    [
        "My sandbox fusion server was OOM killed during training: docker logs say 'Killed'. Training itself hangs waiting for rewards.",
        "code execution sandbox container got OOMKilled (memory limit 2Gi), reward comes back as 0",
        "tool container Killed, exit code 137, when running python code from the model; training continues",
        "RLIMIT_AS of 4 GB in the code executor makes numpy import fail with MemoryError",
        "sandbox process killed by signal 9 (memory limit exceeded) in code reward; verl sandbox fusion",
        "代码沙箱被 OOM killed 了，奖励一直超时",
        "代码执行的子进程 MemoryError，RLIMIT_AS 设的 4GB",
        "prime code reward: subprocess raised MemoryError:\n"
        '  File "verl/utils/reward_score/prime_code/testing_util.py", line 712, in reliability_guard\nMemoryError',
    ],
)
def test_a_killed_sandbox_changes_no_setting_of_the_trainer(words):
    found = diagnose(RUN + words, {}, current(), [])
    assert (found.kind, found.pool, found.prescriptions) == (None, None, ())
    assert not_memory(found.facts).slug == "sandbox-killed"
    assert headline(found).startswith("The training's own memory did not run out: a sandbox")


@pytest.mark.parametrize(
    "words",
    [
        "Training worker was killed: ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory. "
        "We use sandbox fusion for code rewards on another host.",
        "the trainer got OOM killed by the kernel while the sandbox runs",
        "sandbox container was OOM killed, then the trainer was OOM killed as well",
        "verl with sandbox fusion; CPU RAM grows until the node kills the WorkerDict: host out of memory",
    ],
)
def test_a_trainer_that_fails_beside_one_is_the_failure(words):
    assert diagnose(RUN + words, {}, current(), []).kind == "host_ram"


@pytest.mark.parametrize(
    "words",
    [
        "the judge model's vLLM server OOMs: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. on a separate machine",
        "reward model server (separate vllm on another node) CUDA out of memory",
    ],
)
def test_a_judges_server_is_told_apart_where_its_message_follows_on_the_line(words):
    assert diagnose(RUN + words, {}, current(), []).facts.values["trains"] is False
