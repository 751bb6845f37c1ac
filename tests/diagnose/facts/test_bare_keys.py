"""Keys that people write without their path, and values that are not of the run."""

import pytest

from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("verl 32B GRPO OOM with gpu_memory_utilization=0.7, tensor_model_parallel_size=4", {"rollout_tp": 4}),
        ("verl 32B GRPO with megatron OOM: gpu_memory_utilization=0.7, tensor_model_parallel_size=4", {}),
    ],
)
def test_a_key_without_its_path_is_not_that_of_a_section_that_nothing_names(knowledge, text, told):
    stated = diagnose(text, {}, knowledge, ()).facts.stated
    assert {id: fact.value for id, fact in stated.items() if id in ("tp", "rollout_tp") and fact.key} == told


def test_a_key_without_the_head_of_its_path_is_that_of_the_section_that_it_names(knowledge):
    def of(section: str) -> object:
        text = f"nemo-rl grpo OOM, policy.train_micro_batch_size=4 {section}.activation_checkpointing=False"
        return diagnose(text, {}, knowledge, ()).facts.values.get("gradient_checkpointing")

    assert of("dtensor_cfg") is False
    assert of("some_cfg") is None


def test_the_reference_s_own_key_without_its_head_is_not_the_actor_s(knowledge):
    text = "verl OOM, ref.log_prob_micro_batch_size_per_gpu=64, rollout.log_prob_micro_batch_size_per_gpu=4"
    values = diagnose(text, {}, knowledge, ()).facts.values
    assert (values["ref_logprob_micro_batch"], values["logprob_micro_batch"]) == (64, 4)


def test_what_an_answer_advises_is_not_what_the_command_gave(knowledge):
    command = "python3 -m verl.trainer.main config=a.yaml worker.actor.micro_batch_size_per_device_for_update=4"
    text = f"{command}\nCUDA out of memory.\ntry `worker.actor.micro_batch_size_per_device_for_update=1`"
    config = diagnose(text, {}, knowledge, ()).facts.config
    assert config["worker.actor.micro_batch_size_per_device_for_update"] == "4"
