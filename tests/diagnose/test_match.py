from __future__ import annotations

import datetime
import time

import pytest

from diagnose.knowledge.records import Case
from diagnose.match import match, model_name
from diagnose.types import Fact, Facts


def make_case(slug, facts, config=None, body="", title="", fixes=()):
    return Case(
        slug=slug,
        body=body,
        title=title or slug,
        reviewed=datetime.date(2026, 11, 1),
        sources=("https://example.org/" + slug,),
        facts=facts,
        config=config or {},
        fixes=fixes,
    )


def make_facts(config=None, **values):
    return Facts(
        stated={id: Fact(id, value, "read") for id, value in values.items()}, values=values, config=config or {}
    )


HOST = make_case(
    "host",
    {"oom_kind": "host_ram", "framework": "one", "model": "Qwen2.5-VL-7B", "n_gpus": 8, "gpu_mem_gib": 40},
)
GPU = make_case(
    "gpu",
    {"oom_kind": "gpu_oom", "phase": "actor_update", "framework": "two", "model": "Qwen2.5-7B", "n_gpus": 4},
)


def slugs(matches):
    return [near.case.slug for near in matches]


def test_no_case_is_near_a_paste_that_says_nothing():
    assert match(make_facts(), "", (HOST, GPU)) == ()


def test_it_calls_no_case_near_when_only_one_fact_is_shared():
    assert match(make_facts(n_gpus=8), "help", (HOST, GPU)) == ()


def test_no_cases_give_no_match():
    assert match(make_facts(oom_kind="gpu_oom"), "CUDA out of memory", ()) == ()


def test_another_kind_of_failure_counts_against_a_case():
    here = make_facts(oom_kind="host_ram", framework="two", model="Qwen2.5-7B", n_gpus=4, phase="actor_update")
    assert slugs(match(here, "", (HOST, GPU)))[:1] != ["gpu"]


def test_a_fact_that_is_unknown_counts_for_nothing():
    known = make_facts(oom_kind="gpu_oom", phase="actor_update", framework="two")
    (near,) = match(known, "", (GPU,))
    assert {id for id, _ in near.same} == {"oom_kind", "phase", "framework"}
    assert near.differs == ()


def test_it_tells_what_differs_here_and_there():
    here = make_facts(oom_kind="gpu_oom", phase="actor_update", framework="two", n_gpus=8)
    (near,) = match(here, "", (GPU,))
    assert near.differs == (("n_gpus", 8, 4),)


def test_an_algorithm_that_nobody_tells_is_held_against_no_case():
    case = make_case(
        "case", {"oom_kind": "gpu_oom", "framework": "two", "model": "Qwen2.5-7B", "n_gpus": 4, "algo": "ppo"}
    )
    values = {"oom_kind": "gpu_oom", "framework": "two", "model": "Qwen2.5-7B", "n_gpus": 4, "algo": "grpo"}
    told, untold = (
        Facts(stated={**make_facts(**values).stated, "algo": Fact("algo", "grpo", origin)}, values=values)
        for origin in ("read", "assumed")
    )
    assert [one.differs for one in match(told, "", (case,))] == [(("algo", "grpo", "ppo"),)]
    assert [one.differs for one in match(untold, "", (case,))] == [()]


def test_the_own_case_comes_first_for_its_own_paste():
    twins = [
        make_case(f"twin-{i}", {"oom_kind": "host_ram", "framework": "one", "n_gpus": 8, "gpu_mem_gib": 40 + i})
        for i in range(20)
    ]
    own = make_case(
        "own",
        {"oom_kind": "host_ram", "framework": "one", "n_gpus": 8, "gpu_mem_gib": 40, "node_used_gb": 711.5},
    )
    here = make_facts(oom_kind="host_ram", framework="one", n_gpus=8, gpu_mem_gib=40, node_used_gb=711.5)
    assert slugs(match(here, "", (*twins, own)))[0] == "own"


