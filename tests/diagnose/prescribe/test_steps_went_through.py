"""A phase that steps went through lacks little: its figures are too high, and a small change is enough."""

from __future__ import annotations

import pytest

RUN = """
swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-VL-7B-Instruct --train_type full --torch_dtype bfloat16 --deepspeed zero3 \\
    --use_vllm true --vllm_mode colocate --sleep_level 1 --vllm_gpu_memory_utilization 0.4 --per_device_train_batch_size 4 \\
    --gradient_accumulation_steps 2 --num_generations 8 --max_completion_length 2048 --max_length 4096 --attn_impl flash_attn
{steps}
[rank1]:     self.loss_scaler.backward(loss.float(), retain_graph=retain_graph)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.61 GiB. GPU 1 has a total capacity of 39.39 GiB of which 1.20 GiB is free.
ms-swift 3.4.0, 4 x A100 40GB
"""
PASSED = "{'loss': 0.0, 'completions/mean_length': 311.0, 'completions/max_length': 1400.0, 'global_step/max_steps': '5/500'}"


@pytest.mark.parametrize(("steps", "first"), [(PASSED, "batch.micro.down"), ("", "offload.optimizer.on")])
def test_what_saves_more_than_was_lacking_comes_before_what_costs_more(advise, steps, first):
    assert advise(RUN.format(steps=steps), phase="actor_update").levers[0] == first
