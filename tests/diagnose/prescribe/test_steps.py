from __future__ import annotations

import re
from dataclasses import replace

from diagnose.batch import resolve
from diagnose.prescribe.steps import at_bound, steps, without
from diagnose.types import LESS, Fact, Facts


def make_facts(**values):
    stated = {id: Fact(id, value, "read") for id, value in values.items()}
    return Facts(stated=stated, values=resolve(stated))


def test_a_lever_whose_fact_is_unknown_has_no_step(knowledge):
    assert steps(knowledge.levers["batch.micro.down"], make_facts(n_gpus=8)) == []


def test_a_size_at_its_bound_has_no_step(knowledge):
    assert steps(knowledge.levers["batch.micro.down"], make_facts(micro_batch=1)) == []


def test_a_size_is_halved_again_and_again_to_its_bound(knowledge):
    ladder = steps(knowledge.levers["batch.micro.down"], make_facts(micro_batch=8))
    assert [step["micro_batch"] for step in ladder] == [4, 2, 1]


def test_an_odd_size_is_rounded_in_the_saving_direction(knowledge):
    assert steps(knowledge.levers["batch.micro.down"], make_facts(micro_batch=5))[0]["micro_batch"] == 2


def test_a_parallel_size_never_exceeds_or_misses_the_cards(knowledge):
    ladder = steps(knowledge.levers["rollout.tensor_parallel.up"], make_facts(rollout_tp=1, n_gpus=6))
    assert [step["rollout_tp"] for step in ladder] == [2]


def test_an_agent_keeps_a_quarter_of_its_turns(knowledge):
    ladder = steps(knowledge.levers["rollout.max_turns.down"], make_facts(max_turns=30))
    assert [step["max_turns"] for step in ladder] == [15, 7]


def test_a_share_falls_by_a_tenth_each_time(knowledge):
    ladder = steps(knowledge.levers["rollout.gpu_memory_utilization.down"], make_facts(gpu_memory_utilization=0.4))
    assert [step["gpu_memory_utilization"] for step in ladder] == [0.3, 0.2, 0.1]


def test_a_mini_batch_follows_a_batch_that_falls_below_it(knowledge):
    facts = make_facts(train_batch_size=64, mini_batch_size=64, rollout_n=1, n_gpus=1)
    from dataclasses import replace

    facts = replace(facts, keys={"mini_batch_size": "mini", "train_batch_size": "batch"})
    assert steps(knowledge.levers["batch.train.down"], facts)[0] == {"train_batch_size": 32, "mini_batch_size": 32}


def test_an_engine_is_never_put_on_fewer_cards_than_hold_its_weights(knowledge):
    down, large = knowledge.levers["rollout.tensor_parallel.down"], knowledge.models["qwen2.5-72b"]
    on_two = replace(make_facts(rollout_tp=2, n_gpus=8), model=large)
    assert steps(down, on_two) == []
    assert steps(down, replace(on_two, model=knowledge.models["qwen2.5-7b"])) == [{"rollout_tp": 1}]
    assert steps(down, replace(make_facts(rollout_tp=2, n_gpus=8, gpu_mem_gib=192), model=large)) == [{"rollout_tp": 1}]
    up = steps(knowledge.levers["rollout.tensor_parallel.up"], replace(make_facts(rollout_tp=1, n_gpus=8), model=large))
    assert [step["rollout_tp"] for step in up] == [2, 4, 8]


def test_a_token_budget_ends_at_the_longest_row(knowledge):
    rows = {"dynamic_batch": True, "prompt_length": 1024, "response_length": 4096}
    ladder = steps(knowledge.levers["batch.dynamic_tokens.down"], make_facts(micro_tokens=16384, **rows))
    assert [step["micro_tokens"] for step in ladder] == [8192, 5120]
    ladder = steps(knowledge.levers["batch.dynamic_tokens.down"], make_facts(micro_tokens=16384, sp=2, **rows))
    assert ladder[-1]["micro_tokens"] == 2560


