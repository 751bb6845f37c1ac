from __future__ import annotations

import pytest

from tests.diagnose.prescribe.conftest import GROUPED, ON_THE_HOST


def test_it_never_advises_what_is_on(advise):
    advice = advise(GROUPED)
    for lever in ("checkpointing.activation.on", "padding.remove", "offload.param.on", "offload.optimizer.on"):
        assert lever not in advice.levers
        assert advice.refused(lever).reason == "on"


def test_what_is_on_is_shown_at_its_line(advise):
    refused = advise(GROUPED).refused("checkpointing.activation.on")
    line = GROUPED.splitlines()[refused.span.line - 1]
    assert line[refused.span.start : refused.span.end] == "True"


def test_no_change_sets_a_key_to_what_it_is(advise):
    changes = [change for one in advise(GROUPED).prescriptions for change in one.changes]
    assert changes
    assert all(change.before != change.after for change in changes)


def test_it_never_advises_what_was_tried_in_vain(advise):
    advice = advise("I made ppo_micro_batch_size smaller, no effect.\n" + GROUPED)
    refused = advice.refused("batch.micro.down")
    assert refused.reason == "tried"
    assert refused.span.line == 1
    assert "batch.micro.down" not in advice.levers


def test_what_was_tried_names_the_step_that_would_bite(advise):
    refused = advise("I made ppo_micro_batch_size smaller, no effect.\n" + GROUPED).refused("batch.micro.down")
    assert "ppo_micro_batch_size = 4" in refused.why


def test_it_never_offers_gpu_levers_for_host_ram(advise):
    advice = advise(ON_THE_HOST)
    assert advice.prescriptions
    assert all("host" in one.lever.pools and one.pool == "host" for one in advice.prescriptions)


def test_a_smaller_micro_batch_is_named_as_no_help_for_host_ram(advise):
    refused = advise(ON_THE_HOST).refused("batch.micro.down")
    assert refused.reason == "elsewhere"
    assert "host RAM" in refused.why


def test_a_saving_outside_the_failing_phase_is_worth_nothing(advise):
    advice = advise(GROUPED + "\n", phase="optimizer_step")
    assert "batch.train.down" not in advice.levers
    assert "rollout.gpu_memory_utilization.down" not in advice.levers


def test_a_smaller_engine_share_is_refused_with_the_phase_it_would_help(advise):
    refused = advise(GROUPED, phase="actor_update").refused("rollout.gpu_memory_utilization.down")
    assert refused.reason == "elsewhere"
    assert "rollout" in refused.why


def test_it_never_writes_a_key_that_has_no_effect(advise):
    dead = GROUPED.replace("rollout.n=32", "rollout.n=32 actor_rollout_ref.rollout.max_num_seqs=512")
    advice = advise(dead, phase="rollout")
    assert "actor_rollout_ref.rollout.max_num_seqs" in advice.facts.dead_keys
    assert all(change.key not in advice.facts.dead_keys for one in advice.prescriptions for change in one.changes)
    assert "rollout.max_num_seqs.down" not in advice.levers


def test_it_never_offers_a_key_that_the_framework_lacks(advise):
    assert "logits.chunked" not in advise(GROUPED).levers


def test_without_a_model_it_gives_no_figures(advise):
    advice = advise("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nin the actor update")
    assert advice.prescriptions
    for one in advice.prescriptions:
        assert (one.before, one.after, one.after_verdict, one.length_range, one.other_pool) == (
            None,
            None,
            "unknown",
            None,
            None,
        )


def test_what_moves_the_failure_to_the_host_is_refused(advise):
    text = GROUPED.replace("optimizer_offload=True", "optimizer_offload=False")
    roomy, tight = (advise(text, phase="rollout", n_nodes=1, host_ram_gb=ram) for ram in (2000, 70))
    assert "offload.optimizer.on" in roomy.levers
    assert "offload.optimizer.on" not in tight.levers


def test_bytes_that_go_to_the_host_are_told(advise):
    text = GROUPED.replace("optimizer_offload=True", "optimizer_offload=False")
    before, after = advise(text, phase="rollout", host_ram_gb=2000).advised("offload.optimizer.on").other_pool
    assert after > before


def test_no_word_is_used_that_would_change_the_algorithm(advise):
    text = """torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.
NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --use_vllm true \\
  --vllm_mode colocate --deepspeed zero3 --per_device_train_batch_size 4 --gradient_accumulation_steps 4
4 x A100 80GB"""
    changes = [change for one in advise(text, phase="actor_update").prescriptions for change in one.changes]
    assert changes
    assert all(change.key != "rlhf_type" for change in changes)
    assert all(change.after not in ("zero2", "zero2_offload") for change in changes)


@pytest.mark.parametrize("lever", ["rollout.gpu_memory_utilization.down", "batch.micro.down"])
def test_no_room_for_the_cache_never_asks_for_a_smaller_share(advise, lever):
    text = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    assert lever not in advise(text).levers


def test_raising_the_kill_line_stands_last(advise):
    levers = advise(ON_THE_HOST).levers
    assert "ray.memory_threshold.up" not in levers[:-1]
