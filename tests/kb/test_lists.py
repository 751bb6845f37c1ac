"""Lists and conditions as people read them, on the content that ships."""

from __future__ import annotations

import pytest
from django.test import Client

from diagnose.conditions import Conditions
from diagnose.knowledge import Knowledge
from kb.catalogue import lever_keys
from kb.rules_in_words import conditions, ranges
from kb.tags import case_tags

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]


def test_the_list_of_cards_tells_what_the_driver_prints(client: Client) -> None:
    sizes = "40_GB:_39.39_GiB, 80_GB:_79.25_GiB".replace("_", "\u00a0")  # a size keeps to its line
    assert sizes in client.get("/gpus/").content.decode()


def test_a_fork_is_narrowed_to_by_its_title(client: Client) -> None:
    page = client.get("/cases/").content.decode()
    assert "<span>Unsloth</span>" in page
    assert "<span>unsloth</span>" not in page


def test_trainers_that_nobody_knows_come_last(knowledge: Knowledge) -> None:
    rows = lever_keys(knowledge.levers["batch.train.down"], knowledge)
    assert [row.framework.fallback for row in rows] == [False] * (len(rows) - 1) + [True]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"gradient_checkpointing": {"not": True}}, "Activation checkpointing: off"),
        ({"algo": {"not": ["sft", "dpo", "rm"]}}, "Algorithm: none of SFT, DPO or RM"),
        (
            {"oom_kind": ["gpu_oom", "gpu_oom_raw", "host_ram"]},
            "Kind: GPU memory; GPU memory, refused by the driver or a library; or host RAM",
        ),
        ({"phase": ["rollout", "load"]}, "Phase: rollout or load"),
    ],
)
def test_a_condition_reads_as_people_say_it(rules: Conditions, words: str) -> None:
    assert conditions(rules) == (words,)


def test_machines_of_unknown_cards_are_counted_in_words() -> None:
    assert "8\u00a0GPUs" in case_tags("verl", {"n_gpus": 8}, None)
    assert "8\u00a0×\u00a0A100 80GB" in case_tags("verl", {"n_gpus": 8, "gpu_model": "A100", "gpu_mem_gib": 80}, None)


def test_titles_begin_with_a_capital_unless_with_a_name(knowledge: Knowledge) -> None:
    small = ("a ", "an ", "the ", "two ", "too ")
    assert [record.slug for record in knowledge.signatures.values() if record.title.startswith(small)] == []


@pytest.mark.parametrize(
    ("query", "said"), [("zzqxj", "No page has this word."), ("zzqxj qqvvw", "No page has all of")]
)
def test_a_search_that_finds_nothing_says_so_of_one_word_or_of_all(client: Client, query: str, said: str) -> None:
    assert said in client.get("/search/", {"q": query}).content.decode()


def test_ranges_of_versions_that_touch_are_told_as_one() -> None:
    assert ranges([("3.0.3", ""), ("", "3.0.3")]) == ""
    assert ranges([("0.10", ""), ("", "0.9"), ("0.9", "0.9.2")]) == "before 0.9.2; from 0.10"
    assert ranges([("0.18", ""), ("0.24", ""), ("1.6", "")]) == "from 0.18"


def test_a_size_of_which_no_print_was_at_hand_has_no_figure_of_the_driver(client: Client) -> None:
    printed, sold = (client.get(f"/gpus/{slug}/").content.decode() for slug in ("h100", "rtx-4070"))
    assert "no print at hand" not in printed
    assert '<th scope="row">12</th><td class="r">no print at hand</td>' in sold
    assert "counts as 0.985 of what it is sold as" in sold
    listed = client.get("/gpus/").content.decode()
    assert "12.00\u00a0GiB" not in listed
    assert "39.39\u00a0GiB" in listed
