"""Where nothing names the phase, the size that was asked for may: logits of a pass are made in that pass alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diagnose.knowledge import Knowledge
from diagnose.pipeline import diagnose
from diagnose.possible import possible_phases
from diagnose.report import to_markdown
from tests.diagnose.prescribe.conftest import Advice

Advise = Callable[..., Advice]
RUN = r"""
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=64 data.max_prompt_length=4096 \
    data.max_response_length=12288 actor_rollout_ref.model.path=Qwen/Qwen3-4B \
    actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=65536 \
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.8 trainer.n_gpus_per_node=8 trainer.nnodes=1
8 x H200
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size}. GPU 0 has a total capacity of 139.81 GiB of which 20.03 GiB is free.
""".strip()
# 65,536 tokens × 151,936 × 4 bytes
LOGITS = RUN.format(size="37.09 GiB")


def test_logits_of_the_updates_budget_point_to_its_passes_though_the_rollout_is_higher(advise: Advise) -> None:
    advice = advise(LOGITS)
    gpu = advice.before.gpu
    assert gpu
    assert gpu.peak.phase == "rollout"
    assert advice.levers[0] == "batch.dynamic_tokens.down"
    assert "rollout.gpu_memory_utilization.down" not in advice.levers


@pytest.mark.parametrize("size", ["11.03 GiB", "300.00 MiB"])
def test_another_size_leaves_what_may_take_more_than_the_engines_share(advise: Advise, size: str) -> None:
    levers = advise(RUN.format(size=size)).levers
    assert "batch.dynamic_tokens.down" in levers[:3]
    assert "rollout.gpu_memory_utilization.down" not in levers


FULL = RUN.replace("gpu_memory_utilization=0.8", "gpu_memory_utilization=0.95")


def test_an_engine_that_may_not_have_room_itself_is_looked_at(knowledge: Knowledge) -> None:
    found = diagnose(FULL.format(size="300.00 MiB"), {}, knowledge, ())
    assert found.estimate.gpu is not None
    assert possible_phases(found.facts, found.estimate.gpu) == ()
    assert "rollout.gpu_memory_utilization.down" in [one.lever.slug for one in found.prescriptions][:3]


def test_no_engine_asks_for_as_much_at_once(knowledge: Knowledge) -> None:
    """Its cache of 127 GiB comes in 36 layers."""
    found = diagnose(FULL.format(size="11.03 GiB"), {}, knowledge, ())
    assert possible_phases(found.facts, found.estimate.gpu) == ("logprob", "actor_update")
    assert "A tensor of the size asked for is made in the old log-prob or the actor update." in to_markdown(found)
    half_a_layer = diagnose(FULL.format(size="1.75 GiB"), {}, knowledge, ())
    assert possible_phases(half_a_layer.facts, half_a_layer.estimate.gpu) == ()


def test_a_phase_that_surely_runs_out_is_not_said_where_the_size_tells_of_another(knowledge: Knowledge) -> None:
    offloads = " actor_rollout_ref.actor.fsdp_config.param_offload=False actor_rollout_ref.rollout.tensor_model_parallel_size=1"
    run = FULL.replace("Qwen3-4B", "Qwen2.5-32B").replace(" trainer.n_gpus", f"{offloads} trainer.n_gpus")
    small = diagnose(run.format(size="300.00 MiB"), {}, knowledge, ())
    assert small.estimate.gpu is not None
    assert small.estimate.gpu.verdict(small.estimate.gpu.phase("rollout")) == "out"
    large = to_markdown(diagnose(run.format(size="11.03 GiB"), {}, knowledge, ()))
    assert "## GPU memory runs out\n" in large


def test_it_is_said_that_the_engine_has_room_and_where_it_is_looked_for_instead(knowledge: Knowledge) -> None:
    small = RUN.format(size="300.00 MiB")
    told = to_markdown(diagnose(small, {}, knowledge, ()))
    assert "and has room; more may be taken in the old log-prob or the actor update alone." in told
    chinese = to_markdown(diagnose(f"{small}\n显存不够了，怎么办，求助", {}, knowledge, ()))
    assert "按估算，更可能在" in chinese


def test_a_pair_has_two_rows_and_its_reference_the_updates(knowledge: Knowledge) -> None:
    text = (
        "deepspeed --num_gpus 4 --module openrlhf.cli.train_dpo --pretrain meta-llama/Llama-3.1-8B-Instruct --max_len 8192 "
        "--micro_train_batch_size 2 --train_batch_size 64 --zero_stage 3 --bf16 --beta 0.1 --flash_attn\n4x A100 80G\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 15.66 GiB\n"
    )
    found = diagnose(text, {}, knowledge, ())
    told = to_markdown(found)
    assert "logits of an update micro batch in fp32 (4 rows × 8,192 tokens" in told
    assert "is made in the reference log-prob or the actor update" in told
