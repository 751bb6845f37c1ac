"""Logs of whole jobs: several runs one below the other, and lines of programs that set nothing."""

import pytest

from tests.diagnose.facts.conftest import OOM, told

COMMAND = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8"
BACKWARD = (
    "Traceback (most recent call last):\n"
    '  File "/root/verl/verl/workers/actor/dp_actor.py", line 421, in update_policy\n    loss.backward()\n' + OOM
)
WAKE_UP = (
    "Traceback (most recent call last):\n"
    '  File "/opt/vllm/device_allocator/cumem.py", line 219, in wake_up\n    create_and_map(handle)\n'
    "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62\n"
)


def test_the_second_attempt_in_a_log_is_the_run():
    first = f"+ {COMMAND} actor_rollout_ref.rollout.gpu_memory_utilization=0.6\n{BACKWARD}+ ray stop --force\n"
    second = f"+ {COMMAND} actor_rollout_ref.rollout.gpu_memory_utilization=0.8\n{WAKE_UP}"
    values = told(first + second).facts.values
    assert (values["oom_kind"], values["phase"]) == ("gpu_oom_raw", "weight_sync")
    assert values["gpu_memory_utilization"] == 0.8
    assert "tried_alloc_gib" not in values
    assert any("several runs" in note for note in told(first + second).facts.notes)


def test_what_another_job_printed_is_none_of_the_one_that_failed():
    other = (
        "$ accelerate launch --num_processes 2 grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --num_generations 8\n"
        "{'loss': 0.1, 'completions/mean_length': 211.2, 'completions/max_length': 512.0, 'epoch': 0.1}\n"
        "{'train_runtime': 3211.1, 'train_loss': 0.011, 'epoch': 1.0}\n"
    )
    values = told(f"{other}$ {COMMAND}\n{BACKWARD}").facts.values
    assert values["framework"] == "verl"
    assert "longest_response_length" not in values


def test_commands_of_one_run_stay_together():
    server = "+ trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.7\nINFO: Application startup complete.\n"
    trainer = "+ accelerate launch --num_processes 6 grpo.py --use_vllm true --vllm_mode server --per_device_train_batch_size 4\n"
    assert told(f"{server}{trainer}{OOM}").facts.values["gpu_memory_utilization"] == 0.7


def test_a_run_that_did_not_fail_leaves_the_one_that_did():
    first = f"+ {COMMAND} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8\n{BACKWARD}"
    second = f"+ {COMMAND} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2\nstep:1 - actor/entropy:0.4\n"
    assert told(first + second).facts.values["micro_batch"] == 8


def test_an_engine_that_explains_its_graphs_switches_none_off(values):
    says = (
        "(LLMRayActor pid=501) INFO 05-12 10:11:21 [model_runner.py:1450] Capturing cudagraphs for decoding. This may lead to unexpected "
        "consequences if the model is not static. To run the model in eager mode, set 'enforce_eager=True' or use "
        "'--enforce-eager' in the CLI. If out-of-memory error occurs during capture, consider decreasing `gpu_memory_utilization`."
    )
    command = "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B --vllm_num_engines 4\n"
    assert values(command + says).get("enforce_eager") is not True
    assert values(f"{command}enforce_eager=True\n").get("enforce_eager") is True


def test_an_offload_of_a_dump_that_is_cut_at_the_top_is_of_its_role_alone(facts):
    prefix = "(TaskRunner pid=2345) "
    dump = (
        "                       'ref': {'entropy_checkpointing': False,\n"
        "                               'fsdp_config': {'forward_prefetch': False,\n"
        "                                               'param_offload': True},\n"
        "                               'strategy': 'fsdp'}}"
    )
    found = facts(COMMAND + "\n" + "\n".join(prefix + line for line in dump.split("\n")))
    assert found.values.get("param_offload") is not True


@pytest.mark.parametrize(
    "line",
    [
        "Memory fraction set; falls back to eager on OOM",
        "[OOM guard] enabled",
        "auto_find_batch_size: will halve the batch on OOM",
        "Registering OOM observer",
        "checkpoint-on-oom: enabled",
    ],
)
def test_what_a_program_has_for_an_oom_is_none(values, line):
    died = (
        "[rank3]:[E1122 10:11:12.131 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=812, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
    )
    assert "oom_kind" not in values(f"{COMMAND}\n{line}\n{died}")


