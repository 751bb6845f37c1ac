"""What a trainer prints before its first step, and frames of notebooks."""

from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.words import refusal

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


@pytest.mark.parametrize(
    "text",
    [
        'File "C:\\Users\\liu\\train.py", line 3, in <module>',
        "WSL2, RTX 4070 12GB",
        "RTX 4060 laptop 8GB",
        "笔记本 4060 8G",
    ],
)
def test_a_pc_is_taken_to_have_one_card(text: str) -> None:
    told = diagnose(f"{text}\nCUDA out of memory.", {}, current(), ()).facts.stated["n_gpus"]
    assert (told.value, told.origin) in ((1, "assumed"), (1, "read"))


@pytest.mark.parametrize("text", ["WSL2, torchrun --nproc_per_node 2 train.py", "C:\\Users\\a 双卡 4090"])
def test_a_pc_with_several_is_not(text: str) -> None:
    told = diagnose(f"{text}\nCUDA out of memory.", {}, current(), ()).facts.stated.get("n_gpus")
    assert told is None or told.origin != "assumed"


def test_more_allocated_than_the_card_has_is_the_driver_of_windows() -> None:
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 15.99 GiB of which 0 bytes "
        "is free. Of the allocated memory 20.62 GiB is allocated by PyTorch, and 1.12 GiB is reserved by PyTorch but unallocated.\n"
    )
    assert any("on Windows and WSL" in said for said in refusal.told(diagnose(text, {}, current(), ())))
    held = text.replace(
        "Of the allocated", "Including non-PyTorch memory, this process has 15.9 GiB memory in use. Of the allocated"
    )
    assert not any("on Windows and WSL" in said for said in refusal.told(diagnose(held, {}, current(), ())))
