"""What is said of a text that is encoded, and of a card in a size that is not sold."""

import base64
import quopri

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report.text import to_text

TEXT = "verl GRPO on 8 x A100 80GB\ndata.train_batch_size=64 data.max_prompt_length=1024 actor_rollout_ref.rollout.n=8\nCUDA out of memory"


def _notes(text):
    return " ".join(read_facts(read(text), {}, current()).notes)


def test_base64_is_named_and_nothing_of_it_is_taken_for_text():
    coded = base64.encodebytes(TEXT.encode()).decode()
    assert _notes(f"please help\n{coded}").startswith("Line 2 is base64, not text")
    assert "base64 -d" in to_text(diagnose(coded, {}, current(), ()))


def test_quoted_printable_is_named():
    assert "quoted-printable" in _notes(quopri.encodestring(TEXT.encode()).decode())


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "trainer.save_freq=20 rollout.n=20 data.max_prompt_length=2048 a=0A",
        "sha256 " + "0123456789abcdef" * 4,
        "0123456789abcdef" * 6,
        "/" + "a" * 80,
    ],
)
def test_settings_paths_and_checksums_are_none(text):
    assert "base64" not in _notes(text)
    assert "quoted-printable" not in _notes(text)


@pytest.mark.parametrize(
    ("card", "told"), [("A100 24GB", True), ("A100 40GB", False), ("A100 79GB", False), ("RTX 4090", False)]
)
def test_a_size_in_which_a_card_is_not_sold_is_told(card, told):
    assert ("is sold with" in _notes(f"GRPO with verl on one {card}, CUDA out of memory")) is told


@pytest.mark.parametrize(("card", "part"), [("A100 24GB", True), ("RTX 4090 48GB", False)])
def test_more_than_a_card_is_sold_with_is_no_part_of_one(card, part):
    assert ("a part of a card" in _notes(f"GRPO with verl on one {card}, CUDA out of memory")) is part
