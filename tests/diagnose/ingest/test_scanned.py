"""Messages that somebody's reader of pictures has misread."""

from __future__ import annotations

import pytest

from diagnose.ingest import read

MISREAD = (
    "torch.cuda.0utOfMemoryError: CUDA out of mernory. Tried to al1ocate 2.5O GiB. GPU O has a total capacity of 79.1O GiB "
    "of which l.l2 GlB is free. lncluding non-PyTorch mernory, this process has 77.9l GiB memory in use.\nverl / 8 x H1OO"
)


def test_a_misread_message_is_put_right_with_its_figures() -> None:
    text = read(MISREAD).text
    assert (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB"
        in text
    )
    assert "of which 1.12 GiB is free. Including non-PyTorch memory, this process has 77.91 GiB" in text
    assert text.endswith("8 x H100")
    assert read(text).text == text


@pytest.mark.parametrize(
    "text",
    ["pool ALLOC 1loc O.l GiB of A1OO", "a0 l1 GPU O has", "we 0utput mern and H1OO", "CUDA out of memory. 2.5O GiB"],
)
def test_a_text_without_such_words_stays_as_it_is(text: str) -> None:
    assert read(text).text == text


def test_adapters_and_stages_are_put_right_beside_a_misread_message() -> None:
    flags = "swift rlhf --train_type 1ora --l0ra_rank 8 --deepspeed zer03 --model explora"
    assert read(f"{MISREAD}\n{flags}").text.endswith(
        "--train_type lora --lora_rank 8 --deepspeed zero3 --model explora"
    )
    assert read(flags).text == flags


def test_keys_and_numbers_are_put_right_beside_a_misread_message() -> None:
    flags = "--mode1_name_or_path Qwen/Qwen2.5-3B --max_comp1etion_1ength 2O48 --adam_beta2 0.95 --seed l0"
    assert read(f"Tried to al1ocate 4.74 Gi8\n{flags}").text == (
        "Tried to allocate 4.74 GiB\n--model_name_or_path Qwen/Qwen2.5-3B --max_completion_length 2048 --adam_beta2 0.95 --seed l0"
    )
    assert read(flags).text == flags


def test_a_misread_card_is_put_right_by_its_maker_s_name() -> None:
    assert read("| O  NVlDIA A1OO-SXM4-8OGB   On |").text == "| O  NVlDIA A100-SXM4-80GB   On |"


def test_sizes_of_a_misread_message_are_put_right_in_any_line() -> None:
    text = "Tried to al1ocate 2.0O GiB\nmemory 7O.11\nG1B, and 8.9O G1B; Mernory used=61.3OGB"
    assert read(text).text == "Tried to allocate 2.00 GiB\nmemory 70.11\nGiB, and 8.90 GiB; Memory used=61.30GB"
