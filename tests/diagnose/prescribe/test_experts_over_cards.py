"""A model of experts under Megatron that several phases have no room for: the change that helps most is not refused for the others."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

RUN = """NPROC_PER_NODE=8 megatron sft --load Qwen3-30B-A3B-Base-mcore --tensor_model_parallel_size 2 --expert_model_parallel_size {ep} \\
    --expert_tensor_parallel_size 1 --micro_batch_size 1 --global_batch_size 16 --packing true --recompute_granularity selective \\
    --max_length 32768 --sequence_parallel true
8 x A100 80GB
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB. GPU 4 has a total capacity of 79.33 GiB of which 3.94 GiB is free.
  File "megatron/core/transformer/moe/experts.py", line 260, in forward
"""


def answer(ep: int):
    return diagnose(RUN.format(ep=ep), {}, current(), ())


def keys(found, slug: str) -> list[str]:
    return [change.key for one in found.prescriptions if one.lever.slug == slug for change in one.changes]


def test_full_recomputation_is_advised_though_the_optimizers_step_has_no_room_either():
    assert answer(4).prescriptions[0].lever.slug == "checkpointing.activation.on"


def test_the_optimizer_goes_to_the_host_by_megatrons_key():
    assert keys(answer(4), "offload.optimizer.on") == ["optimizer_cpu_offload", "use_precision_aware_optimizer"]


def test_experts_go_over_as_many_cards_as_there_are():
    assert keys(answer(4), "shard.expert_parallel.up") == ["expert_model_parallel_size"]
    assert not keys(answer(8), "shard.expert_parallel.up")


def test_a_copy_of_the_experts_that_the_cards_do_not_hold_is_not_advised():
    """Nothing tells how tensor parallelism cuts the experts: as few cards as that can be, 8 × 8, are more than 32."""
    text = """verl Qwen3-235B-A22B, 32 x H20 96GB, 4 nodes
actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8
actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4
actor_rollout_ref.actor.megatron.expert_model_parallel_size=4
actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1
torch.OutOfMemoryError: CUDA out of memory in actor_optimizer.step()
"""
    assert not keys(diagnose(text, {}, current(), ()), "shard.expert_parallel.up")


def test_experts_that_do_not_divide_are_not_spread_further():
    """The 60 experts of a layer of Qwen1.5-MoE go over 4 cards and not over 8."""
    text = RUN.replace("Qwen3-30B-A3B-Base-mcore", "Qwen1.5-MoE-A2.7B").replace(
        "tensor_model_parallel_size 2", "tensor_model_parallel_size 1"
    )
    spread = keys(diagnose(text.format(ep=2), {}, current(), ()), "shard.expert_parallel.up")
    assert spread == ["expert_model_parallel_size"]
    assert not keys(diagnose(text.format(ep=4), {}, current(), ()), "shard.expert_parallel.up")
