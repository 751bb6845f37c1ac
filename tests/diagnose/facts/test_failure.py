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
        ("第 40 步爆显存", 40),
        ("第 1 个 step 能过，第 2 个 step 显存 OOM", 2),
        (f"Training Progress:   9%|▉         | 116/1250 [9:41:06<93:12:40, 295.91s/it]\n{TORCH}", 116),
    ],
)
def test_it_reads_the_failing_step(values, text, step):
    assert values(text)["step"] == step


@pytest.mark.parametrize(
    "text", ["step 1 to 54 went well, then CUDA out of memory", "steps 1-54 fine, then CUDA out of memory"]
)
def test_of_a_range_of_steps_the_last_counts(values, text):
    assert values(text)["step"] == 54
