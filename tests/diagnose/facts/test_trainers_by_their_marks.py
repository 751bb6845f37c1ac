"""By what a trainer is known, and what its name or file alone says of the run."""

from __future__ import annotations

import pytest

from tests.diagnose.facts.conftest import OOM, levers, told


# --- names that are denied, types with their module
def test_a_trainer_that_is_said_not_to_be_used_is_not_the_framework() -> None:
    text = "Fine-tuning with the plain Trainer, no trl.\nargs = TrainingArguments(per_device_train_batch_size=2)\n"
    assert told(text + OOM).facts.values["framework"] == "transformers"


def test_a_name_that_a_question_denies_is_not_the_framework() -> None:
    assert "framework" not in told(f"openrlhf? no, it is our own FSDP script, 8 x L40S\n{OOM}").facts.values


def test_a_repository_whose_paths_another_copied_is_still_itself() -> None:
    text = f'  File "/w/R1-V/src/r1-v/src/open_r1/trainer/grpo_trainer.py", line 444, in compute_loss\n{OOM}'
    assert told(text).facts.fork.id == "r1-v"


@pytest.mark.parametrize("name", ["SFTConfig", "DPOConfig", "KTOTrainer", "OnlineDPOTrainer"])
def test_a_class_of_trl_shows_it(name: str) -> None:
    assert told(f"args = {name}(per_device_train_batch_size=2)\n" + OOM).facts.values["framework"] == "trl"


# --- trainers that were known by their keys alone
def test_megatron_lm_pretrains_all_parameters() -> None:
    found = told(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --micro-batch-size 1"
        " --use-distributed-optimizer --recompute-activations --bf16\nllama-3 70B on 4 nodes of 8 x H100\n"
        '  File "/opt/Megatron-LM/megatron/training/training.py", line 640, in setup_model_and_optimizer\n' + OOM
    )
    values = found.facts.values
    assert values["framework"] == "megatron-lm"
    assert {id: values.get(id) for id in ("algo", "full_or_lora", "strategy", "zero_stage", "tp", "pp")} == {
        "algo": "pretrain", "full_or_lora": "full", "strategy": "megatron", "zero_stage": 1, "tp": 4, "pp": 2,
    }  # fmt: skip
    assert found.phase == "load"
    assert "peft.lora" not in levers(found)


def test_a_trainer_that_stands_on_megatron_is_no_megatron_lm() -> None:
    text = "NPROC_PER_NODE=8 megatron sft --load Qwen3-30B-A3B-mcore --micro_batch_size 1  # Megatron-LM\n"
    assert told(text + OOM).facts.values["framework"] == "ms-swift"


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("open-r1 grpo: CUDA OOM", "open-r1"),
        ("CUDA OOM in open-r1 GRPO", "open-r1"),
        ("unsloth gemma3 12b grpo OOM on T4", "unsloth"),
    ],
)
def test_a_fork_is_known_by_how_people_call_it(text: str, id: str) -> None:
    fork = told(text).facts.fork
    assert fork is not None
    assert fork.id == id


def test_a_data_set_of_open_r1_is_no_run_of_it() -> None:
    assert told("trl grpo --dataset_name open-r1/OpenR1-Math-220k\n" + OOM).facts.fork is None


# --- the plain trainer
def test_fine_tuning_without_a_word_of_samples_is_taken_as_supervised() -> None:
    found = told('  File "/x/transformers/trainer.py", line 2276, in _save_checkpoint\n' + OOM)
    assert found.facts.stated["algo"].value == "sft"
    assert found.facts.stated["algo"].origin == "assumed"
    assert told("verl fine-tuning of Qwen2.5-7B\n" + OOM).facts.stated["algo"].value == "grpo"
    assert "algo" not in told("fine-tuning with a reward model and transformers.Trainer\n" + OOM).facts.stated


def test_a_run_of_openrlhf_is_told_by_the_module_that_deepspeed_starts() -> None:
    text = (
        "deepspeed --module openrlhf.cli.train_rm --pretrain meta-llama/Meta-Llama-3-8B --max_len 4096 --zero_stage 2\n"
    )
    assert told(text + OOM).facts.stated["algo"].certain


def test_a_data_set_for_pretraining_says_what_axolotl_trains() -> None:
    config = "base_model: Qwen/Qwen2-0.5B\npretraining_dataset:\n  - path: allenai/c4\n    type: pretrain\nsequence_len: 2048\n"
    values = told(f"accelerate launch -m axolotl.cli.train a.yml\n\n{config}").facts.values
    assert (values["framework"], values["algo"], values["max_length"]) == ("axolotl", "pretrain", 2048)


def test_a_configuration_that_is_imported_names_its_trainer(values):
    text = (
        "from trlx.data.default_configs import TRLConfig, TrainConfig, PPOConfig\n"
        'config = TRLConfig(train=TrainConfig(seq_length=550, trainer="AcceleratePPOTrainer"), method=PPOConfig(name="PPOConfig"))\n'
    )
    assert values(text)["framework"] == "trlx"
