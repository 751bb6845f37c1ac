"""A loop of one's own: what nothing tells of it, no lever speaks of."""

from __future__ import annotations

import pytest

LOOP = """
my own GRPO loop, Qwen2.5-3B, one RTX 4090
{told}
  File "/w/train.py", line 101, in main
    results = step(model, batch)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.43 GiB. GPU 0 has a total capacity of 23.52 GiB of which 1.02 GiB is free.
"""
ZERO = """
nano RL script, Qwen2.5-3B, one A100 40GB
  File "/w/train.py", line 809, in main
    policy_model, *_ = deepspeed.initialize(
  File "/x/deepspeed/runtime/zero/stage_1_and_2.py", line 565, in __init__
    self.initialize_optimizer_states()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 11.50 GiB. GPU 0 has a total capacity of 39.39 GiB of which 4.10 GiB is free.
"""


@pytest.mark.parametrize(
    ("told", "lever", "said"),
    [
        ("", "precision.base_bf16", False),
        ("", "peft.qlora", False),
        ("", "offload.optimizer.step.on", False),
        ("", "optimizer.precision_aware.on", False),
    ],
)
def test_adapters_and_megatron_are_spoken_of_where_the_text_tells_of_them(advise, told, lever, said):
    advice = advise(LOOP.format(told=told))
    refused = {one.lever.slug for one in advice.not_advised}
    assert (lever in advice.levers or lever in refused) is said


def test_building_the_optimizer_is_told_by_the_line_that_calls_it_and_is_no_merge(advise):
    levers = advise(ZERO).levers
    assert "offload.optimizer.on" in levers
    assert not {"load.on_host", "load.spread", "load.low_bit"} & set(levers)


@pytest.mark.parametrize(("told", "said"), [("no DeepSpeed", False), ("deepspeed zero3", True)])
def test_weights_that_the_model_samples_with_are_not_offered_to_leave_the_card(advise, told, said):
    text = (
        f"own GRPO loop with peft, no vllm, {told}, 7B LoRA r=32 on a 4090, OOM in model.generate, 8 answers a question"
    )
    assert ("offload.param.on" in advise(text).levers) is said
