"""Where the optimizer's state is and how wide it is, in a script of one's own: what nothing shows is open down to nothing on the card."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis, Term
from diagnose.vocabulary import Value
from diagnose.words import lead

SCRIPT = """Does it fit on one A100 80GB?
import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-14B", torch_dtype=torch.bfloat16).to("cuda")
model.gradient_checkpointing_enable()
{optimizer}
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    {step}
"""
GIB = 1 << 30


def run(optimizer: str = "optimizer = build(model)", step: str = "optimizer.step()", **answers: Value) -> Diagnosis:
    told: dict[str, Value] = {"full_or_lora": "full", "micro_batch": 1, "max_length": 1024}
    return diagnose(SCRIPT.format(optimizer=optimizer, step=step), {**told, **answers}, current(), ())


def state(found: Diagnosis) -> Term | None:
    assert found.estimate.gpu is not None
    here = found.estimate.gpu.phase("optimizer_step")
    assert here is not None
    return next((term for term in here.terms if term.id == "actor_optimizer"), None)


def test_an_optimizer_that_nothing_shows_may_stand_on_the_host_and_is_asked_for() -> None:
    found = run()
    held = state(found)
    assert held is not None
    assert held.low == 0
    assert held.bytes > 50 * GIB
    assert found.verdict == "close"
    assert "optimizer_on_cpu" in found.estimate.missing
    assert "optimizer_on_cpu" in [one.question.fact for one in found.questions]
    assert "Nothing says whether the optimizer lives on the host" in lead(found)


def test_with_the_place_answered_its_width_is_open_still() -> None:
    held = state(run(optimizer_on_cpu=False))
    assert held is not None
    assert held.low == pytest.approx(held.bytes / 2, rel=0.01)


def test_the_answer_that_it_is_on_the_host_takes_it_off_the_card_but_not_the_gradients() -> None:
    found = run(optimizer_on_cpu=True)
    assert state(found) is None
    assert found.estimate.gpu is not None
    update = found.estimate.gpu.phase("actor_update")
    assert update is not None
    assert any(term.id == "actor_gradients" and term.bytes > 25 * GIB for term in update.terms)


@pytest.mark.parametrize(
    ("optimizer", "bytes_each"),
    [
        ("optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)", 4.0),
        ("optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=1e-6)", 2.0),
        ("optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)", None),
        ("optimizer = DeepSpeedCPUAdam(model.parameters(), lr=1e-6)", None),
        ("opt = CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW, fused=True)", None),
    ],
)
def test_one_that_the_script_makes_is_certain(optimizer: str, bytes_each: float | None) -> None:
    found = run(optimizer)
    held = state(found)
    assert "optimizer_on_cpu" not in found.estimate.missing
    if bytes_each is None:
        assert held is None or held.bytes == 0
        return
    assert held is not None
    assert held.low == held.bytes == held.high == pytest.approx(14.77e9 * bytes_each, rel=0.01)


def test_state_that_a_loop_puts_on_the_host_is_there_between_the_updates() -> None:
    loop = "for state in optimizer.state.values():\n        for k, v in state.items():\n            state[k] = v.cpu()"
    found = run("optimizer = torch.optim.AdamW(model.parameters())", f"optimizer.step()\n    {loop}")
    assert found.facts.values["optimizer_offload"] is True


def test_beside_adapters_the_state_is_small_and_nothing_is_asked() -> None:
    assert "optimizer_on_cpu" not in run(full_or_lora="lora").estimate.missing


def test_a_trainer_with_a_record_is_as_certain_as_before() -> None:
    text = "litgpt finetune_full Qwen/Qwen2.5-7B --precision bf16-true --devices 1 --train.micro_batch_size 1"
    found = diagnose(text, {"gpu_mem_gib": 80}, current(), ())
    held = state(found)
    assert held is not None
    assert held.low == held.bytes
    assert "optimizer_on_cpu" not in found.estimate.missing


@pytest.mark.parametrize(
    ("wrapped", "facts"),
    [
        ("fully_shard(model, offload_policy=CPUOffloadPolicy())", ("fsdp2", 3, True)),
        ("model = FSDP(model, cpu_offload=CPUOffload(offload_params=True))", ("fsdp", 3, True)),
        ("model = FSDP(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)", ("fsdp", 2, False)),
        ("model = FSDP(model, sharding_strategy=ShardingStrategy.NO_SHARD)", ("ddp", 0, False)),
        ("model = DDP(model, device_ids=[0])", ("ddp", 0, False)),
    ],
)
def test_what_wraps_the_model_tells_how_its_state_is_shared_out(wrapped: str, facts: tuple[str, int, bool]) -> None:
    optimizer = "optimizer = torch.optim.AdamW(model.parameters())"
    values = run(f"{wrapped}\n{optimizer}", n_gpus=8).facts.values
    assert (values["strategy"], values["zero_stage"], values["optimizer_on_cpu"]) == facts
