from dataclasses import replace

import pytest

from diagnose import words
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words import figures, killed
from diagnose.words.change import range_words
from diagnose.words.chinese import summary
from diagnose.words.headline import headline


@pytest.mark.parametrize(
    ("id", "value", "said"),
    [
        ("gradient_checkpointing", True, "on"),
        ("has_critic", False, "no"),
        ("params_b", 7, "7\u00a0billion"),
        ("response_length", 2048, "2,048\u00a0tokens"),
        ("full_or_lora", "lora", "LoRA"),
        ("gpu_memory_utilization", 0.85, "0.85"),
        ("model", "Qwen2.5-7B", "Qwen2.5-7B"),
        ("algo", "reinforce++", "REINFORCE++"),
    ],
)
def test_a_value_is_said_as_people_say_it(id, value, said):
    assert words.value_words(id, value) == said


@pytest.mark.parametrize(
    ("title", "said"),
    [("GPUs of the whole run", "GPUs of the whole run"), ("Adam state", "Adam state"), ("Model", "model")],
)
def test_a_title_in_a_sentence_keeps_its_abbreviations(title, said):
    assert words.in_sentence(title) == said


def test_an_algorithm_that_only_a_default_gives_is_said_only_where_the_run_is_shown():
    ray = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n58.7 ray::WorkerDict.init_model"
    launched = f"{ray}\npython3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.nnodes=1"
    for little in ("verl", "Search-R1"):
        assert not {"PPO", "GRPO"} & set(words.run_words(diagnose(f"{ray} {little}", {}, current(), []).facts))
    assert "PPO" in words.run_words(diagnose(launched, {}, current(), []).facts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Killed", "Host RAM probably ran out"),
        ("verl grpo 7B, exit code -9", "Host RAM probably ran out"),
        (
            "verl grpo 7B，每个 step 主机内存都涨一点，最后被 kill",
            "Host RAM grows from step to step",
        ),
        ("显存一直是 60G 左右,但内存一直涨,第 90 步挂了", "Host RAM grows from step to step"),
        (
            "GPU memory is stable at 60GB but host memory keeps growing with each step",
            "Host RAM grows from step to step",
        ),
        ("host RAM is fine, GPU 显存每步都在涨，一直涨", "GPU memory grows from step to step"),
        ("显存和内存一直在涨", "Memory grows from step to step"),
        ("GPU memory keeps growing with each step", "GPU memory grows from step to step"),
        ("Memory keeps growing with each step", "Memory grows from step to step"),
    ],
)
def test_a_headline_says_no_more_than_the_text(text, said):
    assert headline(diagnose(text, {}, current(), ())) == said


def test_shared_memory_that_is_only_likely_full_is_said_to_be_so():
    said = [headline(diagnose(text, {}, current(), [])) for text in ("exitcode  : -7 (pid: 4411)", "/dev/shm is full")]
    assert said == ["Shared memory is probably full", "Shared memory is full"]


def test_what_is_only_likely_says_why():
    assert words.lead(diagnose("Killed", {}, current(), ())).startswith("The shell does not say who sent the signal")


def test_a_full_file_system_in_memory_asks_for_no_estimate():
    found = diagnose("DataLoader worker (pid 7) is killed by signal: Bus error.", {}, current(), [])
    assert "of which no estimate speaks" in words.lead(found)


def test_a_range_from_the_first_token_on_is_said_to_be_any_length():
    text = (
        "TRL sft qwen2.5-3b full on 8 x A100 40G, batch 1, gradient accumulation 4, max_length 4096: CUDA out of memory"
    )
    told = [range_words(one) for one in diagnose(text, {}, current(), []).prescriptions]
    assert any(one.startswith("At any real response length") for one in told)


def test_beyond_a_range_of_lengths_it_is_said_what_the_middle_of_the_estimate_does_there():
    text = (
        "TRL sft qwen2.5-3b full on 8 x A100 40G, batch 1, gradient accumulation 4, max_length 4096: CUDA out of memory"
    )
    one = diagnose(text, {}, current(), []).prescriptions[0]
    told = [range_words(replace(one, length_range=at)) for at in ((650, 1400), (650, None), (1, 1400))]
    assert [words.partition(" tokens")[0] for words in told] == [
        "Between about 650 and 1,400",
        "From about 650",
        "Up to about 1,400",
    ]
    assert all(" tokens of real response on, the run" in words or " response, the run" in words for words in told)
    assert [words.partition("; ")[2] for words in told] == [
        "with fewer, this phase fits either way; with more, neither does.",
        "with fewer, this phase fits either way.",
        "with more, neither does.",
    ]


def test_a_band_that_nothing_bounds_has_no_upper_end():
    assert figures.band_words(431, 373, 21269) == "37.3 or more"
    assert figures.band_words(431, 373, 792) == "37.3 to 79.2"
    assert figures.band_words(431, 431, 431) == ""