def test_the_engines_length_limit_ends_at_prompt_and_response(knowledge):
    down = knowledge.levers["rollout.max_model_len.down"]
    known = make_facts(max_model_len=32768, prompt_length=1024, response_length=8192, sp=4)
    assert [step["max_model_len"] for step in steps(down, known)] == [16384, 9216]
    assert steps(down, make_facts(max_model_len=9216, prompt_length=1024, response_length=8192)) == []


def test_parallel_sizes_cut_the_cards_together(knowledge):
    up = knowledge.levers["shard.sequence_parallel.up"]
    assert [step["sp"] for step in steps(up, make_facts(sp=1, tp=2, pp=2, n_gpus=16))] == [2, 4]
    assert steps(up, make_facts(sp=1, tp=2, pp=4, n_gpus=8)) == []


def test_sizes_that_a_trainer_wants_equal_move_together(knowledge):
    keys = {"micro_batch": "policy.train_micro_batch_size", "logprob_micro_batch": "policy.logprob_batch_size"}
    nemo = replace(
        make_facts(micro_batch=4, logprob_micro_batch=4, tp=8), framework=knowledge.frameworks["nemo-rl"], keys=keys
    )
    update, logprob = knowledge.levers["batch.micro.down"], knowledge.levers["batch.logprob_micro.down"]
    assert steps(update, nemo)[0] == {"micro_batch": 2, "logprob_micro_batch": 2}
    assert steps(logprob, nemo)[0] == {"micro_batch": 2, "logprob_micro_batch": 2}
    assert without(nemo, steps(update, nemo)[0], "logprob_micro_batch") == steps(update, nemo)[0]
    for free in ({"tp": 2}, {"framework_version": "0.5.0"}, {"logprob_micro_batch": 8}):
        loose = replace(nemo, values=nemo.values | free)
        assert "logprob_micro_batch" not in steps(update, loose)[0]


def test_no_number_is_lowered_from_a_default_where_nobody_pasted_the_settings(advise):
    trace = "ray::WorkerDict.actor_rollout_ref_update_actor()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9 GiB"
    lever = advise(trace).advised("length.response.down")
    assert [(change.key, change.after) for change in lever.changes] == [("data.max_response_length", LESS)]
    assert not re.search(r"\d", lever.why)
    kept = advise(f"{trace}\ndata.max_response_length=2048").advised("length.response.down")
    assert kept.changes[0].after == "1024"


def test_a_bound_that_a_default_sets_is_said_to_be_one(advise, knowledge):
    facts = advise("ray::WorkerDict.actor_rollout_ref_update_actor()\nCUDA out of memory").facts
    said = {slug: at_bound(knowledge.levers[slug], facts) for slug in ("rollout.n.down", "shard.sequence_parallel.up")}
    assert said["rollout.n.down"].endswith("is 1 by default; there is no further step.")
    assert "number of cards" in said["shard.sequence_parallel.up"]


def test_a_row_that_is_split_takes_its_budget_of_tokens_along(knowledge):
    up = knowledge.levers["shard.sequence_parallel.up"]
    run = {"sp": 1, "n_gpus": 8, "prompt_length": 2048, "response_length": 20480, "dynamic_batch": True}
    for budget, taken in ((22528, [11264, 5632, 2816]), (45056, [22528, 11264, 5632])):
        written = replace(make_facts(**run, micro_tokens=budget), keys={"micro_tokens": "ppo_max_token_len_per_gpu"})
        assert [step.get("micro_tokens") for step in steps(up, written)] == taken
    assert [step.get("micro_tokens") for step in steps(up, make_facts(**run, micro_tokens=22528))] == [None, None, None]
    by_rows = replace(written, stated={**written.stated, "dynamic_batch": Fact("dynamic_batch", False, "read")})
    assert "micro_tokens" not in steps(up, replace(by_rows, values=resolve(by_rows.stated)))[0]
