"""A card whose use grows over steps: besides what leaks, the pass and the engine's share have keys of their own."""

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

GROWS = "{who}, 8 x A100 80G, GPU memory keeps growing every step, CUDA out of memory after ~130 steps\n{flags}"


def order(who: str, flags: str) -> list[str]:
    return [one.lever.slug for one in diagnose(GROWS.format(who=who, flags=flags), {}, current(), ()).prescriptions]


def test_a_smaller_pass_is_among_the_first_five():
    flags = "--pretrain Qwen/Qwen2.5-7B --micro_train_batch_size 4 --micro_rollout_batch_size 8 --generate_max_len 8192 --zero_stage 3"
    assert "batch.micro.down" in order("openrlhf grpo", flags)[:5]


def test_nothing_of_it_where_the_host_grows():
    found = diagnose("openrlhf grpo --micro_train_batch_size 4, host RAM grows 3GB every step", {}, current(), ())
    assert found.kind == "memory_growth"
    assert "batch.micro.down" not in [one.lever.slug for one in found.prescriptions]


def test_a_smaller_share_comes_first_where_the_engine_does_not_wake():
    flags = (
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n"
        "worker.rollout.gpu_memory_utilization=0.6 worker.actor.micro_batch_size_per_device_for_update=4"
    )
    assert order("EasyR1 qwen2.5-vl-3b, wake_up fails", flags)[0] == "rollout.gpu_memory_utilization.down"
