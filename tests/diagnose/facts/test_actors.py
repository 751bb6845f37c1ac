"""Who works where: the class that Ray names before a line or in a call tells the phase where one file holds several roles."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
LAUNCHER = '  File "/opt/openrlhf/trainer/ray/launcher.py", line 170, in forward\n    out = self.model(ids)\n'
ORZ = '  File "/opt/orz/ppo/actors.py", line 880, in {}\n    out = self.model(ids)\n'


def _phase(text):
    return diagnose(text, {}, current(), ()).phase


def _prefixed(actor, text):
    return "\n".join(f"({actor} pid=311, ip=10.0.0.2) {line}" for line in text.splitlines())


@pytest.mark.parametrize(
    ("actor", "phase"),
    [
        ("RewardModelRayActor", "reward"),
        ("RewardModelActor", "reward"),
        ("ReferenceModelRayActor", "ref_logprob"),
        ("ReferenceModelActor", "ref_logprob"),
    ],
)
def test_one_file_of_reference_and_reward_model_is_told_apart_by_the_actor(actor, phase):
    assert _phase(_prefixed(actor, LAUNCHER + OOM)) == phase
    assert _phase(f"ray::{actor}.execute_batch() (pid=311, ip=10.0.0.2)\n{LAUNCHER}{OOM}") == phase


def test_without_the_actor_the_file_tells_no_phase():
    assert _phase(f"openrlhf\n{LAUNCHER}{OOM}") is None


@pytest.mark.parametrize(
    ("actor", "function", "phase"),
    [
        ("PolicyRayActorBase", "training_step", "actor_update"),
        ("CriticRayActorBase", "training_step", "critic"),
        ("CriticRayActorBase", "forward", "values"),
        ("RefRayActorBase", "forward", "ref_logprob"),
        ("PolicyRayActorBase", "forward", "logprob"),
    ],
)
def test_roles_that_share_a_file_are_told_apart_by_the_actor(actor, function, phase):
    assert _phase("Open-Reasoner-Zero\n" + _prefixed(actor, ORZ.format(function) + OOM)) == phase


def test_a_reward_model_takes_as_many_rows_as_a_log_prob_pass():
    run = "--micro_rollout_batch_size 16 --prompt_max_len 1024 --generate_max_len 3072 --zero_stage 3 --actor_num_gpus_per_node 8"
    text = f"openrlhf, Qwen2.5-7B PPO, 8 x A100 80GB\n{run}\n" + _prefixed("RewardModelRayActor", LAUNCHER + OOM)
    found = diagnose(text, {}, current(), ())
    advised = next(one for one in found.prescriptions if one.lever.slug == "batch.logprob_micro.down")
    assert [(change.key, change.after) for change in advised.changes] == [("micro_rollout_batch_size", "8")]
    assert found.facts.values["framework_version"] < "0.8.3"


@pytest.mark.parametrize(
    ("actor", "phase"),
    [("CriticModelRayActor", "critic"), ("CriticModelActor", "critic"), ("PolicyModelActor", "actor_update")],
)
def test_one_call_of_both_roles_is_told_apart_by_the_actor_where_its_caller_is_cut_off(actor, phase):
    cut = '  File "/opt/openrlhf/utils/deepspeed/deepspeed.py", line 144, in backward\n    model.backward(loss)\n'
    assert _phase(_prefixed(actor, cut + OOM)) == phase
    caller = '  File "/opt/openrlhf/trainer/ray/ppo_critic.py", line 132, in training_step\n    self.strategy.backward(loss)\n'
    assert _phase(caller + cut + OOM) == "critic"
