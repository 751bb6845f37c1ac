"""Joining by lines: what joins, what asks, and that nothing falls through."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import diff
from kb.lines import matching, split
from kb.merge import Region, merge

TEXT = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
BASE = "one\ntwo\nthree\nfour\nfive\n"


def test_lines_side_by_side_that_two_people_changed_are_asked_about() -> None:
    joined = merge(BASE, BASE.replace("two", "2"), BASE.replace("three", "3"))
    assert joined.regions == (Region(("two\n", "three\n"), ("2\n", "three\n"), ("two\n", "3\n"), 2),)


def test_a_line_between_lets_two_changes_join() -> None:
    joined = merge(BASE, BASE.replace("one", "1"), BASE.replace("three", "3"))
    assert joined.text() == "1\ntwo\n3\nfour\nfive\n"


def test_taken_away_here_and_changed_there_is_asked_about() -> None:
    assert len(merge(BASE, BASE.replace("two\n", ""), BASE.replace("two", "2")).regions) == 1


def test_two_additions_at_one_place_are_asked_about_and_both_can_stand() -> None:
    joined = merge(BASE, BASE + "mine\n", BASE + "theirs\n")
    assert joined.text({0: "mine"}) == BASE + "mine\n"
    assert joined.text({0: "theirs"}) == BASE + "theirs\n"
    assert joined.text({0: "both"}) == BASE + "theirs\nmine\n"


@given(base=TEXT, mine=TEXT)
def test_a_change_of_one_side_is_taken_as_it_is(base: str, mine: str) -> None:
    assert merge(base, mine, base).text() == mine
    assert merge(base, base, mine).text() == mine
    assert merge(base, mine, mine).text() == mine


@given(base=TEXT, mine=TEXT, theirs=TEXT)
def test_no_line_that_somebody_added_is_lost(base: str, mine: str, theirs: str) -> None:
    """Whatever was typed stands in the joined text or in a region; choosing one side everywhere never invents a line."""
    joined = merge(base, mine, theirs)
    whole = split(joined.text())
    for text in (mine, theirs):
        for line in set(split(text)) - set(split(base)):
            assert line in whole
    choices = dict.fromkeys(range(len(joined.regions)), "mine")
    assert set(split(joined.text(choices))) <= set(split(mine)) | set(split(theirs))


@given(first=TEXT, second=TEXT)
def test_the_blocks_that_two_texts_share_are_equal_and_in_order(first: str, second: str) -> None:
    old, new = split(first), split(second)
    i = j = 0
    for in_old, in_new, many in matching(old, new):
        assert (in_old, in_new) >= (i, j)
        assert in_new >= j
        assert old[in_old : in_old + many] == new[in_new : in_new + many]
        i, j = in_old + many, in_new + many
    assert (i, j) == (len(old), len(new))


@given(first=TEXT, second=TEXT)
def test_a_diff_holds_every_line_of_both_texts(first: str, second: str) -> None:
    rows = diff.rows(first, second, whole=True)
    for text, sides in ((first, [row.old for row in rows]), (second, [row.new for row in rows])):
        numbered = [side for side in sides if side.number]
        assert [side.number for side in numbered] == list(range(1, len(split(text)) + 1))
        assert "".join("".join(words for words, _ in side.parts) + "\n" for side in numbered) == text


def test_words_within_a_line_are_marked_and_chinese_ones_by_character() -> None:
    (row,) = diff.rows("the card is full\n", "the card was full\n")
    assert [words for words, marked in row.new.parts if marked] == ["was"]
    (row,) = diff.rows("这张卡的显存不足\n", "这张卡的内存不足\n")
    assert [words for words, marked in row.old.parts if marked] == ["显"]


def test_lines_that_share_hardly_a_word_are_not_marked_in_pieces() -> None:
    (row,) = diff.rows("alpha beta gamma\n", "one two three four\n")
    assert not any(marked for _, marked in row.old.parts)


def test_a_claim_put_in_at_the_top_is_one_change_of_fields() -> None:
    claim = '[[claim]]\ntext = "{}"\n'
    old = "+++\n" + claim.format("a") + claim.format("b") + "+++\n"
    new = "+++\n" + claim.format("new") + claim.format("a") + claim.format("b") + "+++\n"
    assert diff.fields(old, new) == [diff.FieldChange("claim[1]", None, "text: new")]


def test_fields_that_came_went_and_changed_are_told_with_both_values() -> None:
    changes = diff.fields("+++\na = 1\nb = true\n+++\n", "+++\na = 1.0\nc = [1, 2]\n+++\n")
    assert changes == [
        diff.FieldChange("a", "1", "1.0"),
        diff.FieldChange("c", None, "1\n2"),
        diff.FieldChange("b", "true", None),
    ]


@pytest.mark.parametrize("lines", [["x\n"], ["a\n", "b\n"], [f"{n}\n" for n in range(60)]])
def test_texts_without_landmarks_still_give_both_texts_back(lines: list[str]) -> None:
    """Far beyond the budget of comparisons: the lines are told as replaced, none is lost."""
    dice = random.Random(7)
    old, new = ("".join(dice.choice(lines) for _ in range(3_000)) for _ in range(2))
    assert merge(old, new, old).text() == new
    assert "".join(split(old)) == old
