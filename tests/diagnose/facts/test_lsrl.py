"""LSRL's own arguments: lsdefine/lsrl 835f76c lsrl/lsrl.py, and its optimizer on the host."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.vocabulary import Value

SCRIPT = """from lsrl import LSRL
from vllm import LLM, SamplingParams
vllm_gen = LLM(model=model_path, enforce_eager=True)
model_path = "Qwen/Qwen2.5-7B-Instruct"
lsrl = LSRL(model_path, epochs=1, train_data=QAs, rollout_num=8,
            train_batch_size=2, gen_max_tokens=1024, trainer={trainer},
            gen_device=[7], accum_steps=32, vllm_kwargs={{"gpu_memory_utilization": 0.25}})
lsrl.train()
"""


def run(trainer: str = "'LSCPU'", **answers: Value) -> Diagnosis:
    return diagnose(SCRIPT.format(trainer=trainer), {"gpu_model": "A800", "gpu_mem_gib": 80, **answers}, current(), ())


def test_its_arguments_are_read() -> None:
    values = run(n_gpus=3).facts.values
    expected = {
        "framework": "lsrl",
        "micro_batch": 2,
        "rollout_n": 8,
        "response_length": 1024,
        "gradient_accumulation": 32,
        "optimizer_on_cpu": True,
        "rollout_mode": "server",
        "gpu_memory_utilization": 0.25,
    }
    assert {id: values.get(id) for id in expected} == expected


def test_a_script_that_calls_train_trains_though_it_tests_with_an_engine_too() -> None:
    assert run(n_gpus=1).facts.values.get("trains") is not False


@pytest.mark.parametrize(("cards", "there"), [(1, True), (3, False)])
def test_on_one_card_its_engine_stands_beside_the_update(cards: int, there: bool) -> None:
    gpu = run(n_gpus=cards).estimate.gpu
    assert gpu is not None
    update = gpu.phase("actor_update")
    assert update is not None
    ids = {term.id for term in update.terms}
    assert ("kv_pool" in ids) is there
    assert "actor_gradients" in ids
    assert "actor_optimizer" not in ids


def test_deepspeed_in_its_place_has_its_state_on_the_host_as_well() -> None:
    values = run("'DeepSpeed'", n_gpus=2).facts.values
    assert (values["strategy"], values["zero_stage"], values["optimizer_on_cpu"]) == ("deepspeed", 2, True)
