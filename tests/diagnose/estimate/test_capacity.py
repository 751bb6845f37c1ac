"""What a card has where no message prints it."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.units import to_gib


@pytest.mark.parametrize(
    ("card", "sold", "has", "why"),
    [
        (
            "RTX 4060 Ti",
            16,
            15.76,
            "0.985 of the size as sold",
        ),  # the catalogue holds the size as sold: no print was at hand
        ("RTX 4090", 24, 23.64, "as the driver shows this card"),
    ],
)
def test_a_card_of_which_no_print_was_at_hand_has_less_than_it_is_sold_as(
    card: str, sold: int, has: float, why: str
) -> None:
    run = {"framework": "trl", "model": "Qwen2.5-1.5B", "n_gpus": 1, "gpu_model": card, "gpu_mem_gib": sold}
    pool = diagnose("", {**run, "algo": "sft"}, current(), ()).estimate.gpu
    assert pool is not None
    assert pool.capacity is not None
    assert to_gib(pool.capacity) == pytest.approx(has)
    assert pool.capacity_why.startswith(why)
