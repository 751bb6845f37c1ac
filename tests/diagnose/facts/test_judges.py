"""A judge that an engine serves beside the training: where it failed, nothing of the training's is told of it."""

from __future__ import annotations

import pytest

from tests.diagnose.facts.conftest import told

SMALL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 1 has a total capacity of 44.40 GiB of which 0.71 GiB "
    "is free.\n"
)
TRAINING = (
    "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen3-14B --zero_stage 3 --micro_train_batch_size 2 --actor_num_gpus_per_node 8 "
    "--colocate_all_models --vllm_gpu_memory_utilization 0.5 --vllm_enable_sleep\n"
)
JUDGE = "The policy learns on 8 x H100. Node B (2 x L40S) serves the judge Qwen2.5-32B-Instruct with vLLM, tp 2, --max-model-len 16384.\n"
FAILED = [
    "Every few hours the judge crashes:\n",
    "the judge (vllm) runs out of memory:\n",
    "CUDA OOM on the judge:\n",
    "裁判模型爆显存：\n",
]


@pytest.mark.parametrize("says", FAILED)
def test_a_judges_failure_is_not_told_of_the_training(says: str) -> None:
    found = told(JUDGE + says + SMALL + TRAINING)
    values = found.facts.values
    assert (values["trains"], values["rollout_mode"], values["n_gpus"]) == (False, "server", 2)
    assert (values["rollout_tp"], values["max_model_len"], values["model"]) == (2, 16384, "Qwen2.5-32B-Instruct")
    assert not {"zero_stage", "micro_batch", "n_nodes"} & set(found.facts.stated)
    assert found.facts.stated["gpu_memory_utilization"].origin == "default"
    levers = {given.lever.slug for given in found.prescriptions}
    assert not any(slug.startswith(("offload.", "shard.", "checkpointing.", "adapter.", "batch.")) for slug in levers)
    assert any("a server beside the training" in note for note in found.facts.notes)


OF_THE_TRAINING = [
    "The judge is fine. Training dies in the update:\n",
    "The judge times out and the trainer crashes:\n",
    "",
]


@pytest.mark.parametrize("says", OF_THE_TRAINING)
def test_a_judge_beside_a_training_that_failed_changes_nothing(says: str) -> None:
    values = told(JUDGE + says + SMALL + TRAINING).facts.values
    assert values["zero_stage"] == 3
    assert "trains" not in values


def test_a_message_of_a_trainers_process_is_none_of_the_judges() -> None:
    values = told(JUDGE + "the judge crashes too\n(ActorModel pid=7) " + SMALL + TRAINING).facts.values
    assert values["zero_stage"] == 3


def test_a_reward_model_inside_the_run_is_no_server() -> None:
    values = told("The reward model runs out of memory:\n" + SMALL + TRAINING).facts.values
    assert values["zero_stage"] == 3


def test_a_failure_of_the_training_beside_a_server_is_the_training_s(values):
    text = "GRPO with verl on 8x A100. Reward server (vllm) on GPU 7 and OOM in the actor update.\nCUDA out of memory"
    assert values(text)["phase"] == "actor_update"
    assert values(text).get("trains") is not False


def test_the_whole_paste_is_shown_and_what_was_read_stands_where_it_was_written():
    text = f"{JUDGE}{FAILED[0]}{SMALL}{TRAINING}"
    found = told(text)
    assert found.facts.values["trains"] is False
    assert "--micro_train_batch_size 2" in found.paste.text
    fact = found.facts.stated["max_model_len"]
    line = found.paste.line(fact.span.line)
    assert line.text[fact.span.start : fact.span.end] == "16384"


def test_a_message_in_somebodys_words_brings_no_trainer_into_it() -> None:
    text = (
        "the reward model server (sglang, separate node) crashed with CUDA out of memory; training verl GRPO 7B waits\n"
        "python -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=0.6 trainer.n_gpus_per_node=8"
    )
    said = told(text)
    assert (said.kind, said.facts.values["trains"], said.facts.values.get("framework")) == ("gpu_oom", False, None)
    assert not [change.key for one in said.prescriptions for change in one.changes if "actor_rollout_ref" in change.key]
