"""Log-prob passes that are packed by tokens have no number of rows to lower."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

RUN = """
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 11.60 GiB. GPU 0 has a total capacity of 79.15 GiB of which 6.21 GiB is free.
  File "/verl/workers/actor/dp_actor.py", line 330, in compute_log_prob
8x A100 80GB
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
 data.train_batch_size=128 data.max_prompt_length=2048 data.max_response_length=8192 actor_rollout_ref.rollout.n=8 \\
 actor_rollout_ref.actor.use_dynamic_bsz={update} actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 {own} \\
 actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=32768 trainer.n_gpus_per_node=8 trainer.nnodes=1
"""
OWN = "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz="


def told(update: str, own: str = "") -> Diagnosis:
    return diagnose(RUN.format(update=update, own=own), {}, current(), ())


def advised(found: Diagnosis) -> set[str]:
    return {change.key for one in found.prescriptions for change in one.changes}


@pytest.mark.parametrize(("update", "own"), [("True", ""), ("True", OWN + "True"), ("False", OWN + "True")])
def test_it_advises_no_fewer_rows_where_the_pass_is_packed(update: str, own: str) -> None:
    found = told(update, own)
    assert not [key for key in advised(found) if "log_prob_micro_batch_size" in key]


@pytest.mark.parametrize(("update", "own"), [("False", ""), ("True", OWN + "False")])
def test_it_advises_fewer_rows_where_the_pass_is_cut_by_rows(update: str, own: str) -> None:
    assert "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu" in advised(told(update, own))


def test_it_says_that_the_key_has_no_effect() -> None:
    notes = told("False", OWN + "True").facts.notes
    assert any(
        note.startswith("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu has no effect") for note in notes
    )
