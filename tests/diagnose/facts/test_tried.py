import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import parse

HEAD = '+++\ntitle = "T"\nreviewed = 2026-11-20\nsources = ["https://example.org"]\n'
LEVERS = {
    "batch.micro.down": 'pools = ["gpu"]\n[[change]]\nfact = "micro_batch"\nop = "scale"\nby = 0.5\n',
    "batch.micro.up": 'pools = ["gpu"]\n[[change]]\nfact = "micro_batch"\nop = "scale"\nby = 2.0\n',
    "load.elsewhere": 'pools = ["gpu"]\nkeyless = true\nwords = ["meta init", "元初始化"]\n',
}
QUILL = 'phases = ["rollout"]\n[detect]\ncommands = ["quill.train"]\n[[key]]\nkey = "batch.rows_on_card"\nfact = "micro_batch"\n'


@pytest.fixture(scope="module")
def knowledge():
    levers = {slug: parse("levers", slug, f"{HEAD}{text}+++\n")[0] for slug, text in LEVERS.items()}
    return Knowledge(levers=levers, frameworks={"quill": parse("frameworks", "quill", f"{HEAD}{QUILL}+++\n")[0]})


def tried(text, knowledge):
    found = read_facts(read(f"{text}\n\npython -m quill.train a=1"), {}, knowledge).tried
    return {one.lever: one.helped for one in found}


@pytest.mark.parametrize("text", ["Should I make rows_on_card smaller?", "We set rows_on_card to 4.", "没用 LoRA"])
def test_what_nobody_says_the_outcome_of_was_not_tried(text, knowledge):
    assert tried(text, knowledge) == {}


@pytest.mark.parametrize(
    "text", ["I lowered rows_on_card, no effect.", "把 batch.rows_on_card 往小改过，没效果，照样爆"]
)
def test_a_key_that_was_lowered_in_vain_is_the_lever_that_lowers_its_fact(text, knowledge):
    assert tried(text, knowledge) == {"batch.micro.down": False}


@pytest.mark.parametrize(
    "text",
    [
        "除了 meta init 都试过了，还是爆",
        "Tried everything except meta init, still OOM.",
        "除了元初始化，其他都试过了，没用",
    ],
)
def test_what_alone_was_left_out_was_not_tried(text, knowledge):
    assert tried(text, knowledge) == {}


def test_what_was_tried_besides_was_tried(knowledge):
    assert tried("除了元初始化以外还把 batch.rows_on_card 降到 1，都没用", knowledge)["batch.micro.down"] is False


def test_a_word_of_the_lever_is_enough(knowledge):
    assert tried("meta init made no difference", knowledge) == {"load.elsewhere": False}


def test_what_helped_is_kept_apart(knowledge):
    assert tried("reducing rows_on_card helped", knowledge) == {"batch.micro.down": True}


def test_what_a_program_says_is_not_what_a_person_tried(knowledge):
    assert tried("ValueError: No available memory for smaller rows_on_card blocks. Try meta init.", knowledge) == {}


def cured(text, knowledge):
    found = read_facts(read(f"{text}\n\npython -m quill.train a=1"), {}, knowledge).tried
    return {one.lever for one in found if one.cured}


@pytest.mark.parametrize(
    "text",
    [
        "reducing rows_on_card helped",
        "lowering rows_on_card helped, but it is not fixed",
        "Has anyone solved it by lowering rows_on_card?",
        "It would be fixed if rows_on_card was lowered",
        "把 rows_on_card 降到 2 就好了吗",
        "如果 rows_on_card 降到 2 就好了",
        "rows_on_card 降到 2 也没解决了",
        "before it was fine; lowered rows_on_card, still OOM",
        "Somebody in the chat said lowering rows_on_card fixed it for him",
        "@ada: this was fixed for me by lowering rows_on_card",
        "群里有人说 rows_on_card 降到 2 就好了",
    ],
)
def test_what_may_cure_has_not_cured(text, knowledge):
    assert cured(text, knowledge) == set()


@pytest.mark.parametrize(
    "text",
    [
        "rows_on_card 降到 2 之后好了",
        "把 rows_on_card 调小就不爆了",
        "After lowering rows_on_card to 2 it was fine.",
        "Solved by lowering rows_on_card to 2",
        "with rows_on_card lowered to 2 it no longer OOMs",
    ],
)
def test_what_the_text_says_has_cured_is_told_from_what_helped(text, knowledge):
    assert cured(text, knowledge) == {"batch.micro.down"}
