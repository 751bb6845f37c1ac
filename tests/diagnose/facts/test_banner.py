"""What a trainer prints before its first step, and frames of notebooks."""

from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose

BANNER = """
[INFO|trainer.py:2408] >>   Instantaneous batch size per device = {each}
[INFO|trainer.py:2411] >>   Total train batch size (w. parallel, distributed & accumulation) = {all}
[INFO|trainer.py:2412] >>   Gradient Accumulation steps = {passes}
[INFO|trainer.py:2414] >>   Number of trainable parameters = {trained}
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.
Qwen2.5-7B-Instruct {words}
"""


def values(text: str) -> dict[str, object]:
    return dict(diagnose(text, {}, current(), ()).facts.values)


def banner(
    each: int = 4, passes: int = 8, all: int = 32, trained: str = "20,185,088", words: str = ""
) -> dict[str, object]:
    return values(BANNER.format(each=each, passes=passes, all=all, trained=trained, words=words))


@pytest.mark.parametrize(("all", "cards"), [(32, 1), (64, 2), (256, 8)])
def test_the_rows_of_a_step_tell_the_cards(all: int, cards: int) -> None:
    assert banner(all=all)["n_gpus"] == cards


def test_rows_that_do_not_divide_tell_nothing_and_words_outrank_them() -> None:
    assert "n_gpus" not in banner(all=33)
    assert banner(all=64, words="8 x A100 80GB")["n_gpus"] == 8


@pytest.mark.parametrize(
    ("trained", "training"), [("20,185,088", "lora"), ("7,615,616,512", "full"), ("1,200,000,000", None)]
)
def test_the_share_that_is_trained_tells_adapters(trained: str, training: str | None) -> None:
    assert banner(trained=trained).get("full_or_lora") == training


@pytest.mark.parametrize(
    "line",
    [
        "trainable params: 20,185,088 || all params: 7,635,801,600 || trainable%: 0.2643",
        "PeftModelForCausalLM: 7635.8016M Params (20.1851M Trainable [0.2643%]), 0.0M Buffers.",
        ' "-____-"     Trainable parameters = 41,943,040/8,000,000,000 (0.52% trained)',
    ],
)
def test_each_trainers_own_words_are_read(line: str) -> None:
    assert values(f"{line}\nCUDA out of memory.")["full_or_lora"] == "lora"


def test_it_reads_frames_of_notebooks() -> None:
    text = (
        "OutOfMemoryError                          Traceback (most recent call last)\n"
        "<ipython-input-12-1a2b> in <cell line: 0>()\n"
        "---> 13 trainer.train()\n\n"
        "/usr/local/lib/python3.11/dist-packages/transformers/trainer.py in training_step(self, model, inputs)\n"
        "   3698             loss = self.compute_loss(model, inputs)\n"
        "File /opt/conda/lib/python3.10/site-packages/trl/trainer/grpo_trainer.py:1010, in GRPOTrainer.compute_loss(self, model)\n"
        "OutOfMemoryError: CUDA out of memory.\n"
    )
    frames = read(text).frames
    assert [(frame.path.rsplit("/", 1)[-1], frame.function, frame.source_line) for frame in frames] == [
        ("trainer.py", "training_step", 0),
        ("grpo_trainer.py", "compute_loss", 1010),
    ]
    assert values(text)["phase"] == "actor_update"


def test_a_function_called_in_a_sentence_is_no_frame() -> None:
    assert not read("I changed /home/me/train.py in line 3 and call run(x)").frames
