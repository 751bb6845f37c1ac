"""Models that stand whole on every card though they are sharded or offloaded: to generate, or because a setting does nothing."""

from __future__ import annotations

import pytest

from diagnose.units import GIB
from tests.runs import run_of

FILE = """llamafactory-cli train run.yaml
model_name_or_path: Qwen/Qwen2-72B-Instruct
stage: {stage}
finetuning_type: lora
deepspeed: examples/deepspeed/ds_{zero}_config.json
cutoff_len: 1024
max_new_tokens: 512
per_device_train_batch_size: 1
"""

ROLES = """python3 -m openrlhf.cli.train_ppo_ray --pretrain meta-llama/Meta-Llama-3-8B --zero_stage {stage} --bf16 {offload} \\
    --ref_num_gpus_per_node 4 --actor_num_gpus_per_node 4 --vllm_num_engines 2 --vllm_tensor_parallel_size 2 \\
    --micro_train_batch_size 1 --init_kl_coef 0.01 --prompt_max_len 512 --generate_max_len 512"""


def gathered(stage: str, zero: str) -> float:
    run = run_of(FILE.format(stage=stage, zero=zero), {"gpu_mem_gib": 80, "n_gpus": 8})
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    terms = [term for phase in run.estimate.gpu.phases for term in phase.terms if term.id == "gathered_weights"]
    return max((term.bytes for term in terms), default=0) / GIB


@pytest.mark.parametrize(("stage", "zero"), [("sft", "z3"), ("ppo", "z2")])
def test_without_generation_or_shards_nothing_is_gathered(stage: str, zero: str) -> None:
    assert gathered(stage, zero) == 0


def test_llamafactory_gathers_the_model_to_sample_for_ppo_at_stage_3() -> None:
    """LLaMA-Factory v0.9.0 src/llamafactory/train/ppo/trainer.py: get_inputs. 72.7 billion parameters of two bytes."""
    assert gathered("ppo", "z3") == pytest.approx(72.7e9 * 2 / GIB, rel=0.01)


def reference(stage: int, offload: str) -> float:
    """GiB of the reference on a card of its own during its pass."""
    run = run_of(ROLES.format(stage=stage, offload=offload), {"gpu_mem_gib": 80})
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    own = next(phase for phase in run.estimate.gpu.phases if phase.phase == "ref_logprob")
    return sum(term.bytes for term in own.terms if term.id == "ref_weights") / GIB


def reward(launcher: str, more: str) -> float:
    """GiB of the reward model on a card during the rollout."""
    models = "--pretrain meta-llama/Meta-Llama-3-8B --reward_pretrain r/m-8b"
    text = f"deepspeed --module openrlhf.cli.{launcher} {models} --zero_stage 2 {more}"
    run = run_of(text, {"gpu_mem_gib": 80, "n_gpus": 8})
    assert run.estimate is not None
    assert run.estimate.gpu is not None
    rollout = next(phase for phase in run.estimate.gpu.phases if phase.phase == "rollout")
    return sum(term.bytes for term in rollout.terms if term.id == "reward_weights") / GIB


def test_an_offloaded_reference_of_openrlhf_leaves_the_card_at_stage_3_alone() -> None:
    """A reference is at stage 0 below stage 3, and there DeepSpeed moves the module to the card: engine.py, v0.18.9."""
    assert reference(3, "--ref_reward_offload") == 0
    assert reference(2, "--ref_reward_offload") == pytest.approx(8.03e9 * 2 / GIB, rel=0.01)


@pytest.mark.parametrize(
    ("launcher", "more"), [("train_ppo", "--remote_rm_url http://h:1/score"), ("train_ppo_ray", "")]
)
def test_a_reward_model_elsewhere_takes_nothing_here(launcher: str, more: str) -> None:
    assert reward(launcher, more) == 0


def test_openrlhf_without_ray_holds_the_reward_model_on_every_card() -> None:
    """openrlhf/cli/train_ppo.py, v0.6.0: actor, critic, reward model and reference are prepared in one process."""
    assert reward("train_ppo", "") == pytest.approx(8.03e9 * 2 / GIB, rel=0.01)
