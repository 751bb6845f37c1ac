"""Which lines count as speech, and where words stand: what a program prints step after step is heard once."""

import pytest

from diagnose.facts.sentences.lowered import lower
from diagnose.facts.sentences.prose import fresh, spoken
from diagnose.ingest import read
from diagnose.pipeline import diagnose


def heard(text: str) -> list[str]:
    paste = read(text)
    return [line.words for line in spoken(paste, fresh(paste.lines)) if line.words]


def test_what_is_printed_step_after_step_is_heard_once():
    log = "\n".join(f"rollout {step} done with batch size per device 4 after {step * 7} s" for step in range(40))
    assert heard(f"{log}\nthen it died") == ["rollout 0 done with batch size per device 4 after 0 s", "then it died"]


def test_a_configuration_dump_and_a_command_are_not_heard():
    assert heard("python train.py --lr 1e-6\nlearning_rate ........ 1e-06\nwhy?") == ["why?"]


def test_a_printed_dictionary_is_heard_only_where_it_holds_words():
    lines = (
        "{'actor': {'clip_ratio': 0.2,",
        "           'optim': {'lr': 1e-06, 'warmup_steps': None},",
        "           'strategy': 'fsdp',",
        "           'note': 'with 8 cards it ran'},",
        " 'trainer': {'logger': ['console', 'wandb'], 'save_freq': -1}}",
    )
    told = heard("\n".join(lines))
    assert [words.strip() for words in told] == [
        "'note': 'with 8 cards it ran'},",
        ": {        : ['console', 'wandb'], 'save_freq': -1}}",
    ]


def test_what_nccl_tells_of_its_start_is_not_heard():
    told = "node-0:4418:5318 [7] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 3 'mlx5_3'\nit died after that"
    assert heard(told) == ["it died after that"]


def test_every_row_of_a_table_of_sixteen_cards_is_heard():
    assert len(heard("\n".join(f"GPU {i} Type : H100 at {i * 3} W" for i in range(16)))) == 16


def test_lines_that_differ_in_a_word_are_all_heard():
    words = [f"worker {chr(97 + i)}{chr(97 + j)} is idle" for i in range(5) for j in range(5)]
    assert heard("\n".join(words)) == words


def test_literals_of_two_lines_are_together_on_none():
    text = lower(read("peak memory is high\nallocated by the engine"))
    assert text.holding_all((("peak", "engine"),)) == []


def test_the_lines_that_hold_any_of_the_literals_come_in_the_order_of_the_text():
    text = lower(read("Step 3\nnothing\nITERATION 4"))
    assert text.holding(("iter", "step")) == [0, 2]


def test_a_word_that_a_console_broke_stands_in_the_whole_though_in_no_line():
    text = lower(read("x" * 60 + " out of mem\nory while it ran"))
    assert "memory" in text.whole
    assert text.holding(("memory",)) == []


def test_words_behind_a_command_on_its_line_are_heard_from_their_comma_or_bracket_on():
    assert heard("swift sft --model a/b --max_length 4096, 8 x A100 40G") == [", 8 x A100 40G"]
    assert heard("torchrun train.py --lr 1  (Qwen2.5-7B, batch_size=8, zero3)") == [
        " (Qwen2.5-7B, batch_size=8, zero3)"
    ]
    assert heard("python -m a.b c.d=[a, b] e.f='x, y' g.h=1") == []


def test_words_that_announce_a_command_are_heard():
    assert heard(
        "Will this fit 4 x A100: NPROC_PER_NODE=4 swift sft --model a/b --max_length 4096 ; cards are A100"
    ) == [
        "Will this fit 4 x A100:",
        "; cards are A100",
    ]
    assert heard("torchrun a.py --n 1 ; torchrun b.py --n 2") == []


def test_a_script_that_a_sentence_runs_takes_none_of_its_words(knowledge):
    text = "Search-R1: bash train_grpo.sh on 8*A100 40G with Llama-3.2-3B; CUDA OOM in the rollout; gpu_memory_utilization=0.6"
    values = diagnose(text, {}, knowledge, ()).facts.values
    assert (values["n_gpus"], values["gpu_mem_gib"], values["model"], values["phase"]) == (
        8,
        40,
        "Llama-3.2-3B",
        "rollout",
    )


def test_cards_of_a_size_that_others_have_too_are_counted(knowledge):
    values = diagnose("NPU OOM in GRPO, NPUs 8x64G, Ascend 910B", {}, knowledge, ()).facts.values
    assert (values["n_gpus"], values["gpu_mem_gib"]) == (8, 64)
    assert "n_gpus" not in diagnose("CUDA OOM in GRPO, server with 8x64G DDR5", {}, knowledge, ()).facts.values


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("response 6k。step 2 挂，step 1 完全正常，为什么？CUDA OOM", 2),
        ("启动时（还没进第一步）进程被 kill", None),
        ("It is killed before the first step.", None),
        ("It is killed before the first step finishes.", 1),
        ("第一步就 CUDA OOM", 1),
    ],
)
def test_a_step_that_went_well_or_never_came_is_none_at_which_it_failed(values, text, step):
    assert values(text).get("step") == step
