"""Two runs in one paste, of which one went well."""

from __future__ import annotations

import pytest

RUN = "python3 -m verl.trainer.main_ppo data.train_batch_size=8 actor_rollout_ref.rollout.gpu_memory_utilization={}"
BAD, GOOD = RUN.format(0.8), RUN.format(0.5)


@pytest.mark.parametrize(
    "text",
    [
        f"# run 1\n{BAD}\nCUDA out of memory\n\n# run 2 (works!)\n{GOOD}\n",
        f"Did not work (CUDA OOM):\n{BAD}\nThis one works:\n{GOOD}\n8 x A100\n",
        f"This one is fine:\n{GOOD}\n\nThis one dies with CUDA out of memory:\n{BAD}\n",
        f"{BAD}\n还是爆显存\n\n{GOOD}\n这个正常\n",
    ],
)
def test_the_settings_of_the_run_that_failed_are_read(values, text):
    assert values(text)["gpu_memory_utilization"] == 0.8


@pytest.mark.parametrize(
    "text",
    [
        f"{BAD}\nCUDA out of memory\n\nI lowered it and it is the same:\n{GOOD}\n",
        f"{BAD}\nCUDA out of memory\n\nDoes that fit?\n{GOOD}\n",
        f"works:\n{GOOD}\nwhy CUDA out of memory at the second step?",
    ],
)
def test_a_later_command_counts_where_nobody_says_that_it_went_well(values, text):
    assert values(text)["gpu_memory_utilization"] == 0.5
