"""How text is cut into what can be found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.search.names import met
from kb.search.query import clauses
from kb.search.tokens import TITLE, document_tokens, query_words

TEXT = "训练时GPU显存不足, actor_rollout_ref.rollout.n=8, torch.cuda.OutOfMemoryError with ZeRO-3 on Qwen2.5-VL-7B, ＶＬＬＭ 0.8.2"


def finds(query: str, text: str = TEXT, *, open_end: bool = False) -> bool:
    """Whether a page of this text has every token that the query asks for, as the databases compare them."""
    has = document_tokens("", text).split()
    wanted = clauses(query_words(query, open_end=open_end))
    return bool(wanted) and all(met(clause, has) for clause in wanted)


@pytest.mark.parametrize(
    "query",
    [
        "显存",  # two letters inside a sentence
        "显",
        "不足",
        "足",  # the last letter of a run, alone
        "显存不足",
        "rollout.n",
        "actor_rollout_ref.rollout.n",
        "rollout_ref",
        "OutOfMemoryError",
        "out of memory",
        "torch.cuda",
        "zero-3",
        "zero3",
        "Qwen2.5",
        "qwen2.5-vl-7b",
        "7B",
        "vllm",  # written in full-width letters
        "0.8.2",
    ],
)
def test_it_finds(query: str) -> None:
    assert finds(query)


@pytest.mark.parametrize("query", ["存显", "显足", "rollout.m", "qwen2.6", "qwen2", "0.8.3", "zero-2"])
def test_it_does_not_find(query: str) -> None:
    assert not finds(query)


def test_an_unfinished_word_is_found_by_its_beginning() -> None:
    assert finds("gpu显 rollo", open_end=True)
    assert not finds("gpu显 rollo")


def test_words_of_the_title_are_marked_beside_the_plain_ones() -> None:
    tokens = document_tokens("显存", "rollout").split()
    assert {"显存", TITLE + "显存", "rollout"} <= set(tokens)
    assert TITLE + "rollout" not in tokens


@given(st.text(max_size=200))
def test_no_token_holds_what_a_query_language_could_read(text: str) -> None:
    for token in document_tokens(text, text).split(" "):
        assert not set(token) & set("'\"()&|!*\\<> \0")
    for word in query_words(text):
        assert all(not set(token) & set("'\"()&|!*\\<> \0") for token in word.tokens)


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu", "Nd", "Lo"]), min_size=1, max_size=30))
def test_what_stands_in_a_text_is_found_by_typing_it(word: str) -> None:
    if query_words(word):
        assert finds(word, f"before {word} after")
