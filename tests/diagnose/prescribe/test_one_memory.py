"""A machine whose cards have no memory of their own."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = """{machine}: NeMo RL GRPO, Qwen/Qwen3-8B, policy.generation.vllm_cfg.gpu_memory_utilization=0.6
policy.train_micro_batch_size=2 cluster.gpus_per_node=1
kernel: Out of memory: Killed process 41233 (VLLM::EngineCor) total-vm:181223004kB, anon-rss:9213312kB, file-rss:220160kB
"""


def _said(machine):
    found = diagnose(RUN.format(machine=machine), {}, current(), ())
    return (
        found,
        {one.lever.slug for one in found.prescriptions},
        {one.lever.slug: one.why for one in found.not_advised},
    )


def test_a_card_with_memory_of_its_own_is_not_the_host():
    found, advised, refused = _said("one RTX 4090")
    assert "one_memory" not in found.facts.values
    assert "rollout.gpu_memory_utilization.down" not in advised
    assert "acts on GPU memory" in refused["rollout.gpu_memory_utilization.down"]


def test_a_tpu_has_memory_of_its_own():
    assert "one_memory" not in _said("TPU v4-8")[0].facts.values


@pytest.mark.parametrize("machine", ["DGX Spark (GB10, 128GB unified)", "Jetson AGX Orin", "Strix Halo box"])
def test_what_the_engine_and_the_trainer_hold_is_what_the_host_lacks(machine):
    found, advised, refused = _said(machine)
    assert found.kind == "host_ram"
    assert "rollout.gpu_memory_utilization.down" in advised
    assert "batch.micro.down" in advised
    assert not [why for why in refused.values() if "acts on GPU memory" in why]


def test_offloading_to_the_same_memory_is_refused():
    _, advised, refused = _said("DGX Spark")
    assert not [slug for slug in advised if slug.startswith("offload.") and slug.endswith(".on")]
    assert "one memory" in refused["offload.optimizer.on"]
