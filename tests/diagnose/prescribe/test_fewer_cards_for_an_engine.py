"""An engine on fewer cards is no help where its weights then take all that it may."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

SERVER = """CUDA_VISIBLE_DEVICES=0,1,2,3 swift rollout --model Qwen/{model} --vllm_tensor_parallel_size 4
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.19 GiB. GPU 0 has a total capacity of 79.25 GiB of which 870.94 MiB is free.
  File "/usr/lib/python3.10/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1500, in profile_run
"""


@pytest.mark.parametrize(("model", "advised"), [("Qwen2.5-72B-Instruct", False), ("Qwen2.5-7B-Instruct", True)])
def test_it_is_advised_where_each_card_then_holds_the_weights_with_room_for_a_cache(model: str, advised: bool) -> None:
    found = diagnose(SERVER.format(model=model), {}, current(), ())
    assert ("rollout.tensor_parallel.down" in [one.lever.slug for one in found.prescriptions]) == advised
