"""A pass that several roles make alike is told apart by the process that prints it."""

from __future__ import annotations

import pytest

FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB. GPU 0 has a total capacity of 79.15 GiB"
PASS = (
    """{0}  File "/ROLL/roll/pipeline/base_worker.py", line 152, in {1}
{0}    results = self.strategy.run(
{0}"""
    + FULL
)
CALLS = (
    """  File "/ROLL/roll/pipeline/rlvr/rlvr_pipeline.py", line 596, in run
    {} = self.actor_train.compute_log_probs(batch, blocking=True)
"""
    + FULL
)


@pytest.mark.parametrize(
    ("process", "function", "phase"),
    [
        ("(reference-0 pid=8123) ", "compute_log_probs", "ref_logprob"),
        ("(actor_train-3 pid=8123) ", "compute_log_probs", "logprob"),
        ("", "compute_log_probs", None),
        ("(critic-0 pid=8123) ", "train_step", "critic"),
        ("(actor_train-0 pid=8123) ", "train_step", "actor_update"),
    ],
)
def test_a_pass_belongs_to_the_role_whose_process_prints_it(values, process, function, phase):
    assert values(PASS.format(process, function)).get("phase") == phase


@pytest.mark.parametrize(("name", "phase"), [("ref_log_probs", "ref_logprob"), ("old_log_probs_refs", "logprob")])
def test_one_role_that_serves_two_is_told_by_what_it_is_called_for(values, name, phase):
    assert values(CALLS.format(name))["phase"] == phase


def test_a_pass_of_an_unnamed_role_is_one_of_those_that_make_it(facts):
    command = "python examples/start_rlvr_pipeline.py\nactor_train.strategy_args.strategy_name=megatron_train\n"
    call = (
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::ActorWorker.compute_log_probs() (pid=3312, ip=10.0.0.1)\n"
    )
    found = facts(f"ROLL\n{command}{call}{FULL}")
    assert found.among == ("logprob", "ref_logprob")
    assert "phase" not in found.values


def test_a_frame_is_no_remark_of_a_person(values):
    frame = '  File "/x/my_trainer.py", line 12, in compute_log_probs\n    return self.model(x)\n'
    assert "phase" not in values(f"python my_trainer.py --model_name Qwen/Qwen2.5-7B\n{frame}{FULL}")
    assert values(f"it fails in compute_log_probs\n{FULL}")["phase"] == "logprob"
