"""Pinned memory that is refused: the setting that pins is the smallest change."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OFFLOAD = "LLaMA-Factory 0.9.3 dpo full on Qwen2.5-1.5B, {file}, WSL2, RTX 4090, 64 GB RAM\n"
PINS = (
    '  File "/opt/deepspeed/accelerator/cuda_accelerator.py", line 265, in pin_memory\n    return tensor.pin_memory()\n'
    "RuntimeError: CUDA error: out of memory\n"
)
KILLED = "[123.4] Out of memory: Killed process 42 (python) total-vm:1kB, anon-rss:61234567kB\n"


def first(text: str) -> str:
    return diagnose(text, {}, current(), ()).prescriptions[0].lever.slug


@pytest.mark.parametrize("file", ["ds_z3_offload_config.json", "ds_z2_offload_config.json"])
def test_pinning_less_comes_before_another_training(file):
    assert first(OFFLOAD.format(file=f"deepspeed: examples/deepspeed/{file}") + PINS) == "host.pinned.off"


def test_the_loaders_pinned_batches_count_too():
    loader = PINS.replace("deepspeed/accelerator/cuda_accelerator.py", "torch/utils/data/_utils/pin_memory.py")
    assert first("LLaMA-Factory sft lora Qwen2.5-7B, 1x RTX 4090, 64 GB RAM\n" + loader) == "host.pinned.off"


def test_memory_that_is_used_up_is_another_failure():
    found = diagnose(
        OFFLOAD.format(file="deepspeed: examples/deepspeed/ds_z3_offload_config.json") + KILLED, {}, current(), ()
    )
    assert "host.pinned.off" not in {one.lever.slug for one in found.prescriptions}
