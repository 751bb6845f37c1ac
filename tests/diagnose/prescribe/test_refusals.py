from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
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


def test_what_this_run_could_not_do_for_either_memory_is_not_named(advise):
    named = [one.lever.slug for one in advise(ON_THE_HOST).not_advised]
    assert "optimizer.precision_aware.on" not in named


def test_a_saving_outside_the_failing_phase_is_worth_nothing(advise):
    advice = advise(GROUPED + "\n", phase="optimizer_step")
    assert "batch.train.down" not in advice.levers
    assert "rollout.gpu_memory_utilization.down" not in advice.levers


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
    assert after.bytes > before.bytes


def test_raising_the_kill_line_stands_last(advise):
    levers = advise(ON_THE_HOST).levers
    assert "ray.memory_threshold.up" not in levers[:-1]


def test_what_lives_on_the_host_is_not_offloaded_once_more(advise):
    text = "python -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B --adam_offload --zero_stage 3\n8 x A100 40GB, CUDA OOM"
    advice = advise(text)
    assert "offload.optimizer.on" not in advice.levers
    assert advice.refused("offload.optimizer.on").reason == "on"


def test_a_phase_that_is_gone_is_measured_by_the_highest_of_the_others(advise):
    text = GROUPED.replace("adv_estimator=grpo", "adv_estimator=gae").replace("rollout.n=32", "rollout.n=1")
    given = advise(text, phase="critic")
    said = [one.why for one in given.not_advised if one.lever.slug == "algo.drop_critic"]
    assert not any("no longer be computed" in why for why in said)


def test_a_row_limit_is_lowered_where_there_is_no_response(advise):
    text = (
        "swift sft --model Qwen/Qwen2.5-14B --train_type full --max_length 8192 --per_device_train_batch_size 2 "
        "--deepspeed zero2\n8 x A800 80GB, CUDA out of memory"
    )
    advice = advise(text)
    assert [change.key for change in advice.advised("length.row.down").changes] == ["max_length"]
    assert "prompt_length" not in advice.facts.stated
    assert not {"length.response.down", "length.prompt.down"} & {one.lever.slug for one in advice.not_advised}


def test_a_lever_of_the_card_is_refused_by_the_name_of_what_is_full(advise):
    refused = advise("DataLoader worker (pid 7) is killed by signal: Bus error.\n").refused("batch.micro.down")
    assert "what runs out is shared memory" in refused.why


def test_supervised_training_has_no_reference_to_move(advise):
    text = "LLaMA-Factory sft qwen2.5-7b lora, 2 x V100 16G, cutoff_len 4096, CUDA out of memory"
    assert "offload.ref.on" not in advise(text).levers


def test_an_offload_that_is_on_is_not_said_to_be_off_because_nothing_lives_on_the_host(advise):
    advice = advise(ON_THE_HOST)
    assert "offload.optimizer.off" in advice.levers
    assert "offload.param.off" not in {one.lever.slug for one in advice.not_advised if one.reason == "on"}


FULL = (
    "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type lora --max_length 4096\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which {free} MiB "
    "is free. Including non-PyTorch memory, this process has 23.5 GiB memory in use. Of the allocated memory {held} GiB is allocated by "
    "PyTorch, and {unused} GiB is reserved by PyTorch but unallocated.\n"
)


def test_what_frees_unused_memory_is_not_advised_to_a_card_that_is_full(advise):
    advice = advise(FULL.format(free=82, held=23.0, unused=0.3))
    for lever in ("allocator.expandable_segments", "allocator.empty_cache"):
        assert lever not in advice.levers
    full = [one.why for one in advice.not_advised if one.lever.slug.startswith("allocator.")]
    assert all(why == "389 MiB are free or reserved and unused: the card is full, not in pieces." for why in full)


@pytest.mark.parametrize(("size", "offered"), [("32B", False), ("7B", True)])
def test_what_frees_unused_memory_is_no_help_where_the_weights_are_more_than_the_card(advise, size, offered):
    merge = f"swift export --adapters out/checkpoint-100 --merge_lora true --model Qwen/Qwen2.5-{size}-Instruct\n1 x RTX 4090\n"
    tried = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has a total capacity of 23.64 GiB"
    advice = advise(f"{merge}{tried}")
    assert ("allocator.expandable_segments" in advice.levers) == offered
    assert offered or advice.prescriptions[0].lever.slug == "load.on_host"  # writing weights needs no card