def test_what_would_be_nothing_in_gib_is_told_in_mib():
    assert [figures.gib(size) for size in (0, 24 << 20, 1 << 29)] == ["0.0\u00a0GiB", "24\u00a0MiB", "0.5\u00a0GiB"]


def test_a_model_that_no_card_holds_is_not_taken_as_unsharded_in_silence():
    command = "swift rlhf --rlhf_type grpo --model Qwen/Qwen3-235B-A22B --train_type lora --use_vllm true \\"
    cut = diagnose(f"128 x H20 96GB\n{command}\nCUDA out of memory", {}, current(), [])
    assert "Nothing says ZeRO stage" in words.lead(cut)
    assert cut.together is None
    told = diagnose(f"128 x H20 96GB\n{command[:-1]} --deepspeed zero2\nCUDA out of memory", {}, current(), [])
    assert "ZeRO stage" not in words.lead(told)
    small = diagnose(f"128 x H20 96GB\n{command.replace('235B-A22B', '8B')}\nCUDA out of memory", {}, current(), [])
    assert "ZeRO stage" not in words.lead(small)


SLURM = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=4412881.0. Some of the step tasks have been OOM Killed.\n"
    "#SBATCH --gres=gpu:h100:4\n#SBATCH --mem={memory}G\n"
    "srun accelerate launch --config_file recipes/accelerate_configs/zero3.yaml --num_processes 4 src/open_r1/grpo.py --model_name_or_path "
    "Qwen/Qwen2.5-{size}-Instruct --bf16 --use_vllm --vllm_mode colocate --vllm_gpu_memory_utilization 0.3 --per_device_train_batch_size 4 "
    "--num_generations 8 --max_prompt_length 512 --max_completion_length 2048 --gradient_checkpointing\n"
)


def test_cards_that_run_out_as_surely_as_the_host_are_told_with_it():
    assert "the cards run out as well" in words.lead(diagnose(SLURM.format(memory=128, size="32B"), {}, current(), []))
    assert "as well" not in words.lead(diagnose(SLURM.format(memory=32, size="0.5B"), {}, current(), []))


def test_a_share_of_a_card_of_unknown_size_is_said_to_be_left_out():
    text = "verl grpo Qwen2.5-7B 8 GPUs actor_rollout_ref.rollout.gpu_memory_utilization=0.85 actor_rollout_ref.rollout.name=vllm\n"
    error = "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62"
    found = diagnose(text + error, {"phase": "rollout"}, current(), [])
    assert "beside the engine’s KV cache" in words.lead(found)
    assert "beside the engine’s KV cache" not in words.lead(
        diagnose(f"{text}8 x A100 80GB, OOM in rollout", {}, current(), [])
    )


KERNEL = "Out of memory: Killed process 911 ({name}) total-vm:9kB, anon-rss:{kib}kB, file-rss:0kB, shmem-rss:0kB"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CUDA out of memory", ""),
        (
            KERNEL.format(name="jupyter-lab", kib=1 << 20),
            "The kernel killed jupyter-lab (pid 911), which held 1.0 GiB.",
        ),
        (
            KERNEL.format(name="jupyter-lab", kib=1 << 20) + "\nMemTotal: 1056964608 kB",
            "The kernel killed jupyter-lab (pid 911), which held 1.0 GiB of 1,008.0 GiB: the rest is held by other processes, "
            "or stands in /dev/shm and other shared pages.",
        ),
        (
            KERNEL.format(name="python3", kib=600 << 20) + "\nMemTotal: 1056964608 kB",
            "The kernel killed python3 (pid 911), which held 600.0 GiB.",
        ),
        (
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node where the task "
            "(pid=51, memory used=2.11GB) was running was 478.90GB / 503.51GB (0.95), which exceeds the memory usage threshold of 0.95.",
            "The killed task held 2.1 GiB: it was the newest, and alone not the culprit.",
        ),
        (
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node where the task "
            "(pid=51, memory used=38.11GB) was running was 478.90GB / 503.51GB (0.95), which exceeds the memory usage threshold of 0.95. "
            "Top 10 memory users:\nPID     MEM(GB) COMMAND\n51      38.11   ray::AgentLoopWorker.generate_sequences\n"
            "93      37.90   ray::AgentLoopWorker.generate_sequences\n70      61.30   ray::TaskRunner.run\n",
            "In Ray’s table AgentLoopWorker (2 processes) holds most: 76.0 GiB. Which task was killed says little: Ray takes the newest.",
        ),
    ],
)
def test_it_says_who_was_killed_and_whether_that_fills_the_node(text, said):
    assert killed.told(diagnose(text, {}, current(), [])).replace("\u00a0", " ") == said


