"""Numbers that tell of some of a run's cards, or of none."""

import pytest


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("GRPO colocate: one card spikes, the other three stay low", 4),
        ("one GPU is at 79GB and the other seven are idle", 8),
        ("其中一张卡显存飙升，另外七张正常", 8),
        ("trained on one 4090, other 3 runs were ok", 1),
        ("one GPU runs out while the other GPUs have 40GB free", None),
        ("OOM appears only when I use more than two GPUs", None),
        ("超过两张卡就 OOM", None),
    ],
)
def test_one_card_beside_others_is_not_all(values, text, cards):
    assert values(text).get("n_gpus") == cards


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("vLLM still holds 7 GB per GPU while it should sleep", None),
        ("Ray job killed for CPU memory, vLLM actors at 13 to 14 GB each, 8 GPUs", None),
        ("GRPO with verl, about 50GB per card", None),
        ("reserved 24 GB per gpu", None),
        ("we have 24GB per GPU", 24),
        ("8 GPUs, 48 GB each", 48),
    ],
)
def test_what_something_takes_of_each_card_is_no_card_s_size(values, text, size):
    assert values(text).get("gpu_mem_gib") == size


@pytest.mark.parametrize("text", ["backward OOM with ZeRO 1/2", "ZeRO 2/3 都试了"])
def test_two_stages_are_none(values, text):
    assert "zero_stage" not in values(text)