ENGINE = (
    "INFO 08-01 12:00:15 [core.py:70] Initializing a V1 LLM engine (v0.9.2) with config: model='meta-llama/Llama-3.1-8B-Instruct', "
    "dtype=torch.bfloat16, max_seq_len=2048, tensor_parallel_size=1, quantization=None, enforce_eager=False\n"
)
TRL = (
    "accelerate launch --num_processes 4 grpo.py --model_name_or_path meta-llama/Llama-3.1-8B-Instruct --use_vllm --vllm_mode colocate "
    "--vllm_gpu_memory_utilization 0.8 --per_device_train_batch_size 2 --num_generations 8\n"
)


def test_the_type_and_lengths_of_an_engine_are_not_the_trainers(facts):
    found = facts(TRL + ENGINE).stated
    assert found["max_model_len"].value == 2048
    assert not {"precision", "max_length"} & {id for id, fact in found.items() if fact.origin == "read"}


def test_of_ranks_that_lack_room_for_one_share_the_fullest_decides():
    where = '  File "/opt/conda/lib/python3.11/site-packages/vllm/v1/worker/gpu_worker.py", line 137, in init_device\n'
    lacks = (
        "ValueError: Free memory on device ({}/79.11 GiB) on startup is less than desired GPU memory utilization (0.8, 63.29 GiB). "
        "Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    )
    first = told(TRL + "".join(where + lacks.format(free) for free in (33.01, 30.77, 31.82))).prescriptions[0]
    assert first.lever.slug == "rollout.gpu_memory_utilization.down"
    assert [(change.before, change.after) for change in first.changes] == [("0.8", "0.3")]


def test_bars_within_a_step_count_none(values):
    bars = (
        "(Runner pid=9) Running step:   3%|▎         | 2/60 [10:12<5:01,  301.2s/it]\n"
        "(Worker pid=7) Train mini-batches:   0%|          | 0/20 [00:00<?, ?it/s]\n"
    )
    assert values(f"python3 -m verl.trainer.main config=examples/config.yaml\n{bars}{OOM}")["step"] == 2


def test_log_probs_of_a_preference_loss_are_of_the_update(values):
    calls = (
        "Traceback (most recent call last):\n"
        '  File "/env/llamafactory/train/dpo/trainer.py", line 201, in concatenated_forward\n    all_logps = get_batch_logps(\n'
        '  File "/env/llamafactory/train/trainer_utils.py", line 611, in get_batch_logps\n    logits.log_softmax(-1)\n'
    )
    assert values(f"llamafactory-cli train --stage dpo\n{calls}{OOM}")["phase"] == "actor_update"


def test_the_name_of_a_metric_tells_how_old_the_trainer_is(facts):
    command = (
        "python train_grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B --num_generations 8 --max_prompt_length 512\n"
    )
    found = facts(command + "{'loss': 0.0, 'completion_length': 188.5, 'reward': 0.5}\n").stated
    assert found["framework_version"].value < "0.17"
    assert found["prompt_length"].value == 512


def test_a_key_of_a_dump_without_its_head_is_written_whole():
    dump = (
        "                       'rollout': {'enforce_eager': True,\n"
        "                                   'gpu_memory_utilization': 0.85,\n"
        "                                   'tensor_model_parallel_size': 1}},\n"
        "  'trainer': {'n_gpus_per_node': 4, 'nnodes': 1}}\n"
    )
    log = "".join(f"(TaskRunner pid=2345) {line}\n" for line in dump.splitlines())
    keys = [
        change.key
        for one in told(f"{log}/root/verl/verl/trainer/main_ppo.py Qwen2.5-3B\n{WAKE_UP}").prescriptions
        for change in one.changes
    ]
    assert "actor_rollout_ref.rollout.gpu_memory_utilization" in keys
    assert "rollout.gpu_memory_utilization" not in keys


@pytest.mark.parametrize(
    ("said", "run"),
    [
        (
            "LLaMA-Factory full sft is OK but the DPO of the same model dies, CUDA out of memory",
            ("llamafactory", "dpo"),
        ),
        ("verl GRPO 能跑，换成 PPO 就 OOM 了", ("verl", "ppo")),
        ("TRL PPO works fine, PPO in verl runs out of GPU memory", ("verl", "ppo")),
    ],
)
def test_an_algorithm_that_goes_well_beside_one_that_fails_is_of_the_same_trainer(facts, said, run):
    assert tuple(facts(said).values.get(id) for id in ("framework", "algo")) == run
