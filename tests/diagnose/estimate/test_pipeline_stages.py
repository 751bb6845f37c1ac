"""Stages of a Megatron pipeline that are not alike, and which of them needs the most."""

from __future__ import annotations

import pytest

from diagnose.estimate.stages import stage_layers
from diagnose.types import Term
from tests.runs import run_of

TABLE, BODY = 152_064 * 3584, 7_615_616_512 - 2 * 152_064 * 3584  # of Qwen2.5-7B, whose body has 28 layers
RUN = (
    "megatron sft --model Qwen/Qwen2.5-7B-Instruct --packing true --micro_batch_size 1 --recompute_granularity full "
    "--pipeline_model_parallel_size 4"
)


def _terms(more: str) -> dict[str, Term]:
    run = run_of(f"{RUN} {more}", {"n_gpus": 8, "gpu_mem_gib": 80})
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase("actor_update")
    assert found is not None
    return {term.id: term for term in found.terms}


@pytest.mark.parametrize(
    ("taken", "first", "between", "last"),
    [({}, 12, 12, 12), ({"embedding_as_layer": True}, 11, 12, 12), ({"loss_as_layer": True}, 12, 12, 11)],
)
def test_table_and_loss_may_each_take_the_place_of_a_layer(
    taken: dict[str, bool], first: int, between: int, last: int
) -> None:
    values = {"pp": 8, **taken}
    layers = 96 - len(taken)
    assert [stage_layers(values, layers, which) for which in ("first", "between", "last")] == [first, between, last]


def test_what_is_stated_of_the_outer_stages_leaves_the_rest_to_those_between() -> None:
    values = {"pp": 16, "first_stage_layers": 3, "last_stage_layers": 2}
    assert [stage_layers(values, 61, which) for which in ("first", "between", "last")] == [3, 4, 2]


OUTER = "--max_length 4096 --decoder_first_pipeline_num_layers 4 --decoder_last_pipeline_num_layers 4"


def test_a_stage_between_decides_where_it_has_more_layers() -> None:
    """Ten of 28 layers and no table, for three micro batches in flight; no logits."""
    terms = _terms(OUTER)
    assert terms["actor_weights"].bytes == pytest.approx(2 * BODY * 10 / 28, rel=1e-4)
    assert terms["checkpoints"].bytes == pytest.approx(4096 * 3584 * 2 * 10 * 3, rel=0.03)
    assert "logits" not in terms


def test_a_stage_between_is_left_out_where_all_are_alike() -> None:
    assert _terms("--max_length 32768")["actor_weights"].bytes == pytest.approx(2 * (TABLE + BODY / 4), rel=1e-4)


@pytest.mark.parametrize(
    "command",
    [
        "megatron sft --model Qwen/Qwen3-235B-A22B --account_for_embedding_in_pipeline_split true",
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator=grpo "
        "+actor_rollout_ref.actor.megatron.override_transformer_config.account_for_embedding_in_pipeline_split=True",
        "python3 train.py --rollout-batch-size 8 --sglang-mem-fraction-static 0.7 --account-for-embedding-in-pipeline-split",
    ],
)
def test_every_trainer_on_megatron_says_so_by_its_name(command: str) -> None:
    assert run_of(command, {"n_gpus": 8}).facts.values["embedding_as_layer"] is True


def test_stages_that_are_told_are_read_from_overrides() -> None:
    override = "+actor_rollout_ref.actor.megatron.override_transformer_config"
    run = (
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator=grpo "
        f"{override}.num_layers_in_first_pipeline_stage=3 {override}.num_layers_in_last_pipeline_stage=2"
    )
    values = run_of(run).facts.values
    assert (values["first_stage_layers"], values["last_stage_layers"]) == (3, 2)


ROLL = """
pretrain: Qwen/Qwen2.5-7B-Instruct
prompt_length: 1024
response_length: 3072
rollout_batch_size: 64
num_return_sequences_in_group: 8
actor_train:
  training_args:
    per_device_train_batch_size: 1
    gradient_accumulation_steps: {steps}
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      pipeline_model_parallel_size: 4
"""


def _activations(steps: int) -> int:
    run = run_of(ROLL.format(steps=steps), {"n_gpus": 8, "gpu_mem_gib": 80})
    assert run.estimate.gpu is not None
    found = run.estimate.gpu.phase("actor_update")
    assert found is not None
    return sum(term.bytes for term in found.terms if term.id == "activations")


def test_stages_in_turn_wait_for_more_micro_batches() -> None:
    """Korthikanti et al. 2022, section 4.2.3: 1 + (p - 1) / (p m) as many; the last stage, with the logits, holds some as well."""
    run = f"{RUN} --max_length 32768"
    one, two = (_terms(f"{run} {more}") for more in ("", "--virtual_pipeline_model_parallel_size 2"))
    last = (4 + 1) / 2
    assert two["checkpoints"].bytes == pytest.approx(one["checkpoints"].bytes * last, rel=0.1)


def test_no_more_micro_batches_wait_than_a_step_has() -> None:
    assert _activations(1) < _activations(3) < _activations(4) == _activations(64)
