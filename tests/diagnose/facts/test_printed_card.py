"""A card that the words name and the printed capacity rules out is not the run's."""

from __future__ import annotations

import pytest

OUT = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.33 GiB. GPU 0 has a total capacity of {} GiB.\n"
RUN = "python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8 trainer.nnodes=1\n"


@pytest.mark.parametrize(
    "words",
    [
        "# moved this config over from our L4 box",
        "[rank0] layer L4 attention q_proj loaded",
        "it ran on 4 x L4 24GB last week",
        "the g6.12xlarge we had is gone",
        "4张24G的卡上没问题",
    ],
)
def test_a_card_that_is_too_small_for_what_was_printed_loses(values, words):
    found = values(f"{words}\n{RUN}{OUT.format('79.15')}")
    assert "gpu_model" not in found
    assert (found["gpu_mem_gib"], found["n_gpus"]) == (80, 8)


@pytest.mark.parametrize("capacity", ["23.64", "47.53", "140.00"])
def test_a_card_of_another_size_loses(values, capacity):
    assert "gpu_model" not in values(f"moved from our H800 box\n{RUN}{OUT.format(capacity)}")


@pytest.mark.parametrize(
    ("words", "capacity", "card", "size"),
    [
        ("8 x H100 80GB", "79.11", "H100", 80),
        ("on an H100", "94.99", "H100", 96),
        ("on one A100", "39.39", "A100", 40),
        ("a slice of an H100 80GB", "9.75", "H100", 80),
        ("4090 48G x 8", "47.50", "RTX 4090", 48),
        ("on my RTX 4090", "47.50", "RTX 4090", 24),
        ("4 x A100 40GB", "79.15", "A100", 80),
        ("8 x L4, moved from A100", "22.06", "L4", 24),
    ],
)
def test_a_card_that_may_print_it_stays(values, words, capacity, card, size):
    found = values(f"{words}\n{OUT.format(capacity)}")
    assert (found["gpu_model"], found["gpu_mem_gib"]) == (card, size)


def test_an_answer_outranks_what_was_printed(values):
    assert values(f"{RUN}{OUT.format('79.15')}", gpu_model="L4")["gpu_model"] == "L4"


def test_a_size_that_no_such_card_prints_is_not_its(values):
    found = values(f"verl on 8 cards, 192 GB each\n{OUT.format('79.15')}")
    assert (found["gpu_mem_gib"], found["n_gpus"]) == (80, 8)
    assert values(f"8 cards, 80 GB each\n{OUT.format('19.62')}")["gpu_mem_gib"] == 80  # a slice of one