def test_an_equal_printed_figure_outweighs_an_equal_number_of_cards():
    printed = make_case("printed", {"oom_kind": "gpu_oom", "tried_alloc_gib": 7.31})
    cards = make_case("cards", {"oom_kind": "gpu_oom", "n_gpus": 4})
    here = make_facts(oom_kind="gpu_oom", tried_alloc_gib=7.31, n_gpus=4)
    assert slugs(match(here, "", (cards, printed)))[0] == "printed"


def test_printed_figures_that_differ_speak_against_no_case():
    one = make_case("one", {"oom_kind": "gpu_oom", "phase": "critic", "framework": "two", "tried_alloc_gib": 1.0})
    here = {"oom_kind": "gpu_oom", "phase": "critic", "framework": "two"}
    without = match(make_facts(**here), "", (one,))[0].score
    assert match(make_facts(**here, tried_alloc_gib=2.0), "", (one,))[0].score == without


def test_keys_with_the_same_value_bring_a_case_nearer():
    config = {"trainer.batch": "16", "engine.share": "0.60"}
    same = make_case("same", {"oom_kind": "gpu_oom", "framework": "two"}, config)
    other = make_case("other", {"oom_kind": "gpu_oom", "framework": "two"}, {"trainer.batch": "4"})
    here = make_facts({"--trainer.batch": "16", "engine.share": "0.6"}, oom_kind="gpu_oom", framework="two")
    assert slugs(match(here, "", (other, same)))[0] == "same"


def test_rare_words_decide_between_cases_with_the_same_facts():
    facts = {"oom_kind": "gpu_oom", "framework": "two"}
    common = [make_case(f"c{i}", facts, body="out of memory in training") for i in range(12)]
    rare = make_case("rare", facts, body="the faiss index of the retriever stands on the same card")
    here = make_facts(**facts)
    assert slugs(match(here, "our faiss retriever shares GPU 0", (*common, rare)))[0] == "rare"


def test_chinese_sentences_are_compared_by_pairs_of_characters():
    facts = {"oom_kind": "gpu_oom", "framework": "two"}
    common = [make_case(f"c{i}", facts, body="训练报错") for i in range(12)]
    rare = make_case("rare", facts, body="同步权重时显存溢出")
    assert slugs(match(make_facts(**facts), "在同步权重阶段报错", (*common, rare)))[0] == "rare"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.57b"),
        ("meta-llama/Llama-3.1-8B", "llama3.18b"),
        ("path/Qwen3-8B/", "qwen38b"),
    ],
)
def test_model_names_are_compared_without_owner_and_tuning(name, short):
    assert model_name(name) == short


def test_at_most_eight_cases_are_near_and_the_nearest_stands_first():
    facts = {"oom_kind": "gpu_oom", "phase": "actor_update", "framework": "two"}
    near = match(make_facts(**facts), "", tuple(make_case(f"c{i}", facts) for i in range(30)))
    assert len(near) == 8
    assert [m.score for m in near] == sorted((m.score for m in near), reverse=True)


def test_the_work_of_comparing_a_thousand_cases_stays_small():
    cases = tuple(
        make_case(
            f"c{i}",
            {"oom_kind": "gpu_oom", "n_gpus": i % 16, "framework": f"f{i % 9}", "phase": "actor_update"},
            {"trainer.batch": str(i % 7)},
            body=f"run {i} ended in word{i % 97} near thing{i % 331}",
        )
        for i in range(1000)
    )
    here = make_facts({"trainer.batch": "3"}, oom_kind="gpu_oom", n_gpus=8, framework="f3", phase="actor_update")
    text = "word31 thing200 " * 200
    match(here, text, cases)
    times = []
    for _ in range(5):
        begun = time.process_time()
        match(here, text, cases)
        times.append(time.process_time() - begun)
    assert min(times) < 0.1  # 6 ms alone; comparing every word with every case would take seconds
