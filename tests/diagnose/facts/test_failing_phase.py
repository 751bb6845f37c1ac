"""In which phase a run failed: frames, remote calls, functions in words, the last mark of a log."""

import pytest

NODE = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."


TORCH = "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free."


def test_the_deepest_telling_frame_decides(values):
    text = (
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.actor_rollout_update_actor() (pid=1, ip=10.0.0.1)\n"
        '  File "/w/verl/workers/fsdp_workers.py", line 431, in update_actor\n    metrics = self.actor.update_policy(data=data)\n'
        f'  File "/w/verl/workers/actor/dp_actor.py", line 314, in update_policy\n    loss.backward()\n{TORCH}'
    )
    assert values(text)["phase"] == "actor_update"


def test_a_remote_call_in_the_line_of_code_is_deeper_than_its_frame(values):
    text = f'  File "/w/verl/trainer/ppo/ray_trainer.py", line 742, in fit\n    r = self.ref_policy_wg.compute_ref_log_prob(batch)\n{TORCH}'
    assert values(f"Traceback (most recent call last):\n{text}")["phase"] == "ref_logprob"


def test_a_table_of_processes_tells_what_ran_when_the_node_was_full(values):
    rows = "\n".join(f"3372{i}   56.5{i}   ray::WorkerDict.actor_rollout_generate_sequences" for i in range(4))
    assert values(f"{NODE}\nTop 10 memory users:\nPID MEM(GB) COMMAND\n{rows}")["phase"] == "rollout"


def test_a_driver_that_waits_does_not_hide_what_its_workers_ran(values):
    head = f"{NODE}\nTop 10 memory users:\nPID MEM(GB) COMMAND\n"
    workers = "".join(f"2120{i} 41.2{i} ray::WorkerDict.actor_rollout_save_checkpoint\n" for i in range(2))
    assert values(f"{head}{workers}8231 12.02 ray::TaskRunner.run")["phase"] == "checkpoint"
    mixed = workers + "21207 40.11 ray::WorkerDict.actor_rollout_generate_sequences\n"
    assert "phase" not in values(f"{head}{mixed}8231 12.02 ray::TaskRunner.run")


def test_words_place_the_failure_where_no_traceback_does(values):
    assert values("更新 actor 的时候爆显存")["phase"] == "actor_update"
    assert values("GPU OOM during the weight sync to the engine.")["phase"] == "weight_sync"


def test_words_that_contradict_each_other_leave_the_phase_open(values):
    assert "phase" not in values("GPU OOM during rollout.\nToday: GPU OOM during evaluation.")


def bar(done: int, of: int) -> str:
    return f" {done * 100 // of}%|██        | {done}/{of} [21:10<1:24:40,  6.35s/it]"


def test_a_remote_failure_is_traced_below_its_first_line(values):
    text = (
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::ActorModelRayActor.fit() (pid=1, ip=10.0.0.1)\n"
        '  File "/x/openrlhf/trainer/ray/ppo_actor.py", line 149, in ppo_train\n    status = self.training_step(experience)'
    )
    assert values(text)["phase"] == "actor_update"


def test_a_log_printed_upside_down_is_read_from_its_top(values):
    text = (
        f"{TORCH}\n    log_prob = compute_log_probs(logits)\n"
        '  File "/w/slime/slime/utils/ppo_utils.py", line 668, in calculate_log_probs_and_entropy\n'
        "    self.compute_log_prob(data_iterator)\n"
        '  File "/w/slime/slime/backends/megatron_utils/actor.py", line 402, in train_actor'
    )
    assert values(text)["phase"] == "logprob"


def test_frames_below_the_error_without_a_header_are_read_by_where_their_code_stands(values):
    text = (
        f"{TORCH}\n"
        '  File "/w/roll/distributed/strategy/deepspeed_strategy.py", line 398, in train_step\n    self.model.step()\n'
        '  File "/w/site-packages/deepspeed/runtime/zero/stage3.py", line 2101, in step\n    self._optimizer_step(sub_group_id)\n'
    )
    assert values(text)["phase"] == "optimizer_step"


def test_the_log_tells_more_than_the_call_that_covers_the_whole_start(values):
    text = (
        "(WorkerDict pid=4) before init cache memory allocated: 5.97GB, reserved: 6.08GB\nTraceback (most recent call last):\n"
        '  File "/w/verl/trainer/ppo/ray_trainer.py", line 546, in init_workers\n    self.actor_rollout_wg.init_model()\n'
        "Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file."
    )
    assert values(text)["phase"] == "init"


def test_a_driver_side_function_names_its_phase(values):
    text = (
        '  File "/w/nemo_rl/algorithms/grpo.py", line 5, in grpo_train\n    ref = policy.get_reference_policy_logprobs(data)\n'
        f"{TORCH}"
    )
    assert values(f"Traceback (most recent call last):\n{text}")["phase"] == "ref_logprob"


