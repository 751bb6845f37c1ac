from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.steps import at_bound
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


@pytest.mark.parametrize(
    ("engine", "version", "offered"), [("vllm", "0.7.3", True), ("vllm", "0.10.2", False), ("sglang", "0.4.6", False)]
)
def test_swap_space_is_a_setting_of_one_engine_before_its_second_one(advise, engine, version, offered):
    lines = ON_THE_HOST.splitlines()[:3]
    command = (
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name="
    )
    advice = advise("\n".join([*lines, command + engine]), framework_version="0.4.0", engine_version=version)
    assert ("rollout.swap_space.down" in advice.levers) is offered


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
    assert after.bytes > before.bytes


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


def test_the_engines_own_hint_is_not_taken_for_an_attempt(advise):
    text = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    assert "rollout.gpu_memory_utilization.up" in advise(text).levers


def test_no_share_is_advised_that_still_asks_for_more_than_is_free(advise):
    text = (
        "ValueError: Free memory on device (9.10/79.15 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    )
    advice = advise(text)
    assert advice.levers[0] == "hardware.kill_stale"
    assert "Only 9.1 GiB are free" in advice.refused("rollout.gpu_memory_utilization.down").why
    assert "run.restart" not in advice.levers


def test_torchs_own_hint_is_no_setting_to_take_out(advise):
    text = (
        f"{GROUPED}\ntorch.OutOfMemoryError: CUDA out of memory. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    )
    assert "expandable_segments" not in advise(text).facts.stated


def test_segments_that_are_set_are_taken_out_with_the_word_that_torch_reads(advise):
    text = f"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,expandable_segments:True\n{GROUPED}"
    (change,) = advise(text, phase="weight_sync").advised("allocator.expandable_segments.off").changes
    assert change.after == "max_split_size_mb:512,expandable_segments:False"


def test_a_size_at_its_bound_is_said_with_its_value(advise, knowledge):
    facts = advise(GROUPED, micro_batch=1).facts
    said = at_bound(knowledge.levers["batch.micro.down"], facts)
    assert said == "Update micro batch is 1; there is no further step."


def test_a_megatron_key_is_not_for_fsdp(advise):
    assert all("megatron" not in change.key for one in advise(GROUPED).prescriptions for change in one.changes)


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


def test_quantised_weights_are_no_missing_key_where_a_key_makes_them(advise):
    text = (
        "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-32B-Instruct --train_type lora --per_device_train_batch_size 1 "
        "--num_generations 4 --max_completion_length 512\n4 x A100 40GB, CUDA out of memory in the actor update"
    )
    advice = advise(text)
    changes = [change.key for one in advice.prescriptions if one.lever.slug == "peft.qlora" for change in one.changes]
    assert changes == ["quant_method", "quant_bits"]


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("swift sft --model Qwen/Qwen2.5-7B --train_type lora --max_length 4096", True),
        ("swift sft --model Qwen/Qwen2.5-7B --train_type lora --max_length 4096 --truncation_strategy left", False),
        ("swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --max_completion_length 4096", False),
        (
            "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B data.filter_overlong_prompts=True",
            True,
        ),
    ],
)
def test_rows_that_are_left_out_already_need_no_filter(advise, text, dropped):
    """modelscope/ms-swift v3.12.0 swift/llm/argument/base_args/template_args.py: __post_init__"""
    advice = advise(f"{text}\nstep 12 done, step 13: CUDA out of memory in the backward pass, 8 x A100 40GB")
    assert any(one.lever.slug == "length.filter_long" for one in advice.prescriptions) is not dropped


def test_bits_that_quantize_nothing_alone_need_the_method_beside_them(advise):
    """modelscope/ms-swift v3.0.0 swift/llm/argument/base_args/quant_args.py: get_quantization_config"""
    text = (
        "swift sft --model Qwen/Qwen2.5-32B-Instruct --train_type lora --quant_bits 4 --max_length 2048\n"
        "8 x A100 40GB, CUDA out of memory in the backward pass"
    )
    advice = advise(text)
    assert advice.facts.values["full_or_lora"] == "lora"
    changes = [(change.key, change.after) for change in advice.advised("peft.qlora").changes]
    assert changes == [("quant_method", "bnb")]


