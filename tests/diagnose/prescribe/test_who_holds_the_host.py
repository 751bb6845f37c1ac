"""Host RAM that a process beside the training takes: what it is comes before what the trainer offloads."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

TABLE = (
    "Search-R1 train_grpo.sh, 8 x A100 80G\n"
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory. "
    "Memory on the node was 239.5GB / 251.7GB (0.95), which exceeds the memory usage threshold of 0.95. "
    "Top 10 memory users:\nPID     MEM(GB) COMMAND\n"
    "3012    131.88  {command} --index_path e5_Flat.index --topk 3\n9907    12.40   ray::WorkerDict.actor_rollout_generate_sequences\n"
    "9908    12.33   ray::WorkerDict.actor_rollout_generate_sequences\n\n"
    "algorithm.adv_estimator=grpo actor_rollout_ref.actor.fsdp_config.optimizer_offload=true retriever.topk=3\n"
)


def found(text):
    return diagnose(text, {}, current(), ())


@pytest.mark.parametrize(
    "command", ["python search_r1/search/retrieval_server.py", "/opt/bin/python3.10 -u retrieval_server.py"]
)
def test_a_retriever_that_holds_most_is_moved_first(command):
    said = found(TABLE.format(command=command))
    assert said.facts.values["holder"] == "retrieval_server.py"
    assert said.prescriptions[0].lever.slug == "retriever.elsewhere"


def test_not_where_another_program_does():
    assert "retriever.elsewhere" not in [
        one.lever.slug for one in found(TABLE.format(command="python serve.py")).prescriptions
    ]


def test_fewer_processes_prepare_data_where_one_of_them_died_whatever_the_kernel_says_beside():
    said = found(
        "ms-swift grpo Qwen2.5-VL-7B\nRuntimeError: One of the subprocesses has abruptly died during map operation.\n"
        "Memory cgroup out of memory: Killed process 77123 (python) total-vm:40226788kB, anon-rss:7331200kB\n"
        "swift rlhf --rlhf_type grpo --dataset_num_proc 64"
    )
    assert said.prescriptions[0].lever.slug == "data.processes.down"


def test_less_swap_space_comes_first_where_the_engine_refuses_it():
    said = found(
        "trl grpo, 1x T4\nValueError: Too large swap space. "
        "16.00 GiB out of the 12.67 GiB total CPU memory is allocated for the swap space.\n"
        'llm = LLM("Qwen/Qwen2.5-1.5B-Instruct", swap_space=16)'
    )
    assert said.prescriptions[0].lever.slug == "rollout.swap_space.refused"


@pytest.mark.parametrize(
    "said",
    [
        "verl GRPO with my custom reward function: host RAM grows 3GB every step, 8 x A100",
        "verl 用 math_verify 做奖励，CPU 内存一直涨，每个step涨3-4G",
    ],
)
def test_a_scorer_that_grows_is_put_in_processes_that_end(said):
    assert found(said).prescriptions[0].lever.slug == "reward.process.restart"
    assert "reward.process.restart" not in [
        one.lever.slug for one in found("verl GRPO, host RAM grows 3GB every step").prescriptions
    ]


def test_a_copy_for_hugging_face_is_left_out_of_a_save_first():
    said = found(
        "verl 0.4, qwen2.5-32b GRPO 8 x H800, killed while saving the checkpoint at step 50\n"
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "actor_rollout_ref.actor.checkpoint.save_contents=['model','optimizer','extra','hf_model']"
    )
    assert said.prescriptions[0].lever.slug == "checkpoint.save_less"
    assert "hf_model" in said.prescriptions[0].why
