"""The algorithm of a command that sets no estimator, beside words that name one."""

import pytest

_RUN = "GRPO on two L4 runs out of memory\npython3 -m verl.trainer.main_ppo data.train_batch_size=64 {keys} trainer.n_gpus_per_node=2"
_CRITIC = "critic.model.path=Qwen/Qwen2.5-0.5B critic.ppo_micro_batch_size=2"


@pytest.mark.parametrize(
    ("keys", "algo"),
    [
        (_CRITIC, "ppo"),
        ("trainer.critic_warmup=0", "grpo"),
        (f"{_CRITIC} actor_rollout_ref.rollout.n=8", "grpo"),
        (f"{_CRITIC} algorithm.adv_estimator=grpo", "grpo"),
    ],
)
def test_a_command_with_a_critic_and_no_estimator_is_not_what_a_heading_says(values, keys, algo):
    assert values(_RUN.format(keys=keys))["algo"] == algo


_SUMMARY = (
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n====\n{}\n----\n  exitcode  : -9 (pid: 140012)"
)


@pytest.mark.parametrize(
    ("line", "algo"),
    [
        ("verl/trainer/fsdp_sft_trainer.py FAILED", "sft"),
        ("[rank3]: /opt/ms-swift/swift/cli/_megatron/sft.py FAILED", "sft"),
        ("openrlhf.cli.train_dpo FAILED", "dpo"),
        ("train.py FAILED", None),
        ("tests/test_sft.py::test_rows FAILED [ 40%]", None),
        ("the sft FAILED and the next run is GRPO", "grpo"),
    ],
)
def test_the_script_of_a_launchers_summary_tells_the_algorithm(values, line, algo):
    assert values(_SUMMARY.format(line)).get("algo") == algo


def test_a_script_that_trains_a_reward_model_is_named_for_it(values):
    assert values("CUDA out of memory\npython train_reward_model.py --strategy colossalai_zero2")["algo"] == "rm"
