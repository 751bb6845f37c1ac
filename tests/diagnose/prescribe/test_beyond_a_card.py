"""One request that is larger than the whole card."""

from __future__ import annotations

import pytest

RUN = """
GRPO of Qwen2.5-VL-3B with trl on 2 x RTX 3090, LoRA rank 64
{frame}
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 23.68 GiB.
--per_device_train_batch_size 4 --num_generations 4 --max_completion_length 512 --attn_implementation eager --beta 0.04
"""
VISION = '  File "/x/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py", line 258, in forward'
ROOM = {
    "offload.optimizer.on",
    "offload.param.on",
    "shard.zero_stage.up",
    "allocator.empty_cache",
    "allocator.expandable_segments",
}


def test_nothing_that_only_makes_room_is_advised_for_it(advise):
    levers = advise(RUN.format(frame=VISION, asked="57.22")).levers
    assert not ROOM & set(levers)
    assert {"image.pixels.down", "batch.micro.down"} & set(levers)


def test_a_request_that_a_card_holds_is_helped_by_room(advise):
    assert ROOM & set(advise(RUN.format(frame=VISION, asked="12.22")).levers)


@pytest.mark.parametrize(
    "frame", ['  File "/x/deepspeed/runtime/zero/stage_1_and_2.py", line 565, in initialize_optimizer_states']
)
def test_an_optimizer_made_flat_is_no_tensor_of_a_pass(advise, frame):
    refused = {one.why for one in advise(RUN.format(frame=frame, asked="57.22")).not_advised}
    assert not any("in one piece is more than the whole card" in why for why in refused)
