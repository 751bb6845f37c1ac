"""Several failures in one log, and marks of processes that are no settings."""

import pytest

from diagnose.pipeline import diagnose

UPDATE = """Traceback (most recent call last):
  File "/opt/verl/verl/workers/actor/dp_actor.py", line 520, in update_policy
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 79.11 GiB of which 5.21 GiB is free.
"""
RESTART = (
    "[launcher] run failed with exit code 1, restarting (attempt 2/3)\n"
    "ValueError: Free memory on device (18.33/79.11 GiB) on startup is less than desired GPU memory utilization (0.6, 47.47 GiB). "
    "Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
)


def test_an_engine_that_does_not_start_again_places_no_failure_before_it(knowledge):
    assert diagnose(UPDATE + RESTART, {}, knowledge, ()).phase == "actor_update"
    assert diagnose(RESTART, {}, knowledge, ()).phase == "init"


def test_a_rank_before_a_message_is_no_size_of_the_engine(knowledge):
    command = "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=sglang trainer.n_gpus_per_node=8\n"
    for rank in ("TP1", "TP0", "DP0 TP3"):
        text = f"{command}(WorkerDict pid=9912) [2025-07-01 12:00:38 {rank}] Load weight end. avail mem=33.10 GB, mem usage=30.60 GB.\n"
        assert "rollout_tp" not in diagnose(text, {}, knowledge, ()).facts.stated or (
            diagnose(text, {}, knowledge, ()).facts.stated["rollout_tp"].origin == "default"
        )
    assert diagnose("verl OOM, tp=4, 8 x H100 80GB", {}, knowledge, ()).facts.values["rollout_tp"] == 4


LOADER = "RuntimeError: DataLoader worker (pid 123) is killed by signal: Killed.\n"
OTHERS = [
    "[rank1]: RuntimeError: CUDA error: out of memory\n",
    "[rank1]: Cuda failure 2 'out of memory'\n",
    "[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Process group watchdog thread terminated with exception: CUDA error: out of memory\n",
]


@pytest.mark.parametrize("message", OTHERS)
def test_a_loader_that_was_killed_before_other_ranks_lost_the_driver_is_the_cause(knowledge, message):
    kinds = {order: diagnose(order, {}, knowledge, ()).kind for order in (LOADER + message, message + LOADER, message)}
    assert list(kinds.values()) == ["host_ram", "gpu_oom_raw", "gpu_oom_raw"]


def test_an_allocator_that_counts_what_it_held_is_believed_whatever_died_before(knowledge):
    assert diagnose(LOADER + UPDATE, {}, knowledge, ()).kind == "gpu_oom"