def test_a_phase_in_words_says_where_it_was_read(facts):
    line = "First it is fine. Then the policy update runs out of GPU memory."
    span = facts(line).stated["phase"].span
    assert line[span.start : span.end] == "policy update"


SAVING = "Saving model checkpoint to ./out/checkpoint-200"


def test_a_log_that_ends_while_it_saves_failed_there(values):
    assert values(f"{SAVING}\n{TORCH}")["phase"] == "checkpoint"


def test_steps_that_were_counted_since_make_a_mark_stale(values):
    bar = " 42%|████▏     | 210/500 [10:00<14:00,  2.90s/it]"
    assert "phase" not in values(f"{SAVING}\n{bar}\n{TORCH}")


def test_a_remark_beside_a_log_names_the_moment(values):
    assert values(f"{TORCH}\nverl 跑 7B，compute_log_prob 的时候")["phase"] == "logprob"


def test_a_phase_that_went_well_is_not_the_failing_one(values):
    assert values("rollout 的时候没事，update_actor 爆了")["phase"] == "actor_update"


def test_an_engine_that_loads_is_its_start(values):
    assert values("卡在 vllm 加载，报 CUDA out of memory")["phase"] == "init"


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("vllm engine init: torch.OutOfMemoryError: CUDA out of memory.", "init"),
        ("model_update 的时候显存不够", "weight_sync"),
        ("hipErrorOutOfMemory in wake_up", "weight_sync"),
    ],
)
def test_a_message_behind_the_words_for_a_phase_belongs_to_it(values, text, phase):
    assert values(text)["phase"] == phase


def test_moments_made_by_a_fused_optimizer_are_its_step(values):
    text = f'Traceback (most recent call last):\n  File "/x/deepspeed/ops/adam/fused_adam.py", line 128, in step\n    s = 1\n{TORCH}'
    assert values(text)["phase"] == "optimizer_step"


def test_a_server_of_rewards_fails_in_the_reward_phase(values):
    text = f'Traceback (most recent call last):\n  File "/x/openrlhf/cli/serve_rm.py", line 54, in get_reward\n    s = 1\n{TORCH}'
    assert values(text)["phase"] == "reward"


@pytest.mark.parametrize(
    ("path", "code", "phase"),
    [
        ("/w/megatron/training/training.py", "losses_reduced = forward_backward_func(", "actor_update"),
        (
            "/w/megatron/training/training.py",
            "update_successful, grad_norm, zeros = optimizer.step()",
            "optimizer_step",
        ),
        ("/w/swift/megatron/trainers/base.py", "metrics = forward_backward_func(", "actor_update"),
        (
            "/w/swift/megatron/trainers/base.py",
            "update_successful, grad_norm, _ = self.optimizer.step()",
            "optimizer_step",
        ),
    ],
)
def test_a_function_of_two_phases_is_told_by_its_line(values, path, code, phase) -> None:
    text = f'Traceback (most recent call last):\n  File "{path}", line 9, in train_step\n    {code}\n  File "/x.py", line 3, in f\n    y\n'
    assert values(text + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")["phase"] == phase


def test_an_update_of_mindspeed_is_no_optimizer_step_at_another_line(values) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/w/mindspeed_rl/workers/actor_hybrid_worker.py", line 9, in update\n    self.actor.update(\n'
        '  File "/w/mindspeed_rl/models/base/base_training_engine.py", line 9, in update\n    losses = self.forward_backward_func(\n'
    )
    assert values(text + "RuntimeError: NPU out of memory. Tried to allocate 2.97 GiB\n")["phase"] == "actor_update"


CUMEM = "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62"


def test_an_engine_that_went_through_a_step_maps_its_pool_as_it_wakes_up(values):
    assert values(f"verl GRPO. The first step goes through, the second step dies:\n{CUMEM}")["phase"] == "weight_sync"
    assert values(f"第一个 step 完整跑完了，第二个 step 一开始就报\n{CUMEM}")["step"] == 2
    assert "phase" not in values(f"verl GRPO dies in the first step:\n{CUMEM}")


def test_an_engine_that_cannot_map_its_pool_while_a_model_loads_is_starting(values):
    text = (
        "FastLanguageModel.from_pretrained fails:\nCUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62"
    )
    assert values(text)["phase"] == "init"
    assert values("from_pretrained fails:\nCUDA Error: out of memory")["phase"] == "load"


def test_a_critics_own_trainer_is_in_its_update_where_the_frames_below_are_cut_off(values):
    text = 'openrlhf\n  File "openrlhf/trainer/ray/ppo_critic.py", line 142, in ppo_train\ntorch.OutOfMemoryError: CUDA out of memory.'
    assert values(text)["phase"] == "critic"
