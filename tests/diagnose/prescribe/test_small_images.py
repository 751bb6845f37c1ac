"""Images that are smaller than the limit by far: half of it scales none of them."""

from __future__ import annotations

from diagnose.pipeline import diagnose

FAILED = """
  File "/root/EasyR1/verl/workers/fsdp_workers.py", line 498, in update_actor
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.93 GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.41 GiB is free.
"""
GEOMETRY = """python3 -m verl.trainer.main config=examples/config.yaml data.train_files=hiyouga/geometry3k@train \\
    worker.actor.model.model_path=Qwen/Qwen2.5-VL-7B-Instruct trainer.n_gpus_per_node=8"""


def test_images_of_a_known_set_are_not_scaled_to_a_size_that_none_has(knowledge):
    lever = "image.pixels.down"
    small = diagnose(GEOMETRY + FAILED, {}, knowledge, ())
    assert lever not in [one.lever.slug for one in small.prescriptions]
    own = diagnose(GEOMETRY.replace("hiyouga/geometry3k", "mine/photographs") + FAILED, {}, knowledge, ())
    assert lever in [one.lever.slug for one in own.prescriptions]
