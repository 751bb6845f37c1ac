"""Changes of a run whose command only names a file: overrides where the trainer takes them, no words behind a shell's script."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 11.60 GiB. GPU 0 has a total capacity of 79.11 GiB."
AREAL = "python3 examples/math/gsm8k_rl.py --config examples/math/gsm8k_grpo.yaml"
IN_UPDATE = '\n  File "/w/AReaL/areal/engine/fsdp_engine.py", line 758, in forward_backward_batch\n    loss.backward()'
SWIFT = "bash examples/train/grpo/internal/vllm_72b_4gpu.sh"
IN_LOSS = '\n  File "/w/swift/trainers/rlhf_trainer/grpo_trainer.py", line 900, in _compute_loss\n    loss = f(logits)'


def _added(text):
    given = diagnose(text, {}, current(), ()).prescriptions
    return {one.lever.slug: [line.text for line in one.patch if line.mark == "+"] for one in given}


def test_a_flag_that_names_a_file_makes_no_flags_of_overrides():
    added = _added(AREAL + IN_UPDATE + OOM)
    assert added["batch.dynamic_tokens.down"] == [f"{AREAL} actor.mb_spec.max_tokens_per_mb=5120"]


@pytest.mark.parametrize("script", [SWIFT, SWIFT.removeprefix("bash ")])
def test_nothing_is_written_behind_a_script_of_a_shell(script):
    added = _added(script + IN_LOSS + OOM)
    assert added
    assert not any(added.values())
