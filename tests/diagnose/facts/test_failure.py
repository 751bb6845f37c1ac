"""What ran out, in which phase, at which step."""

import pytest

NODE = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."
TORCH = "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free."


def test_a_text_without_failure_has_no_kind_and_no_phase(values):
    found = values("How many GPUs does GRPO need during rollout?")
    assert "oom_kind" not in found
    assert "phase" not in found


def test_a_bare_oom_does_not_settle_what_ran_out(values):
    assert values("It goes OOM at once, what can I do?")["oom_kind"] == "other"


def test_a_traceback_through_torch_settles_a_bare_oom(values):
    text = 'OOM:\nTraceback (most recent call last):\n  File "/opt/site-packages/torch/nn/functional.py", line 5, in linear\n    x'
    assert values(text)["oom_kind"] == "gpu_oom"


def test_a_host_kill_outranks_the_message_that_follows(values):
    assert values(f"{NODE}\n\n{TORCH}")["oom_kind"] == "host_ram"


def test_growth_told_in_words_outranks_a_message(values):
    assert values(f"GPU memory keeps growing with each step.\n\n{TORCH}")["oom_kind"] == "memory_growth"


def test_a_sudden_peak_is_no_growth(values):
    assert values("There is a sudden peak of GPU memory, then CUDA OOM.")["oom_kind"] == "gpu_oom"


def test_figures_broken_inside_a_number_are_put_together(values):
    text = f"{TORCH} Of the allocated memory 40.\n25 GiB is allocated by Py\nTorch, and 3.50 GiB is reserved by PyTorch but unallocated."
    found = values(text)
    assert (found["torch_allocated_gib"], found["torch_reserved_gib"]) == (40.25, 3.5)


def test_a_kind_says_where_it_was_read(facts):
    assert facts(f"first line\n{TORCH}").stated["oom_kind"].span.line == 2


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


def test_words_place_the_failure_where_no_traceback_does(values):
    assert values("更新 actor 的时候爆显存")["phase"] == "actor_update"
    assert values("GPU OOM during the weight sync to the engine.")["phase"] == "weight_sync"


def test_words_that_contradict_each_other_leave_the_phase_open(values):
    assert "phase" not in values("GPU OOM during rollout.\nToday: GPU OOM during evaluation.")


@pytest.mark.parametrize(
    "line",
    [
        "Loading checkpoint shards:  50%|█████     | 2/4 [00:03<00:03,  1.5s/it]",
        "Processed prompts:  10%|█  | 12/128 [00:01<00:20]",
    ],
)
def test_bars_of_other_things_are_no_steps(values, line):
    assert "step" not in values(f"{TORCH}\n{line}")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("around 40 steps in, GPU0 reports OOM", 40),
        ("it dies at step 47 with CUDA OOM", 47),
        ("GPU memory grows:\nstep 1    31244MiB / 81920MiB\nstep 200    63012MiB / 81920MiB\nCUDA OOM", 200),
        ("第 40 步爆显存", 40),
        ("第 1 个 step 能过，第 2 个 step 显存 OOM", 2),
        ("CUDA OOM already in the first step", 1),
        ("训练第一步就爆显存了", 1),
        ("训练到第二步就炸了，第一步是好的，显存不够", 2),
        ("第一步没问题，第三步爆显存", 3),
        ("the first step passes, the second step dies with CUDA out of memory", 2),
        ("CUDA OOM on the second optimizer step", 2),
        ("first step is slow but fine then CUDA OOM at step 12", 12),
        ("In iteration 1 rollout is fine, but the update runs out of memory.", 1),
        ("step 10  fine\nstep 20  fine\nstep 21  dead, CUDA out of memory", 21),
        (
            f"Invalidate trace cache @ step 561 and module 0\nTrain epoch [1/1]:   0%|  | 0/8 [00:00<?, ?it/s]\n{TORCH}",
            0,
        ),
        (f"Running step 0:   7%|▋   | 4.00/60.0 [2:09:45<23:41:20]\n{TORCH}", 4),
        (f"Training Progress:   9%|▉         | 116/1250 [9:41:06<93:12:40, 295.91s/it]\n{TORCH}", 116),
        ("step:1 - actor/pg_loss:0.1 - perf/x:2 - timing_s/step:210.3\nCUDA out of memory", 1),
        ("step:1 - actor/pg_loss:0.1 - perf/x:2\nstep:50 - actor/pg_loss:0.1 - perf/x:2\nCUDA out of memory", 50),
    ],
)
def test_it_reads_the_failing_step(values, text, step):
    assert values(text)["step"] == step


IN_EVALUATION = """%s
Traceback (most recent call last):
  File "/a/site-packages/transformers/trainer.py", line 4154, in evaluate
    output = eval_loop(
  File "/a/site-packages/transformers/trainer.py", line 4389, in evaluation_loop
    logits = self.gather_function((logits))
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.42 GiB. GPU 0 has a total capacity of 79.10 GiB."""


