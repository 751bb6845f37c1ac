"""What schedulers, clusters and trackers write of a run: their variables, cards, nodes and memory."""

from __future__ import annotations

import pytest

RUN = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path={} "
    "trainer.n_gpus_per_node=8 trainer.nnodes={}\n"
)
POD = """containers:
- command: ["bash", "-c"]
  env:
  - name: MODEL_PATH
    value: Qwen/Qwen2.5-7B-Instruct
  - name: NNODES
    value: "4"
  - {name: PYTORCH_CUDA_ALLOC_CONF, value: "expandable_segments:True"}
  resources:
    limits:
      nvidia.com/gpu: 8
      memory: 1Ti
"""


def test_a_pod_s_variables_stand_in_its_command(values):
    found = values(RUN.format("$(MODEL_PATH)", "$(NNODES)") + POD)
    assert found["model"] == "Qwen2.5-7B-Instruct"
    assert (found["n_nodes"], found["n_gpus"], found["host_ram_gb"]) == (4, 32, 1024)
    assert found["expandable_segments"] is True


@pytest.mark.parametrize("nodes", ["$(NNODES)", "{{nnodes}}", "<N>", "?"])
def test_nodes_that_a_command_asks_something_else_for_are_not_told(values, nodes):
    found = values(RUN.format("Qwen/Qwen3-8B", nodes))
    assert "n_nodes" not in found
    assert "n_gpus" not in found


@pytest.mark.parametrize(
    "given",
    [
        'docker run --gpus all -e "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" -e MAX_PIXELS=1003520 img/swift:3 {}',
        "mpirun -np 8 -x PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True -x MAX_PIXELS=1003520 {}",
        "kubectl run x --env=PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True --env=MAX_PIXELS=1003520 --image=x -- {}",
        '{}\n "env": [\n  {{\n   "name": "PYTORCH_CUDA_ALLOC_CONF",\n   "value": "expandable_segments:True"\n  }},\n'
        '  {{"name": "MAX_PIXELS", "value": "1003520"}}\n ]',
        '{}\nenv_vars:\n  PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True"\n  MAX_PIXELS: "1003520"\n',
    ],
)
def test_a_variable_that_is_handed_on_is_set(values, given):
    found = values(given.format("swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --train_type lora"))
    assert found["expandable_segments"] is True
    assert found["max_pixels"] == 1003520
    assert found["model"] == "Qwen2.5-VL-7B-Instruct"


def test_pods_outrank_the_one_machine_that_a_launcher_starts_on_by_default(values):
    worker = "template:\n  spec:\n    containers:\n    - resources:\n        limits:\n          nvidia.com/gpu: 8\n"
    found = values(f"NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B\nreplicas: 2\n{worker}")
    assert (found["n_nodes"], found["gpus_per_node"], found["n_gpus"]) == (2, 8, 16)


def test_keys_of_the_run_outrank_a_table_that_lists_fewer_cards(values):
    rows = (
        "VRAM%\n0       2     0x74a1,   28851  56.0C  97%    100%\n1       3     0x74a1,   51499  54.0C  97%    100%\n"
    )
    assert values(rows + RUN.format("Qwen/Qwen3-8B", 1))["n_gpus"] == 8
    assert values(rows + "MI300X\n")["n_gpus"] == 2


@pytest.mark.parametrize(
    "command",
    [
        'cmd = ["python", "-u", "-m", "openrlhf.cli.train_dpo", "--pretrain", "Qwen/Qwen2.5-7B", "--max_len", "8192", "--bf16"]',
        "root  40211 99.1 11.2 2010 6102 ?  Rl  01:58 88:12 python -m openrlhf.cli.train_dpo --pretrain Qwen/Qwen2.5-7B --max_len 8192",
        '"args": [\n  "deepspeed",\n  "--module", "openrlhf.cli.train_dpo",\n  "--pretrain", "Qwen/Qwen2.5-7B",\n  "--max_len", "8192"\n]',
    ],
)
def test_a_command_in_a_list_is_a_command(values, command):
    found = values(command)
    assert (found["algo"], found["model"], found["max_length"]) == ("dpo", "Qwen2.5-7B", 8192)


def test_a_list_of_words_is_no_command(facts):
    assert not facts('TARGETS = ["q_proj", "k_proj", "--", "v_proj"]\nnames = ["python", "java", "go"]').config.get(
        "names"
    )


TRES = "billing=64,cpu=64,gres/gpu=16,mem=1000G,node=2"


def test_what_slurm_gives_a_job_is_cards_nodes_and_the_memory_of_one(values):
    found = values(f"   AllocTRES={TRES}\nopenrlhf sft Qwen2.5-7B")
    assert (found["n_gpus"], found["n_nodes"], found["host_ram_gb"]) == (16, 2, 500)


