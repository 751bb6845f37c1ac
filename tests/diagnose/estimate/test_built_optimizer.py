"""A failure where the trainer makes the optimizer's own weights, before any step."""

from __future__ import annotations

import pytest

from diagnose.knowledge import Knowledge, current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis, PhaseEstimate

_RUN = (
    "Llama-3-8B, full fine-tune, bf16, 2 x A100 40GB\n"
    "deepspeed --num_gpus 2 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --deepspeed ds_zero{stage}.json --bf16\n"
)
_FRAMES = (
    "Traceback (most recent call last):\n"
    '  File "/x/deepspeed/runtime/engine.py", line 1513, in _configure_zero_optimizer\n'
    "    optimizer = DeepSpeedZeroOptimizer(\n"
    '  File "/x/deepspeed/runtime/zero/{file}.py", line 535, in __init__\n'
    "    self.{function}()\n"
    '  File "/x/deepspeed/runtime/zero/{file}.py", line 670, in {function}\n'
    "    torch.zeros(\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} GiB.\n"
)
_STAGE_2 = _RUN.format(stage=2) + _FRAMES.format(
    file="stage_1_and_2", function="initialize_optimizer_states", asked=14.96
)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return current()


def _load(diagnosis: Diagnosis) -> PhaseEstimate:
    assert diagnosis.estimate.gpu is not None
    found = diagnosis.estimate.gpu.phase("load")
    assert found is not None
    return found


def test_the_fp32_weights_and_their_gradients_stand_beside_the_model(knowledge: Knowledge) -> None:
    """8.03 billion parameters on two cards: 4 bytes of master and 4 of gradient for half of them, as the 14.96 GiB that were asked for."""
    diagnosis = diagnose(_STAGE_2, {}, knowledge, ())
    (built,) = (term for term in _load(diagnosis).terms if term.id == "optimizer_built")
    assert built.bytes / 2**30 == pytest.approx(2 * 14.96, rel=0.01)
    assert diagnosis.phase == "load"


def test_the_optimizer_on_the_host_is_advised(knowledge: Knowledge) -> None:
    diagnosis = diagnose(_STAGE_2, {}, knowledge, ())
    assert diagnosis.prescriptions[0].lever.slug == "offload.optimizer.on"


def test_an_optimizer_on_the_host_takes_nothing_of_the_card(knowledge: Knowledge) -> None:
    diagnosis = diagnose(_STAGE_2, {"optimizer_on_cpu": "true"}, knowledge, ())
    assert not any(term.id == "optimizer_built" for term in _load(diagnosis).terms)


def test_a_load_that_fails_before_holds_none_of_it(knowledge: Knowledge) -> None:
    text = _RUN.format(stage=2) + (
        '  File "/x/transformers/modeling_utils.py", line 4, in from_pretrained\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB.\n"
    )
    assert not any(term.id == "optimizer_built" for term in _load(diagnose(text, {}, knowledge, ())).terms)


def test_stage_3_may_have_made_moments_as_well(knowledge: Knowledge) -> None:
    text = _RUN.format(stage=3) + _FRAMES.format(file="stage3", function="_setup_for_real_optimizer", asked=3.73)
    (built,) = (term for term in _load(diagnose(text, {}, knowledge, ())).terms if term.id == "optimizer_built")
    assert built.high == pytest.approx(2 * built.bytes, rel=0.01)


@pytest.mark.parametrize("words", ["OOM in initialize_optimizer_states", "CUDA OOM while initializing the optimizer"])
def test_words_tell_it_as_well_and_no_engine(words: str, knowledge: Knowledge) -> None:
    text = f"Llama-3-8B at ZeRO-2 on 2 x A100 40GB, full fine-tune bf16, {words}. CUDA out of memory. Tried to allocate 14.96 GiB."
    diagnosis = diagnose(text, {}, knowledge, ())
    assert diagnosis.phase == "load"
    assert any(term.id == "optimizer_built" for term in _load(diagnosis).terms)


@pytest.mark.parametrize("algo", ["gae", "grpo"])
def test_megatron_has_buffers_of_gradients_by_then_and_a_critic_that_was_made_first(
    algo: str, knowledge: Knowledge
) -> None:
    """Of 7.6 billion parameters on four cards: 4 bytes a gradient, and as much for each fp32 master."""
    text = (
        f"verl 0.3.0.post1, 4 x A100 80GB\npython3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer "
        f"algorithm.adv_estimator={algo} actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 "
        "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 trainer.n_gpus_per_node=4 trainer.nnodes=1\n"
        '  File "/x/verl/workers/megatron_workers.py", line 215, in _build_model_optimizer\n'
        '  File "/x/megatron/core/optimizer/distrib_optimizer.py", line 431, in _build_model_and_main_param_groups\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 260.00 MiB.\n"
    )
    sizes = {term.id: term.bytes / 7.6e9 for term in _load(diagnose(text, {}, knowledge, ())).terms}
    assert sizes["actor_gradients"] == pytest.approx(4 / 4, rel=0.01)
    assert sizes.get("critic_gradients", 0) == pytest.approx(4 / 4 if algo == "gae" else 0, rel=0.1)
    assert sizes.get("critic_masters", 0) == pytest.approx(4 / 4 if algo == "gae" else 0, rel=0.1)
