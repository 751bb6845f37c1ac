"""What is advised where nothing says which memory ran out: for the cards of a run that is told, and said to be that."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_text
from diagnose.types import Diagnosis
from diagnose.words import lead
from diagnose.words.chinese import summary

SCRIPT = """{said}
torchrun --nproc_per_node=8 train.py \\
  --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 8 --gradient_checkpointing false \\
  --bf16 --max_seq_length 4096 --deepspeed zero3.json
SFT
"""


def told(said: str, **answers: object) -> Diagnosis:
    return diagnose(SCRIPT.format(said=said), answers, current(), ())  # type: ignore[arg-type]


def test_words_alone_get_no_figure_and_no_memory_named() -> None:
    found = diagnose("the run ended with OOM", {}, current(), ())
    assert (found.kind, found.pool) == ("other", None)
    assert "for GPU memory" not in lead(found)


def test_a_run_that_is_told_gets_what_saves_on_its_cards_first() -> None:
    found = told("OOM")
    assert (found.kind, found.pool) == ("other", None)
    first = found.prescriptions[0]
    assert first.pool == "gpu"
    assert first.before
    assert first.after
    assert first.after.bytes < first.before.bytes


def test_the_advice_says_that_it_is_for_the_cards() -> None:
    found = told("OOM")
    assert "The advice is for GPU memory" in lead(found)
    assert "按显存不足给出" in summary(told("OOM")).lead


def test_no_lever_is_refused_for_a_memory_that_nobody_names() -> None:
    assert "what runs out is GPU memory" not in to_text(told("OOM"))


def test_a_memory_that_is_named_is_not_guessed() -> None:
    found = told("torch.OutOfMemoryError: CUDA out of memory.")
    assert found.pool == "gpu"
    assert "The advice is for GPU memory" not in lead(found)


@pytest.mark.parametrize("algo", ["sft", "dpo", "rm"])
def test_training_on_rows_gets_no_lever_of_a_critic(algo: str) -> None:
    for said in ("OOM", "torch.OutOfMemoryError: CUDA out of memory."):
        levers = {one.lever.slug for one in told(said, algo=algo).prescriptions}
        assert levers
        assert not [lever for lever in levers if "critic" in lever]


def test_cards_that_have_room_are_not_taken_for_what_ran_out() -> None:
    text = SCRIPT.format(said="OOM on 8 x H100 80GB").replace("train_batch_size 8", "train_batch_size 1")
    found = diagnose(text, {"max_length": 512, "optimizer_on_cpu": True, "param_on_cpu": True}, current(), ())
    assert found.estimate.gpu is not None
    assert found.estimate.gpu.verdict() == "fits"
    assert "The advice is for GPU memory" not in lead(found)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("verl GRPO 7B gets killed while saving the checkpoint", "host_ram"),
        ("CUDA out of memory, then the worker is killed, verl GRPO 7B", "gpu_oom"),
        ("显存爆了,进程被杀, verl GRPO 7B", "gpu_oom"),
        ("TRL GRPO 7B without vllm, OOM in generate()", "gpu_oom"),
        ("verl GRPO 7B with vllm, OOM in generate_sequences", "other"),
        ("verl GRPO 7B, wake_up的时候OOM了", "gpu_oom"),
    ],
)
def test_words_without_a_memory_tell_the_likely_one(said: str, kind: str) -> None:
    assert diagnose(said, {}, current(), ()).kind == kind


def test_an_engine_that_cannot_wake_is_told_to_take_less() -> None:
    said = "verl GRPO Qwen2.5-14B 8 x A100 40GB, OOM at wake_up, gpu_memory_utilization=0.8"
    found = diagnose(said, {}, current(), ())
    assert "rollout.gpu_memory_utilization.down" in [one.lever.slug for one in found.prescriptions[:3]]


NCCL = (
    "[rank5]:[E1 10:11:12.131 ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, "
    "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
)
DIED = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
VERL = "verl GRPO Qwen2.5-7B on 8 x H800, step 90\n"


def test_a_collective_that_timed_out_gets_no_lever_on_memory() -> None:
    found = diagnose(VERL + NCCL + DIED, {}, current(), ())
    assert found.kind == "other"
    assert not found.prescriptions
    assert not found.checks
    assert "the last 20 lines" in lead(found)


@pytest.mark.parametrize("said", ["OOM, and then\n", "torch.OutOfMemoryError: CUDA out of memory.\n"])
def test_a_timeout_beside_words_of_memory_gets_them(said: str) -> None:
    assert diagnose(VERL + said + NCCL + DIED, {}, current(), ()).prescriptions


def test_a_worker_that_died_alone_gets_them() -> None:
    assert diagnose(VERL + DIED, {}, current(), ()).prescriptions


@pytest.mark.parametrize("model", ["7B", "72B"])
def test_a_collective_that_timed_out_is_no_reason_for_smaller_batches_where_the_cards_have_room(model: str) -> None:
    """Ray's guess at a worker's end names the kernel's killer among others; a run that does not fit by the estimate is advised."""
    found = diagnose(
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=81) ran for 600043 milliseconds before timing out.\n"
        '  File "verl/trainer/ppo/ray_trainer.py", line 1068, in fit\n    actor_output = self.actor_rollout_wg.update_actor(batch)\n'
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
        "Worker unexpectedly exits with a connection error code 2. End of file. (1) The process is killed by SIGKILL by OOM killer due to"
        " high memory usage. (2) ray stop --force is called.\n"
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=1024 data.max_prompt_length=512"
        f" data.max_response_length=2048 actor_rollout_ref.model.path=Qwen/Qwen2.5-{model}-Instruct"
        " actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.model.enable_gradient_checkpointing=True"
        " actor_rollout_ref.rollout.n=5 trainer.n_gpus_per_node=8 trainer.nnodes=1\n8 x A100 80GB\n",
        {},
        current(),
        (),
    )
    assert (found.kind, found.phase) == ("other", "actor_update")
    assert bool(found.prescriptions) == (model == "72B")