def test_a_limit_of_a_job_is_not_called_the_nodes_ram():
    run = "oom-kill:constraint=CONSTRAINT_MEMCG\npython3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B"
    run += " trainer.nnodes=1 trainer.n_gpus_per_node=8\n"
    assert "the job may use 100.0" in words.lead(diagnose(run + "#SBATCH --mem=100G", {}, current(), []))
    assert "the node has 1,007.3" in words.lead(diagnose(run + "MemTotal: 1056270524 kB", {}, current(), []))


def test_where_no_setting_was_read_the_defaults_are_said_to_stand_for_them():
    run = {"oom_kind": "gpu_oom", "framework": "verl", "model": "Qwen2.5-7B", "n_gpus": 8, "gpu_mem_gib": 80}
    said = "No setting of the run was read: verl’s defaults stand for what nobody told."
    assert said in words.lead(diagnose("", run, current(), ()))
    assert said not in words.lead(
        diagnose("python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8", run, current(), ())
    )
    assert said not in words.lead(diagnose("verl GRPO OOM, all offload=True", run, current(), ()))


@pytest.mark.parametrize("told", [{"micro_batch": 4}, {"param_offload": True}, {"gpu_memory_utilization": 0.6}])
def test_a_setting_that_was_answered_is_one_that_was_told(told):
    run = {"oom_kind": "gpu_oom", "framework": "verl", "model": "Qwen2.5-7B", "n_gpus": 8, "gpu_mem_gib": 80}
    assert "没有读到任何配置" in summary(diagnose("", run, current(), ())).lead
    found = diagnose("", {**run, **told}, current(), ())
    assert "No setting of the run was read" not in words.lead(found)
    assert "没有读到任何配置" not in summary(found).lead


def test_a_run_that_fits_by_the_newest_version_alone_is_said_to():
    run = "trl grpo, Qwen2.5-7B, 8xH100 80GB, deepspeed zero3, max_completion_length 2048, will it fit? "
    said = "The version of TRL is not told and taken as the newest: with 0.21.0 it would be "
    assert said in words.lead(diagnose(run, {}, current(), ()))
    assert "taken as the newest" not in words.lead(diagnose(run, {"framework_version": "1.9.0"}, current(), ()))
    assert "没有给出 TRL 的版本，按最新版计算；按 0.21.0 则为 " in summary(diagnose(run, {}, current(), ())).lead


def test_a_size_is_no_guess_of_a_phase_that_takes_nothing_of_it():
    run = {"oom_kind": "gpu_oom", "framework": "nemo-rl", "model": "Qwen2.5-7B", "n_gpus": 8, "gpu_mem_gib": 80}
    assert "update micro batch" not in words.lead(diagnose("", {**run, "phase": "weight_sync"}, current(), ()))
    assert "update micro batch" in words.lead(diagnose("", {**run, "phase": "actor_update"}, current(), ()))


def test_recomputed_layers_are_no_guess_of_the_optimizer_step():
    said = "CUDA out of memory in {}, 7B full finetuning on 4 A100 80GB with FSDP"
    leads = [words.lead(diagnose(said.format(at), {}, current(), ())) for at in ("optimizer.step", "the backward pass")]
    assert ["activation checkpointing" in lead for lead in leads] == [False, True]


@pytest.mark.parametrize(
    ("phase", "algo", "said"),
    [
        ("critic", "grpo", "by what is known the run has no critic. Check the phase and the algorithm."),
        (
            "logprob",
            "dpo",
            "DPO takes log-probs of its rows in the update and, where it has a reference, of that. The text does not tell which.",
        ),
        ("rollout", "dpo", "DPO does no such thing. Check the phase and the algorithm."),
        ("critic", "ppo", ""),
    ],
)
def test_a_phase_that_the_algorithm_has_not_is_said(phase, algo, said):
    run = {"oom_kind": "gpu_oom", "framework": "verl", "model": "Qwen2.5-7B", "n_gpus": 8, "gpu_mem_gib": 80}
    told = words.lead(diagnose("", {**run, "phase": phase, "algo": algo}, current(), ()))
    assert said in told
    assert bool(said) == ("not computed here" in told)


def test_a_question_that_names_no_adapters_is_told_what_is_trained():
    asked = diagnose("can I GRPO 7B on 2×4090?", {}, current(), ())
    assert "All parameters are taken as trained" in words.lead(asked)
    assert "taken as trained" not in words.lead(diagnose("can I LoRA GRPO 7B on 2×4090?", {}, current(), ()))


def test_no_phase_is_named_that_the_run_does_not_have():
    text = (
        "SFTTrainer, google/gemma-3-4b-pt, max_seq_length=2048, per_device_train_batch_size=2, one L4\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB."
    )
    assert "log-prob" not in words.lead(diagnose(text, {}, current(), ()))
