"""Which phases a failure leaves possible on a node."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.possible import possible_phases
from diagnose.words import worst

KILLED = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=88213.0. Some of the step tasks have been OOM Killed.\n"
    "#SBATCH --mem=300G\nverl GRPO Qwen2.5-32B on 8xH100, param_offload=True optimizer_offload=True{}"
)


@pytest.mark.parametrize(
    ("when", "saved"),
    [
        (", killed in the first step", False),
        (", killed at step 7", True),
        ("", True),
        (", step 1 is fine, then killed", True),
    ],
)
def test_a_run_that_ended_in_its_first_step_came_to_no_checkpoint(when, saved):
    diagnosis = diagnose(KILLED.format(when), {}, current(), ())
    host = diagnosis.estimate.host
    assert ("checkpoint" in (possible_phases(diagnosis.facts, host) or ("checkpoint",))) is saved
    assert (worst(diagnosis, host).phase == "checkpoint") is saved
    assert host.peak.phase == "checkpoint"
