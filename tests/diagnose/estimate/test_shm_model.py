"""A trainer that copies the model's files to /dev/shm before it loads them."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-72B-Instruct "
    "actor_rollout_ref.model.lora_rank=32 trainer.n_gpus_per_node=8 {more}\nverl {version}, 8 x H100 80GB\n"
)
FULL = (
    "shutil.Error: [('/m/model-00012-of-00037.safetensors', '/dev/shm/verl-cache/0a1b/m/model-00012-of-00037.safetensors', "
    "\"[Errno 28] No space left on device: '/dev/shm/verl-cache/0a1b/m/model-00012-of-00037.safetensors'\")]"
)


def found(more="", version="0.6", text=""):
    return diagnose(RUN.format(more=more, version=version) + text, {}, current(), ())


def copied(said, phase):
    return sum(one.bytes for one in said.estimate.host.phase(phase).terms if one.id == "shm_model")


@pytest.mark.parametrize(("more", "version"), [("", "0.6"), ("actor_rollout_ref.model.use_shm=True", "0.3.0")])
def test_nothing_stands_there_unless_a_version_that_can_is_asked_to(more, version):
    assert not copied(found(more, version), "rollout")


@pytest.mark.parametrize("phase", ["load", "rollout", "actor_update"])
def test_the_copy_stays_once_on_each_node(phase):
    assert copied(found("actor_rollout_ref.model.use_shm=True"), phase) == pytest.approx(2 * 72.7e9, rel=0.01)


def test_where_it_finds_no_room_it_is_left_out_first():
    said = found("actor_rollout_ref.model.use_shm=True", text=FULL)
    first = said.prescriptions[0]
    assert (said.kind, said.phase, first.lever.slug) == ("host_shm", "load", "load.shm.off")
    assert [(one.key, one.after) for one in first.changes] == [("actor_rollout_ref.model.use_shm", "False")]


def test_a_full_dev_shm_without_it_is_enlarged_as_before():
    said = found(text="OSError: [Errno 28] No space left on device: '/dev/shm/nccl-abc'")
    assert said.prescriptions[0].lever.slug == "host.shm.up"