def test_a_lever_of_the_card_is_refused_by_the_name_of_what_is_full(advise):
    refused = advise("DataLoader worker (pid 7) is killed by signal: Bus error.\n").refused("batch.micro.down")
    assert "what runs out is shared memory" in refused.why


def test_a_pool_that_could_not_be_mapped_is_no_matter_of_the_update(advise):
    advice = advise("verl GRPO, 8 x A100\nCUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n")
    assert advice.levers[0] == "rollout.gpu_memory_utilization.down"
    assert not {"batch.micro.down", "length.response.down", "logits.chunked"} & set(advice.levers)


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


PLAIN = "2x RTX 4090 24GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def test_no_engine_is_turned_down_where_none_is_spoken_of(advise):
    settings = "per_device_train_batch_size=2 gradient_accumulation_steps=8 optim=adamw_torch\n"
    assert not any(lever.startswith("rollout.") for lever in advise(settings + PLAIN).levers)
    assert "rollout.gpu_memory_utilization.down" in advise("GRPO\n" + settings + PLAIN).levers
    assert "rollout.gpu_memory_utilization.down" in advise(PLAIN).levers  # of a message alone nothing is known


def test_no_ray_is_turned_down_in_a_trainer_that_starts_none(advise):
    killed = "exit code -9, 主机内存爆了\n"
    command = "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen2.5-14B --deepspeed ds_z3_offload_config.json\n"
    assert not any(lever.startswith("ray.") for lever in advise(command + killed).levers)


def test_an_engine_on_cards_of_its_own_is_left_alone_where_the_trainer_overflows(advise):
    command = (
        "8 x A100 80GB\nNPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --use_vllm true "
        "--vllm_mode server --max_length 16384 --max_completion_length 8192 --per_device_train_batch_size 16 --num_generations 8\n"
    )
    advice = advise(command + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB.\n")
    assert advice.before.gpu.verdict() == "out"
    assert not any(lever.startswith("rollout.gpu") or lever.startswith("rollout.tensor") for lever in advice.levers)


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


def test_without_a_model_the_rows_of_a_pass_are_advised_whatever_a_usual_run_takes(advise):
    advice = advise("verl GRPO: CUDA out of memory in update_actor", phase="actor_update", oom_kind="gpu_oom")
    assert {"batch.micro.down", "length.response.down", "logits.chunked"} <= set(advice.levers)


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


def test_room_for_a_cache_is_told_without_naming_what_it_does_not_hang_on(knowledge):
    run = {"oom_kind": "vllm_no_kv_blocks", "framework": "verl", "model": "Qwen2.5-32B", "n_gpus": 8, "gpu_mem_gib": 40}
    given = diagnose("", {**run, "gpu_memory_utilization": 0.4, "rollout_tp": 2}, knowledge, ()).prescriptions
    assert given[0].room
    assert not [one.why for one in given if "No saving is computed without" in one.why]


PPO = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.max_response_length=8192 "
    "data.max_prompt_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 trainer.nnodes=1 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16 "
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=32 actor_rollout_ref.actor.use_kl_loss=True "
    "critic.ppo_micro_batch_size_per_gpu=8 critic.forward_micro_batch_size_per_gpu=24\nA100 80GB\nverl 0.7.0\n"
)


