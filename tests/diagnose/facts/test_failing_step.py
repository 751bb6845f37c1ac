"""At which step a run failed: bars, counters, words."""

import pytest

TORCH = "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free."


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


def test_a_step_of_a_recipe_is_no_step_of_the_training(values):
    assert "step" not in values("CUDA out of memory in DeepSpeed-Chat step 3")
    assert values("CUDA out of memory in DeepSpeed-Chat at step 40")["step"] == 40


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
