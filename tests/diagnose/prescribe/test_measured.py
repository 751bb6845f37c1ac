"""Advice on a run whose message or log measured more than the settings explain: what was measured is what must come down."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words import lead
from tests.diagnose.prescribe.conftest import GROUPED, Advice

Advise = Callable[..., Advice]
SMALL = GROUPED.replace("ppo_micro_batch_size=16", "ppo_micro_batch_size=4").replace("n=32", "n=4")
FULL = SMALL.replace(
    "Tried to allocate 9.10 GiB.",
    "Tried to allocate 9.10 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.15 GiB is free.",
)


def test_a_change_that_saves_less_than_was_refused_is_not_said_to_fit(advise: Advise) -> None:
    for given in advise(FULL).prescriptions:
        if given.before and given.after and given.before.need - given.after.need < 7 * 2**30:
            assert given.after_verdict == "out"


def test_before_and_after_are_told_as_they_were_measured(advise: Advise) -> None:
    plain, full = advise(SMALL), advise(FULL)
    same = [one for one in full.prescriptions if one.before and one.lever.slug in plain.levers]
    assert same
    for given in same:
        before = plain.advised(given.lever.slug).before
        assert given.before is not None
        assert given.after is not None
        assert before is not None
        assert given.before.need / 2**30 == pytest.approx(79.15 - 1.15 + 9.10, abs=0.01)
        assert given.before.bytes == before.bytes
        assert given.before.need - given.after.need == given.before.bytes - given.after.bytes


def test_without_a_phase_the_card_is_not_taken_for_the_phase_that_is_highest(advise: Advise) -> None:
    text = "\n".join(line for line in FULL.splitlines() if "dp_actor" not in line and "backward" not in line)
    assert all(one.before is None or one.before.measured is None for one in advise(text).prescriptions)


def test_more_free_than_asked_for_leaves_the_verdict_to_the_estimate_and_the_room(advise: Advise) -> None:
    pieces = FULL.replace("1.15 GiB is free", "30.00 GiB is free")
    assert all(one.after_verdict != "out" for one in advise(pieces).prescriptions if one.after)


def test_a_change_of_a_run_that_fits_by_the_estimate_is_not_said_to_fit(advise: Advise) -> None:
    found = advise(SMALL.replace("Tried to allocate 9.10 GiB.", ""))
    assert {one.after_verdict for one in found.prescriptions if one.after} == {"open"}


def test_the_figure_that_the_changes_start_from_is_told(advise: Advise) -> None:
    said = lead(diagnose(FULL, {}, current(), ()))
    assert "By the figures of message and log it is 87.1" in said


BRIMMING = """ROLL, 8 x RTX 4090 48G
rollout_batch_size: 128
sequence_length: 8192
pretrain: Qwen/Qwen2.5-VL-3B-Instruct
adv_estimator: "grpo"
actor_train:
  training_args:
    per_device_train_batch_size: 2
    gradient_accumulation_steps: 32
  strategy_args:
    strategy_name: deepspeed_train
    strategy_config: ${deepspeed_zero2}
  device_mapping: list(range(0,8))
actor_infer:
  strategy_args:
    strategy_name: vllm
  device_mapping: list(range(0,8))
  File "/root/ROLL/roll/distributed/strategy/deepspeed_strategy.py", line 298, in train_step
    self.model.backward(loss)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 4 has a total capacity of 47.37 GiB of which 2.03 GiB is free.
"""


def test_blocks_that_are_only_cached_do_not_undo_a_saving_where_the_card_was_full(advise: Advise) -> None:
    """Stage 3 takes 6 GiB of weights off a card on which 2.6 were lacking: what the allocator then caches runs out of nothing."""
    given = advise(BRIMMING)
    shard = given.advised("shard.zero_stage.up")
    assert shard.after is not None
    assert (shard.after_verdict, round(shard.after.need / 2**30, 2)) == ("close", 47.37)
    assert given.levers[0] == "batch.micro.down"  # filling the card to the brim is no answer yet


def test_passes_that_are_set_beside_the_prompts_of_a_step_grow_as_each_gets_smaller(advise: Advise) -> None:
    changes = advise(BRIMMING).advised("batch.micro.down").changes
    assert [(one.key.rpartition(".")[2], one.before, one.after) for one in changes] == [
        ("per_device_train_batch_size", "2", "1"),
        ("gradient_accumulation_steps", "32", "64"),
    ]
