"""An engine that fails in its vision tower: its images make the pass, and no estimate has a figure of it."""

from __future__ import annotations

import pytest

RUN = """
    worker.rollout.limit_images=10 worker.rollout.gpu_memory_utilization=0.7 worker.rollout.max_num_batched_tokens=32768
    data.max_pixels=4194304 worker.rollout.n=8 data.rollout_batch_size=256
EasyR1, Qwen2.5-VL-7B, 8*A800
  File "vllm/model_executor/models/qwen2_5_vl.py", line 690, in forward
    {call}
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 2 has a total capacity of 79.33 GiB of which 2.77 GiB is free.
ray::WorkerDict.actor_rollout_generate_sequences()
"""
TOWER = "x = blk(x, cu_seqlens=cu_seqlens_now, rotary_pos_emb=rotary_pos_emb)"
DECODER = "hidden_states, residual = layer(positions, hidden_states, residual)"


@pytest.mark.parametrize(("call", "offered"), [(TOWER, True), (DECODER, False)])
def test_smaller_images_and_steps_are_offered_though_no_figure_has_them(advise, call, offered):
    found = advise(RUN.format(call=call), phase="rollout")
    assert ({"image.pixels.down", "rollout.max_num_batched_tokens.down"} <= set(found.levers[:3])) is offered
