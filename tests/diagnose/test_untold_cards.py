"""Cards that are named without their number: what is computed all the same, how it is told, and that it settles nothing."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose, facts_of
from diagnose.report.text import to_text
from diagnose.words import lead

TRL = "GRPO of Qwen2.5-7B with TRL on A100 80GB: CUDA out of memory"
ZERO = (
    "LLaMA-Factory, deepspeed zero3, full fine-tuning of Qwen2.5-14B on A100 80GB, cutoff_len 4096. CUDA out of memory."
)


@pytest.fixture(scope="module")
def ask():
    knowledge = current()
    return lambda text, answers=None: diagnose(text, answers or {}, knowledge, ())


def test_a_number_that_is_told_is_no_assumption(ask):
    one = ask(TRL.replace("A100", "one A100"))
    assert one.estimate.gpu.otherwise is None
    assert one.estimate.gpu.verdict() == "out"


def test_no_number_is_taken_where_no_card_is_named(ask):
    assert "n_gpus" not in ask(TRL.replace(" on A100 80GB", "")).facts.values


def test_no_number_is_taken_where_somebody_asks_for_it(ask):
    asked = ask("How many A100 80GB do I need for GRPO of Qwen2.5-32B with verl?")
    assert "n_gpus" not in asked.facts.values
    assert asked.estimate.gpu is None


def test_no_number_is_taken_for_answers_that_leave_it_out():
    answers = {"framework": "trl", "model": "Qwen2.5-7B", "gpu_model": "A100", "algo": "grpo"}
    assert "n_gpus" not in facts_of(answers, current()).values


def test_one_card_is_taken_where_nothing_is_sharded(ask):
    told, one = ask(TRL), ask(TRL.replace("A100", "one A100"))
    assert told.facts.stated["n_gpus"].origin == "assumed"
    assert told.estimate.gpu.worst.bytes == one.estimate.gpu.worst.bytes
    assert "n_gpus" in told.estimate.missing


def test_a_card_that_is_not_the_first_is_not_alone(ask):
    told = ask(f"{TRL}. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.00 GiB is free.")
    assert told.facts.values["n_gpus"] == 8
    assert "the figure is for 8 cards that shard nothing; on 8 cards that shard everything" in lead(told)


@pytest.mark.parametrize(("text", "cards"), [(TRL, 16), (ZERO, 16)])
def test_every_node_is_a_usual_machine(ask, text, cards):
    assert ask(f"two nodes. {text}").facts.values["n_gpus"] == cards


def test_a_machine_is_taken_where_weights_are_shared_out(ask):
    told, eight, alone = ask(ZERO), ask(ZERO, {"n_gpus": 8}), ask(ZERO, {"n_gpus": 1})
    assert told.facts.values["n_gpus"] == 8
    assert told.estimate.gpu.worst.bytes == eight.estimate.gpu.worst.bytes
    assert told.estimate.gpu.worst.high == alone.estimate.gpu.worst.high


def test_one_copy_of_a_split_model_is_the_least(ask):
    split = ask("ms-swift megatron sft, Qwen3-30B-A3B on H20, tensor_model_parallel_size 4, pp 4, OOM")
    assert split.facts.values["n_gpus"] == 16


def test_it_never_runs_out_surely(ask):
    told = ask(TRL)
    assert told.estimate.gpu.worst.need > told.estimate.gpu.limit
    assert told.estimate.gpu.verdict() == "close"
    assert {one.after_verdict for one in told.prescriptions} <= {"close", "fits", "unknown"}


def test_its_band_reaches_from_sharded_cards_to_whole_copies(ask):
    told, copies = ask(TRL).estimate.gpu, ask(TRL, {"n_gpus": 8}).estimate.gpu
    sharded = ask(TRL, {"n_gpus": 8, "zero_stage": 3, "strategy": "deepspeed"}).estimate.gpu
    update = told.phase("actor_update")
    assert update.low == sharded.phase("actor_update").low
    assert update.high == copies.phase("actor_update").high


def test_cards_that_are_said_to_shard_nothing_are_not_computed_as_sharded(ask):
    told = ask(TRL, {"zero_stage": 0})
    assert told.estimate.gpu.otherwise.sharded is False
    assert "of 8 cards each would need" in lead(told)


def test_it_says_for_how_many_the_figure_is(ask):
    said = lead(ask(TRL))
    assert "Nothing says how many cards there are: the figure is for one" in said
    assert "on 8 cards that shard everything it would be" in said
    assert "the figure is for 8 cards" in lead(ask(ZERO))


def test_it_says_so_in_chinese(ask):
    text = to_text(ask("A100 80G 上用 TRL 做 Qwen2.5-7B 的 GRPO，显存溢出"))
    assert "没有给出卡数：数字按 1 张卡算" in text
    assert "最该回答的问题：一共用几张卡？" in text


def test_it_asks_for_the_number_first_with_what_each_comes_to(ask):
    first = ask(ZERO).questions[0]
    assert first.question.fact == "n_gpus"
    assert [value for value, _, says in first.options if says] == ["1", "2", "4"]


def test_the_text_shows_the_assumption_and_what_other_numbers_come_to(ask):
    text = to_text(ask(ZERO))
    assert "GPUs of the whole run: 8 (assumed)" in text
    assert "8 × A100" not in text
    assert "1: " in text.rpartition("How many GPUs does the whole run use?")[2]


def test_it_does_not_advise_more_cards_than_nobody_counted(ask):
    levers = [one.lever.slug for one in ask(ZERO).prescriptions]
    assert "hardware.more_gpus" not in levers


def test_it_says_nothing_of_the_host_of_so_many_cards(ask):
    assert ask(TRL).estimate.host is None


@pytest.mark.parametrize(("card", "cards"), [("GB200", 16), ("H100", 32)])
def test_nodes_of_a_card_that_is_known_in_machines_of_one_size_alone_hold_as_many(card: str, cards: int) -> None:
    text = f"NeMo-RL GRPO of Qwen3-32B on 4 {card} nodes: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    found = diagnose(text, {}, current(), ()).facts
    assert (found.values["n_gpus"], found.stated["n_gpus"].origin) == (cards, "assumed")