@pytest.mark.parametrize(
    ("phase", "lever", "key"),
    [
        ("update_critic", "batch.micro.down", "critic.ppo_micro_batch_size_per_gpu"),
        ("update_critic", "shard.sequence_parallel.up", "critic.ulysses_sequence_parallel_size"),
        ("update_critic", "offload.activation.on", "critic.model.enable_activation_offload"),
        ("compute_values", "batch.logprob_micro.down", "critic.forward_micro_batch_size_per_gpu"),
        (
            "compute_ref_log_prob",
            "batch.logprob_micro.down",
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
        ),
        ("compute_log_prob", "batch.logprob_micro.down", "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"),
        ("update_actor", "batch.micro.down", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"),
        ("update_actor", "shard.sequence_parallel.up", "actor_rollout_ref.actor.ulysses_sequence_parallel_size"),
    ],
)
def test_a_pass_is_made_smaller_by_the_key_of_its_own_role(advise, phase, lever, key):
    told = advise(PPO + f"CUDA out of memory in {phase}").prescriptions
    written = [[change.key for change in one.changes] for one in told if one.lever.slug == lever]
    assert written == [[key]]


def test_a_critic_that_packs_by_tokens_whatever_it_is_told_is_given_a_smaller_budget(advise):
    newer = PPO.replace("verl 0.7.0", "verl 0.8.0") + "CUDA out of memory in update_critic"
    written = {one.lever.slug: [change.key for change in one.changes] for one in advise(newer).prescriptions}
    assert written["batch.critic_tokens.down"] == ["critic.ppo_max_token_len_per_gpu"]
    assert "batch.micro.down" not in written
    assert "batch.critic_tokens.down" not in advise(PPO + "CUDA out of memory in update_critic").levers


def test_only_the_critics_batch_is_told_and_the_actors_is_advised(advise):
    run = PPO.replace("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 ", "")
    told = advise(run + "CUDA out of memory in update_actor").prescriptions
    written = [change.key for one in told if one.lever.slug == "batch.micro.down" for change in one.changes]
    assert written == ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"]


def test_a_figure_that_explains_nothing_refuses_no_smaller_pass(advise):
    text = (
        "verl 0.7.0 ppo gae, Qwen2.5-7B, 8xH100 critic.ppo_micro_batch_size_per_gpu=8\nOOM in update_critic\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
        "2.05 GiB is free."
    )
    assert advise(text).levers[0] == "batch.micro.down"


def test_the_processes_that_hold_a_steps_samples_speak_for_a_smaller_step(advise):
    rows = "\n".join(f"{pid}      37.90   ray::AgentLoopWorker.generate_sequences" for pid in (412, 97, 633, 58))
    text = (
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B data.train_batch_size=512 "
        "trainer.n_gpus_per_node=8 trainer.nnodes=1\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on "
        "memory.\nMemory on the node where the task (pid=412, memory used=37.90GB) was running was 478.90GB / 503.51GB (0.95), which "
        f"exceeds the memory usage threshold of 0.95. Top 10 memory users:\nPID     MEM(GB) COMMAND\n{rows}\n"
        "70      21.30   ray::WorkerDict.x\n"
    )
    assert advise(text).levers[0] == "batch.train.down"
    assert (
        "batch.train.down"
        not in advise(text.replace("AgentLoopWorker", "WorkerDict").replace("WorkerDict.x", "IDLE")).levers
    )


@pytest.mark.parametrize(
    "text", ["OOM while capturing CUDA graphs", "启动到 Capturing CUDA graphs 这一步就 CUDA out of memory"]
)
def test_graphs_are_turned_off_where_their_capture_runs_out(advise, text):
    told = advise(f"verl 0.7.0 {text}, Qwen3-8B, 4xL40S, gpu_memory_utilization=0.8").levers
    assert "rollout.enforce_eager.on" in told[:2]


def test_the_allocators_refusal_of_expandable_segments_takes_them_out(advise):
    text = "AssertionError: Expandable segments are not compatible with memory pool.\nverl PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    assert advise(text).levers[0] == "allocator.expandable_segments.off"


def test_a_reward_model_that_runs_out_has_a_batch_of_its_own(advise):
    text = (
        "python3 -m verl.trainer.main_ppo reward_model.enable=True reward_model.micro_batch_size_per_gpu=32 trainer.n_gpus_per_node=8\n"
        "verl 0.5.0\nray::WorkerDict.rm_compute_rm_score() torch.OutOfMemoryError: CUDA out of memory."
    )
    (change,) = advise(text).advised("batch.logprob_micro.down").changes
    assert change.key == "reward_model.micro_batch_size_per_gpu"


def test_who_asks_what_a_run_takes_is_advised_no_cards_where_it_fits(advise):
    run = (
        "How much memory does it take on 8 x A100 80GB?\nNPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B --train_type full "
        "--deepspeed zero3 --per_device_train_batch_size 1 --max_length 2048\n"
    )
    advice = advise(run)
    assert advice.before.gpu.verdict() == "fits"
    assert not advice.levers


def test_an_engine_on_cards_of_its_own_keeps_no_weights_on_the_host(advise):
    ray = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."
    command = (
        "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-72B-Instruct --actor_num_nodes 2 --actor_num_gpus_per_node 8 "
        "--ref_num_nodes 2 --ref_num_gpus_per_node 8 --colocate_actor_ref --vllm_num_engines 4 --vllm_tensor_parallel_size 4 "
        "--micro_train_batch_size 1 --prompt_max_len 1024 --generate_max_len 7168 --zero_stage 3 --adam_offload --init_kl_coef 1e-3"
    )
    advice = advise(f"{ray}\n4 nodes, 8xA100 80GB each, 1 TB RAM per node\n{command}")
    assert "rollout.tensor_parallel.up" not in advice.levers
    assert "stays awake" in advice.refused("rollout.tensor_parallel.up").why


def test_an_engine_whose_whole_share_another_process_holds_is_awake(advise):
    text = (
        '  File "verl/workers/megatron_workers.py", line 730, in rollout_mode\n    await self.rollout.update_weights(per_tensor_param)\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 6 has a total capacity of 139.80 GiB of which "
        "1.88 GiB is free. Process 22123 has {} GiB memory in use. Process 22881 has 38.88 GiB memory in use. Of the allocated memory "
        "30.21 GiB is allocated by PyTorch, and 6.95 GiB is reserved by PyTorch but unallocated.\n"
        "python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer' algorithm.adv_estimator=grpo data.train_batch_size=256 "
        "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B data.max_prompt_length=1024 data.max_response_length=4096 "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 actor_rollout_ref.actor.megatron.param_offload=True "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 "
        "actor_rollout_ref.rollout.tensor_model_parallel_size=2 actor_rollout_ref.rollout.gpu_memory_utilization=0.7 "
        "trainer.nnodes=2 trainer.n_gpus_per_node=8"
    )
    awake, woken = (
        advise(text.format("99.04")),
        advise(text.format("56.04").replace("1.88 GiB is free", "44.88 GiB is free")),
    )
    assert awake.facts.values["engine_maps_pool"] is True
    assert awake.levers[0] == "rollout.gpu_memory_utilization.down"
    assert "engine_maps_pool" not in woken.facts.values


LOGPROB = "torch.OutOfMemoryError: CUDA out of memory in the old log probs. 8 x A100 80GB on one node, Qwen2.5-7B.\n"


def test_a_log_prob_pass_follows_the_update_where_no_key_of_its_own_cuts_it(advise):
    text = (
        LOGPROB + "# trl GRPOTrainer, trl 0.18.1\nper_device_train_batch_size=8\nnum_generations=8\n"
        "gradient_accumulation_steps=2\nmax_completion_length=8192\nuse_peft=True\nbeta=0.0\n"
    )
    assert "batch.micro.down" in {one.lever.slug for one in advise(text, phase="logprob").prescriptions}


def test_a_log_prob_pass_is_cut_by_its_own_key_where_there_is_one(advise):
    text = LOGPROB + "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8"
    assert "batch.micro.down" not in {one.lever.slug for one in advise(text, phase="logprob").prescriptions}


def test_the_share_of_an_engine_with_cards_of_its_own_is_no_cure_where_only_passes_of_the_trainer_can_have_failed(
    advise,
):
    text = (
        "OOM in the trainer, axolotl GRPO, vLLM on GPU 0 through `axolotl vllm-serve`, training on GPU 1, 2 x RTX 6000 Ada 48GB\n"
        "CUDA_VISIBLE_DEVICES=0 axolotl vllm-serve grpo.yaml\nCUDA_VISIBLE_DEVICES=1 axolotl train grpo.yaml --num-processes 1\n\n"
        "base_model: Qwen/Qwen2.5-3B-Instruct\nvllm:\n  gpu_memory_utilization: 0.85\nrl: grpo\ntrl:\n  use_vllm: true\n"
        "  max_completion_length: 2048\n  num_generations: 16\nadapter: lora\nsequence_len: 4096\nmicro_batch_size: 16\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 47.50 GiB.\n"
    )
    advice = advise(text)
    assert "rollout.gpu_memory_utilization.down" not in {one.lever.slug for one in advice.prescriptions}
