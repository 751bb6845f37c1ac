"""Processes of a launcher beside cards that somebody answers."""

from __future__ import annotations

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current

COMMAND = (
    "accelerate launch {} train.py --model_name_or_path Qwen/Qwen2.5-7B --use_vllm true\nfrom trl import GRPOTrainer\n"
)


@pytest.mark.parametrize(
    ("words", "cards", "trains"),
    [
        ("--num_processes 3", 4, 3),
        ("--num_processes 8", 8, 8),
        ("--num_processes 3 --num_machines 1", 4, 3),
        ("--num_processes 16 --num_machines 2", 16, 16),
    ],
)
def test_fewer_processes_than_cards_train_on_as_many(words: str, cards: int, trains: int) -> None:
    values = read_facts(read(COMMAND.format(words)), {"n_gpus": cards}, current()).values
    assert (values["n_gpus"], values["trainer_gpus"]) == (cards, trains)


def test_processes_of_one_node_are_no_total_of_several() -> None:
    text = "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B\nfrom trl import SFTTrainer\n"
    values = read_facts(read(text), {"n_gpus": 16}, current()).values
    assert values.get("trainer_gpus", 16) == 16


def test_the_command_outranks_the_file_that_it_is_given() -> None:
    file = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\n"
    values = read_facts(read(COMMAND.format("--num_processes 3 --config_file z.yaml") + file), {}, current()).values
    assert values["n_gpus"] == 3


@pytest.mark.parametrize(("launcher", "each"), [("python", 4), ("deepspeed", None)])
def test_deepspeed_starts_a_process_for_every_card_that_it_sees(launcher: str, each: int | None) -> None:
    text = f"CUDA_VISIBLE_DEVICES=0,1,2,3 {launcher} train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1\n"
    values = read_facts(read(text), {}, current()).values
    assert (values["n_gpus"], values.get("cards_per_process")) == (4, each)


DEEPSPEED = "deepspeed --module openrlhf.cli.train_rm --pretrain Qwen/Qwen2.5-7B --zero_stage 3{more}\n{cards}\n"


def test_the_launcher_without_a_file_of_hosts_starts_on_one_machine(values):
    assert values(DEEPSPEED.format(more="", cards="8 x A100 80GB"))["n_nodes"] == 1


@pytest.mark.parametrize(
    ("more", "cards"), [(" --hostfile hosts", "8 x A100 80GB"), ("", "16 x A100 80GB"), ("", "2 nodes, 8 x A100 80GB")]
)
def test_what_may_be_several_machines_is_not_taken_for_one(values, more, cards):
    assert values(DEEPSPEED.format(more=more, cards=cards)).get("n_nodes") != 1


def test_a_workstation_of_one_s_own_is_one_machine(values):
    assert values("My workstation (Debian 12.8, 2x RTX 4090, 128 GB) kills verl GRPO of Qwen2.5-3B")["n_nodes"] == 1


def test_a_job_that_a_sentence_submits_asks_for_cards(values):
    told = values("AReaL is killed. I submit with sbatch --nodes=2 --gres=gpu:a100:4 --mem=128G")
    assert (told["n_nodes"], told["gpus_per_node"]) == (2, 4)
