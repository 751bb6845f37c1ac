"""Stages of a Megatron pipeline that are not alike, and which of them needs the most."""

from __future__ import annotations

import pytest

from diagnose.estimate.stages import stage_layers
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Term

TABLE, BODY = 152_064 * 3584, 7_615_616_512 - 2 * 152_064 * 3584  # of Qwen2.5-7B, whose body has 28 layers
RUN = (
    "megatron sft --model Qwen/Qwen2.5-7B-Instruct --packing true --micro_batch_size 1 --recompute_granularity full "
    "--pipeline_model_parallel_size 4"
)


def _terms(more: str) -> dict[str, Term]:
    run = diagnose(f"{RUN} {more}", {"n_gpus": 8, "gpu_mem_gib": 80}, current(), ())
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
    assert diagnose(command, {"n_gpus": 8}, current(), ()).facts.values["embedding_as_layer"] is True


def test_stages_that_are_told_are_read_from_overrides() -> None:
    override = "+actor_rollout_ref.actor.megatron.override_transformer_config"
    run = (
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer algorithm.adv_estimator=grpo "
        f"{override}.num_layers_in_first_pipeline_stage=3 {override}.num_layers_in_last_pipeline_stage=2"
    )
    values = diagnose(run, {}, current(), ()).facts.values
    assert (values["first_stage_layers"], values["last_stage_layers"]) == (3, 2)
