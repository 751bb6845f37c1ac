"""What a rank gathers under ZeRO-3 to hand its weights to the engine, by version, way of training and place of the engine."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.units import GIB

WHOLE = 2 * 32.76e9 / GIB
RUN = """
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB.
ms-swift=={version}
NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-32B-Instruct --train_type {how} --deepspeed {deepspeed} \\
    --use_vllm true --vllm_mode {mode}{more}
"""
IN_PARTS = " --move_model_batches 16"


def _run(version, how="lora", mode="colocate", more="", deepspeed="zero3"):
    text = RUN.format(version=version, how=how, mode=mode, more=more, deepspeed=deepspeed)
    return diagnose(text, {"phase": "weight_sync"}, current(), ())


def _gathered(*args, **more):
    phase = _run(*args, **more).estimate.gpu.phase("weight_sync")
    return sum(term.bytes for term in phase.terms if term.id == "sync_transient") / GIB


@pytest.mark.parametrize("mode", ["colocate", "server"])
@pytest.mark.parametrize("version", ["3.7.0", "3.11.0", "3.12.2", "3.12.6", "4.1.0"])
def test_adapters_are_merged_into_a_whole_model_wherever_the_engine_is(version, mode):
    """137 GiB of a 72B on each training card, with a server: modelscope/ms-swift issue 4023."""
    assert _gathered(version, mode=mode) == pytest.approx(WHOLE, rel=0.01)


@pytest.mark.parametrize("mode", ["colocate", "server"])
@pytest.mark.parametrize(
    ("version", "whole"), [("3.11.0", False), ("3.12.1", True), ("3.12.5", True), ("3.12.6", False)]
)
def test_parts_help_where_each_is_gathered_by_itself(version, whole, mode):
    """One gather goes around all parts until 3.12.6: modelscope/ms-swift pull request 8091."""
    gathered = _gathered(version, mode=mode, more=IN_PARTS)
    assert gathered == pytest.approx(WHOLE, rel=0.01) if whole else gathered < 5


def test_parts_are_not_advised_where_they_have_no_effect():
    advised = {one.lever.slug for one in _run("3.12.2").prescriptions}
    assert "sync.gather_batched" not in advised
    assert "upgrade.framework" in advised
    assert "sync.gather_batched" in {one.lever.slug for one in _run("3.12.6").prescriptions}


@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_full_training_went_one_parameter_at_a_time_until_3_10(mode):
    assert _gathered("3.9.3", how="full", mode=mode) < 5
    assert _gathered("3.10.0", how="full", mode=mode) == pytest.approx(WHOLE, rel=0.01)


def test_before_3_5_a_server_got_a_whole_model_of_adapters_and_single_parameters_else():
    """TRL v0.16.1 trainer/grpo_trainer.py: _move_model_to_vllm."""
    assert _gathered("3.4.0", mode="server", more=IN_PARTS) == pytest.approx(WHOLE, rel=0.01)
    assert _gathered("3.4.0", how="full", mode="server") < 5


def test_stages_that_keep_whole_weights_gather_nothing():
    assert _gathered("3.11.0", deepspeed="zero2") == 0