def test_two_jobs_of_slurm_tell_nothing(values):
    assert "n_gpus" not in values(f"AllocTRES={TRES}\nAllocTRES={TRES.replace('16', '8')}\n")


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        ("MiB Mem : 515702.4 total,   2011.2 free, 508122.9 used", 503.6),
        ("KiB Mem : 528066356 total, 1022 free", 503.6),
        ("  Mem[|||||||||||||||||||248G/252G]   Load average: 61.02", 252),
        ("内存：         503         488           3", 503),
        ("    Total Requested Memory :                     196608.00 MB", 192),
        ('{"memory": {"total": "541165879296"}, "gpu_count": 4}', 504),
        ('{"memory": {"total": 503.5912345}, "gpu_count": 4}', 503.6),
    ],
)
def test_the_memory_of_a_machine_is_read_as_tools_print_it(values, text, gib):
    assert values(f"{text}\nKilled\n")["host_ram_gb"] == gib


def test_cards_are_counted_where_a_tracker_shows_them(values):
    assert values("CPU count  64\nGPU count  4\nGPU type   NVIDIA A100-SXM4-40GB\n")["n_gpus"] == 4


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("type: task\nnodes: 2\nresources:\n  gpu: H100:80GB:8\n", 2),
        ('@app.function(gpu="H100:8", timeout=3600)\ndef train():\n', 1),
    ],
)
def test_the_cards_of_a_rented_task_are_read(values, text, nodes):
    found = values(text)
    assert (found["gpu_model"], found["n_gpus"], found["n_nodes"]) == ("H100", 8 * nodes, nodes)


def test_ranks_tell_the_nodes_and_the_program_its_version(values):
    found = values(
        "[INFO:swift] swift.__version__: 3.7.1\n[INFO:swift] rank: 0, local_rank: 0, world_size: 16, local_world_size: 8\n"
        "swift sft --model Qwen/Qwen2.5-7B --train_type lora\n"
    )
    assert (found["framework_version"], found["n_nodes"], found["n_gpus"]) == ("3.7.1", 2, 16)


def test_cards_of_nvtop_are_counted(values):
    rows = "".join(f" Device {n} [NVIDIA H100 80GB HBM3] PCIe GEN 5@16x RX: 12.70 MiB/s\n" for n in range(2))
    assert values(f"{rows}CUDA out of memory")["n_gpus"] == 2


def test_a_makefile_s_variables_stand_in_its_commands(values):
    found = values("MODEL ?= Qwen/Qwen3-14B\nNNODES := 2\ntrain:\n\t" + RUN.format("$(MODEL)", "$(NNODES)"))
    assert (found["model"], found["n_nodes"], found["n_gpus"]) == ("Qwen3-14B", 2, 16)


@pytest.mark.parametrize("text", ["available: 2 nodes (0-1)\nnode 0 size: 515702 MB", "NUMA node(s):        2"])
def test_parts_of_one_machine_s_memory_are_no_machines(values, text):
    assert "n_nodes" not in values(f"{text}\nKilled\n")


def test_a_matrix_of_links_counts_the_cards(values):
    assert values("GPU0\t X \tNV12\tSYS\nGPU1\tNV12\t X \tSYS\nCUDA out of memory\n")["n_gpus"] == 2


def test_what_a_unit_of_systemd_sets_is_the_run_s(values):
    found = values(
        "[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=0,1\nMemoryMax=120G\n"
        "ExecStart=/opt/venv/bin/llamafactory-cli train --stage sft --finetuning_type lora\n"
        "kto.service: Failed with result 'oom-kill'.\n"
    )
    assert (found["n_gpus"], found["host_ram_gb"], found["oom_kind"]) == (2, 120, "host_ram")


@pytest.mark.parametrize(
    "command",
    [
        "command: [mpirun, -np, '16', -x, NCCL_DEBUG, python, -m, openrlhf.cli.train_sft, --max_len, '8192', --pretrain, Qwen/Qwen2.5-7B]",
        'args: ["cd /w && python -m openrlhf.cli.train_sft --max_len 8192 --pretrain Qwen/Qwen2.5-7B"]',
        'sbatch -N1 --wrap="python -m openrlhf.cli.train_sft --max_len 8192 --pretrain Qwen/Qwen2.5-7B"',
        'args: ["-c", "python -m openrlhf.cli.train_sft --max_len 8192 --pretrain Qwen/Qwen2.5-7B"]',
        '"UserCommand": "python -m openrlhf.cli.train_sft --max_len 8192 --pretrain Qwen/Qwen2.5-7B"',
        '"Cmd": [\n "swift",\n "sft",\n "--max_length",\n "8192",\n "--model",\n "Qwen/Qwen2.5-7B"\n]',
    ],
)
def test_a_command_in_a_specification_is_a_command(values, command):
    found = values(command)
    assert (found["algo"], found["model"], found["max_length"]) == ("sft", "Qwen2.5-7B", 8192)