def test_what_frees_unused_memory_is_advised_where_much_of_it_is(advise):
    assert "allocator.expandable_segments" in advise(FULL.format(free=82, held=19.0, unused=4.1)).levers


def test_no_ray_is_turned_down_in_a_trainer_that_starts_none(advise):
    killed = "exit code -9, 主机内存爆了\n"
    command = "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen2.5-14B --deepspeed ds_z3_offload_config.json\n"
    assert not any(lever.startswith("ray.") for lever in advise(command + killed).levers)


def test_what_is_for_commands_that_train_nothing_is_not_said_of_a_run_that_may_train(advise):
    found = advise("CUDA OOM in the rollout phase of GRPO with Qwen2.5-1.5B on 8 x RTX A6000 under verl 0.4.0")
    offered = {given.lever.slug for given in found.prescriptions}
    assert offered
    assert {slug for slug in offered if current().levers[slug].when.get("trains") is False} == set()


def test_without_a_model_what_is_not_there_while_weights_are_loaded_is_not_advised(advise):
    advice = advise("verl GRPO: CUDA out of memory while loading the model", phase="load", oom_kind="gpu_oom")
    assert not {"precision.low_bit_optimizer", "rollout.enforce_eager.on", "rollout.max_turns.down"} & set(
        advice.levers
    )
    assert "shard.fsdp_full" in advice.levers


def test_what_may_be_on_is_not_refused_by_a_usual_run(advise):
    advice = advise(
        "the node ran low on memory while the optimizer stepped", phase="optimizer_step", oom_kind="host_ram"
    )
    assert "offload.optimizer.off" in advice.levers


ONLY_CUDA = {
    "attention.flash",
    "allocator.expandable_segments",
    "precision.low_bit_optimizer",
    "rollout.sleep_mode.on",
    "padding.remove",
}


IN_TRAINING = '  File "trl/trainer/grpo_trainer.py", line 9, in compute_loss\nfrom trl import GRPOTrainer\n'


@pytest.mark.parametrize(
    "device",
    [
        "MPS backend out of memory (max allowed: 36.27 GB).",
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.",
    ],
)
def test_a_card_of_another_maker_gets_no_cure_of_cuda(advise, device):
    usual = advise(IN_TRAINING + "torch.OutOfMemoryError: CUDA out of memory.")
    other = advise(f"{IN_TRAINING}RuntimeError: {device}")
    assert ONLY_CUDA & set(usual.levers)
    assert other.levers
    assert not ONLY_CUDA & set(other.levers)


def test_nothing_moves_to_a_host_that_has_the_same_memory(advise):
    advice = advise(f"{IN_TRAINING}RuntimeError: MPS backend out of memory (max allowed: 36.27 GB).")
    assert not [lever for lever in advice.levers if lever.startswith("offload.")]


def test_what_helps_where_nothing_is_trained_is_not_offered_to_a_trainer(knowledge):
    run = {"oom_kind": "gpu_oom_raw", "framework": "verl", "phase": "weight_sync", "model": "Qwen2.5-7B", "n_gpus": 8}
    given = diagnose("", {**run, "gpu_mem_gib": 80, "algo": "grpo"}, knowledge, ()).prescriptions
    assert given
    assert not [one.lever.slug for one in given if one.lever.when.get("trains") is False]


def test_the_allocators_refusal_of_expandable_segments_takes_them_out(advise):
    text = "AssertionError: Expandable segments are not compatible with memory pool.\nverl PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    assert advise(text).levers[0] == "allocator.expandable_segments.off"


def test_who_asks_what_a_run_takes_is_advised_no_cards_where_it_fits(advise):
    run = (
        "How much memory does it take on 8 x A100 80GB?\nNPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B --train_type full "
        "--deepspeed zero3 --per_device_train_batch_size 1 --max_length 2048\n"
    )
    advice = advise(run)
    assert advice.before.gpu.verdict() == "fits"
    assert not advice.levers