def bar(done: int, of: int) -> str:
    return f" {done * 100 // of}%|██        | {done}/{of} [21:10<1:24:40,  6.35s/it]"


@pytest.mark.parametrize(
    ("bars", "step"),
    [
        ([bar(200, 1000), bar(105, 250)], 200),
        ([bar(200, 1000), bar(250, 250), bar(201, 1000), bar(400, 1000), bar(105, 250)], 400),
        ([bar(1000, 1000), bar(105, 250)], 1000),
        ([bar(0, 250), bar(200, 250)], 200),
        ([bar(200, 1000), bar(105, 250), bar(200, 1000)], 200),
        ([bar(105, 250)], 105),
    ],
)
def test_the_bar_of_an_evaluation_is_not_the_trainings(values, bars, step):
    assert values(IN_EVALUATION % "\n".join(bars))["step"] == step


def test_bars_of_two_trainings_count_where_no_evaluation_failed(values):
    bars = f"{bar(200, 1000)}\n{bar(105, 250)}"
    assert values(f"{bars}\n{TORCH}")["step"] == 105


@pytest.mark.parametrize(
    "text", ["step 1 to 54 went well, then CUDA out of memory", "steps 1-54 fine, then CUDA out of memory"]
)
def test_of_a_range_of_steps_the_last_counts(values, text):
    assert values(text)["step"] == 54


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It goes OOM at once. How can I save VRAM?", "gpu_oom"),
        ("一直 OOM，怎么省显存？", "gpu_oom"),
        ("内存 OOM（不是显存），主机内存爆了", "host_ram"),
        ("OOM, the process is killed, VRAM is half empty", "other"),
    ],
)
def test_what_the_text_is_about_settles_a_bare_oom(values, text, kind):
    assert values(text)["oom_kind"] == kind


def test_a_launchers_own_frames_settle_nothing(values):
    text = 'OOM\nTraceback (most recent call last):\n  File "/opt/torch/distributed/launcher/api.py", line 5, in launch_agent\n    raise x'
    assert values(text)["oom_kind"] == "other"


def test_signal_nine_alone_is_only_presumed_to_be_the_host(facts):
    kind = facts("failed (exitcode: -9) local_rank: 0 (pid: 4242) of binary: /usr/bin/python3").stated["oom_kind"]
    assert (kind.value, kind.origin) == ("host_ram", "assumed")
    assert kind.why


def test_signal_nine_beside_the_kernels_line_is_certain(facts):
    text = "exit code -9\nMemory cgroup out of memory: Killed process 4242 (python)"
    assert facts(text).stated["oom_kind"].origin == "read"


def test_a_killed_workers_share_is_its_row_of_the_table(values):
    text = (
        "(raylet) task, pid=613 was running\n(raylet) task, pid=613) was running, which exceeds the memory usage threshold of 0.95. "
        f"Ray killed this worker\n{NODE}\nPID MEM(GB) COMMAND\n614 50.94 ray::A.b\n613 46.40 ray::C.d"
    )
    assert values(text)["process_gib"] == 46.4


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


FOLDED = """Killed by Ray:

ray.exceptions.RayTaskError(OutOfMemoryError) ...
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on
memory.
Memory on the node (IP: 10.0.0.9, ID:
27b01b0caacf79568044709622d7d3fbacebe7fbc27a3a426618650e) where the task (actor
ID: c99787370ca3e6b7b059f045f14c1656,
name=WorkerDict_0:3:WorkerDict.__init__, pid=33725, memory used=56.55GB)
was running was 246.41GB / 251.54GB (0.979606), which exceeds the memory usage
threshold of 0.95. Ray killed this worker (ID:
499b8461225d3e740aca535425ea6a819bd80c447748196f2774f4e9)."""


def test_a_message_that_was_broken_at_blanks_is_read_with_its_figures(values):
    found = values(FOLDED)
    assert (found["oom_kind"], found["node_used_gb"], found["process_gib"]) == ("host_ram", 246.41, 56.55)


def test_the_class_that_ray_names_is_presumed_to_be_that_of_a_card(facts):
    fact = facts("ray.exceptions.RayTaskError(OutOfMemoryError): ray::Worker.step() (pid=1, ip=10.0.0.3)").stated[
        "oom_kind"
    ]
    assert (fact.value, fact.certain) == ("gpu_oom", False)


def test_a_table_of_cards_says_nothing_of_what_ran_out(values):
    row = "| GPU   PID   Type   Process name       GPU Memory |\n|   0    12      C   python              4MiB |"
    assert values(f"it stops with OOM\n{row}")["oom_kind"] == "other"


