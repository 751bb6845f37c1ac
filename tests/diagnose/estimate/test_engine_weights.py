"""The engine's copy of the weights, whole and quantised."""

import pytest

from diagnose.estimate.engine_weights import engine_weight_bytes
from tests.runs import run_of

PASTE = """
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=1 actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 trainer.n_gpus_per_node=8 trainer.nnodes=1{more}
"""


def weights(more=""):
    found = run_of(PASTE.format(more=more), {"gpu_mem_gib": 80})
    rollout = found.estimate.gpu.phase("rollout")
    return next(term.bytes for term in rollout.terms if term.id == "engine_weights")


def test_what_is_not_quantised_takes_two_bytes_a_parameter():
    assert weights() == 2 * 7_615_616_512


def test_table_and_head_of_a_quantised_engine_stay_in_bf16():
    table_and_head = 2 * 152064 * 3584 + 3584
    layers = 7_615_616_512 - table_and_head
    assert weights(" actor_rollout_ref.rollout.quantization=fp8") == 2 * table_and_head + layers


@pytest.mark.parametrize("tp", [1, 4])
def test_the_copy_is_split_among_the_tensor_parallel_ranks(tp):
    assert engine_weight_bytes(parameters=1000, tp=tp, root=100, each=1) == 1100 / tp


@pytest.mark.parametrize("kind", ["nf4", "int4", "int8", "fp8"])
def test_a_quantised_layer_takes_an_engine_as_many_bytes_as_a_trainer(kind):
    answers = {"gpu_mem_gib": 80, "engine_quantization": kind, "full_or_lora": "qlora", "quantization": kind}
    found = run_of(PASTE.format(more=""), answers)
    terms = {term.id: term.how for term in found.estimate.gpu.phase("rollout").terms}
    each = terms["engine_weights"].partition("× ")[2].partition(" B")[0]
    assert f"{each} B in linear layers" in terms["actor_weights"]