@pytest.mark.parametrize(
    "text",
    [
        "8 张 A800 跑 32B，显存够不够，要不要 offload",
        "4 张 4090 跑 7B 会不会 OOM",
        "显存会不会爆？",
        "卡住不动，没有报错。是 OOM 吗",
    ],
)
def test_a_question_whether_memory_is_enough_is_no_failure(values, text):
    assert "oom_kind" not in values(text)


@pytest.mark.parametrize(
    "text", ["verl 在 update_actor 的时候报错 KeyError: 'responses'", "It crashes while saving the checkpoint."]
)
def test_a_failure_that_is_only_placed_is_none_of_memory(values, text):
    assert "oom_kind" not in values(text)


def test_a_full_disk_stays_one_beside_words_that_place_the_failure(values):
    found = values("OSError: [Errno 28] No space left on device: '/ckpt/a.pt'\n保存 checkpoint 的时候挂了")
    assert "oom_kind" not in found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("单机8卡，跑几十步之后主机内存涨满被 kill", "host_ram"),
        ("长度 8k 没事 16k 就炸", "other"),
        ("训到一半 loss 爆了", None),
        ("Host RAM grows ~6GB per step until it is killed", "memory_growth"),
        ("Error while creating shared memory segment /dev/shm/nccl-a (size 9637888)", "host_shm"),
        ("ray.exceptions.OutOfDiskError: Local disk is full", None),
    ],
)
def test_what_ran_out_is_read_from_the_words_that_people_and_programs_have(values, text, kind):
    assert values(text).get("oom_kind") == kind


def test_a_remark_beside_a_log_names_the_moment(values):
    assert values(f"{TORCH}\nverl 跑 7B，compute_log_prob 的时候")["phase"] == "logprob"


def test_a_phase_that_went_well_is_not_the_failing_one(values):
    assert values("rollout 的时候没事，update_actor 爆了")["phase"] == "actor_update"


def test_an_engine_that_loads_is_its_start(values):
    assert values("卡在 vllm 加载，报 CUDA out of memory")["phase"] == "init"


def test_a_step_of_a_recipe_is_no_step_of_the_training(values):
    assert "step" not in values("CUDA out of memory in DeepSpeed-Chat step 3")
    assert values("CUDA out of memory in DeepSpeed-Chat at step 40")["step"] == 40


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


TWO = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which "
    "62.69 MiB is free. Process 3312 has {other} GiB memory in use. Process 4881 has 3.46 GiB memory in use. Of the allocated memory "
    "2.88 GiB is allocated by PyTorch, and 112.11 MiB is reserved by PyTorch but unallocated."
)


def test_of_processes_without_a_name_the_one_that_holds_what_torch_counts_is_the_own(values):
    assert values(TWO.format(other="20.11"))["process_gib"] == 3.46


def test_where_the_message_is_cut_before_what_is_reserved_a_fifth_more_may_be_the_own(values):
    cut = TWO.partition(", and 112.11")[0]
    assert values(cut.format(other="20.11"))["process_gib"] == 3.46
    assert "process_gib" not in values(cut.replace("3.46", "9.90").format(other="20.11"))


def test_of_two_like_processes_the_one_with_least_beside_torch_is_assumed(facts):
    own = facts(TWO.format(other="3.10")).stated["process_gib"]
    assert (own.value, own.origin) == (3.1, "assumed")


def test_a_process_of_many_groups_is_the_own_where_no_other_is_near(facts):
    split = TWO.replace("2.88 GiB is allocated", "30.21 GiB is allocated").replace("112.11 MiB", "6.95 GiB")
    own = facts(split.format(other="98.02").replace("3.46", "39.88")).stated["process_gib"]
    assert (own.value, own.origin) == (39.88, "assumed")
    assert "process_gib" not in facts(split.format(other="41.02").replace("3.46", "39.88")).stated


KERNEL = "Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:9kB, anon-rss:{kib}kB, file-rss:0kB, shmem-rss:{shm}kB"


def test_what_the_kernel_killed_held_its_own_pages_and_those_that_it_shares(values):
    text = KERNEL.format(pid=4102, name="python3", kib=8 << 20, shm=2 << 20)
    assert values(text)["process_gib"] == 10


def test_pages_that_a_killed_process_shares_are_named_where_they_are_most(facts):
    held = [
        KERNEL.format(pid=1, name="raylet", kib=mine << 20, shm=shared << 20) for mine, shared in ((1, 88), (88, 1))
    ]
    assert ["shared" in facts(text).stated["process_gib"].why for text in held] == [True, False]


def test_of_several_that_the_kernel_killed_the_largest_counts(values):
    small, large = (KERNEL.format(pid=pid, name="python3", kib=pid << 20, shm=0) for pid in (2, 40))
    assert values(f"{small}\n{large}")["process_gib"] == 40


def test_the_row_of_rays_table_outranks_what_the_kernel_killed(values):
    text = f"task, pid=613) was running, Ray killed this worker\n{NODE}\nPID MEM(GB) COMMAND\n613 46.40 ray::C.d"
    assert values(f"{text}\n{KERNEL.format(pid=2, name='python3', kib=1 << 20, shm=0)}")["process_gib"] == 46.4


def test_half_a_figure_is_no_figure(values):
    found = values(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.95 GiB (GPU 1; 39,59 GiB total capacity; 35,45 GiB already allocated)"
    )
    assert found["tried_alloc_gib"] == 1.95
    assert {"gpu_total_gib", "torch_allocated_gib"}.isdisjoint(found)


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", "Huawei"),
        ("HIP out of memory. Tried to allocate 2.00 GiB.", "AMD"),
        ("XPU out of memory. Tried to allocate 2.00 GiB.", "Intel"),
        ("MPS backend out of memory (MPS allocated: 3.83 GB, max allowed: 4.27 GB).", "Apple"),
        ("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.", "Google"),
        ("8 x MI300X, out of GPU memory", "AMD"),
    ],
)
def test_the_message_or_the_card_tells_whose_card_it_is(values, text, maker):
    assert (values(text)["oom_kind"], values(text)["gpu_maker"]) == ("gpu_oom", maker)


def test_the_usual_maker_is_not_said(values):
    assert "gpu_maker" not in values("CUDA out of memory. Tried to allocate 2.00 GiB. 8 x A100")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("RAM grows every step: step 1: 310GB, step 50: 520GB, step 120: 840GB", 120),
        ("memory leak\nstep 10: 40.5 GB\nstep 30: 55 GB\nstep 90: 78 GB", 90),
        ("memory leak, step 10: 40GB, step 30: 55GB, OOM at step 34", 34),
    ],
)
def test_of_readings_at_several_steps_the_last_tells_how_far_it_came(values, text, step):
    assert values(text)["step"] == step


LOG = "{'loss': 0.1, 'completion_length': %d, 'memory(GiB)': %.1f, 'global_step/max_steps': '%d/900'}"
FULL = (
    "CUDA out of memory. Tried to allocate 5.80 GiB. GPU 2 has a total capacity of 79.25 GiB of which 2.21 GiB is free."
)


def test_a_peak_that_rises_with_the_length_of_answers_is_no_leak(facts):
    run = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --max_completion_length 4096\nmemory rises slowly\n"
    steps = range(50, 350, 50)
    longer = facts(
        run + "\n".join(LOG % (600 + 4 * i, 50 + i / 12, i) for i in steps) + f"\ntorch.OutOfMemoryError: {FULL}"
    )
    even = facts(
        run + "\n".join(LOG % (600 + i % 7, 50 + i / 12, i) for i in steps) + f"\ntorch.OutOfMemoryError: {FULL}"
    )
    assert longer.values["oom_kind"] == "gpu_oom"
    assert any("responses get longer" in note for note in longer.notes)
    assert even.values["oom_kind"] == "memory_growth"


def test_moments_made_by_a_fused_optimizer_are_its_step(values):
    text = f'Traceback (most recent call last):\n  File "/x/deepspeed/ops/adam/fused_adam.py", line 128, in step\n    s = 1\n{TORCH}'
    assert values(text)["phase"] == "optimizer_step"


def test_a_server_of_rewards_fails_in_the_reward_phase(values):
    text = f'Traceback (most recent call last):\n  File "/x/openrlhf/cli/serve_rm.py", line 54, in get_reward\n    s = 1\n{TORCH}'
    assert values(text)["phase"] == "reward"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("verl-run  3120.4%   498.7GiB / 503.5GiB   99.05%\nverl grpo Qwen2.5-7B 8xH100: all fine, it trains", None),
        ("verl-run  3120.4%   498.7GiB / 503.5GiB   99.05%\nthe workers are gone without a traceback", "host_ram"),
    ],
)
def test_a_full_host_tells_a_failure_only_beside_one(values, text, kind):
    assert values(text).get("oom_kind") == kind


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


def test_of_two_attempts_in_one_line_the_later_tells_the_step(values):
    text = "With a micro batch of eight it crashed at step 4. With four it crashed at step 210: CUDA out of memory"
    assert values(text)["step"] == 210


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("CUDA OOM after about 30 steps", 33),
        ("大概跑了 30 多步就 OOM", 33),
        ("CUDA OOM at step 30", 30),
        ("OOM after ~10 steps", 10),
    ],
)
def test_a_step_that_is_rounded_in_words_is_the_one_that_was_counted_a_little_later(values, words, step):
    """Not where the words are exact, or where the counter is of another run."""
    text = f"{words}\nTraining Progress:   3%|3         | 33/900 [1:40:11<42:31:02, 271.87s/it]\n{TORCH}"
    assert values(text)["step"] == step
