"""Values in Python source: lists over several lines, names that stand above, arithmetic; in whole and in broken pastes."""

from __future__ import annotations

import pytest

from diagnose.ingest import read


def values(text: str) -> dict[str, str]:
    return {setting.key: setting.value for setting in read(text).settings}


@pytest.mark.parametrize(
    ("above", "written"),
    [
        ("", "64 // (BATCH * WORLD)"),  # names that nothing sets
        ("BATCH = int(os.environ['B'])", "8 * BATCH"),
        ("if small:\n    BATCH = 2\nelse:\n    BATCH = 4", "BATCH * 2"),  # one of two
        ("BATCH = 2\nif small:\n    BATCH = 4", "BATCH * 2"),
        ("BATCH = 2\nfor BATCH in (2, 4):\n    pass", "BATCH * 2"),
        ("BATCH = 2\nBATCH *= 2", "BATCH * 2"),
        ("BATCH = 2\ndef train(BATCH, n=1):\n    pass", "BATCH * 2"),
        ("BATCH = 2\nsmall = check()", "8 if small else 16"),
        ("", "2 ** 999999"),
    ],
)
def test_what_is_not_certain_is_no_value(above: str, written: str) -> None:
    found = values(f"{above}\nargs = Config(\n    first=1,\n    steps={written},\n    last=2,\n)")
    assert "steps" not in found
    assert (found["first"], found["last"]) == ("1", "2")


@pytest.mark.parametrize(
    ("above", "written", "value"),
    [
        ("BATCH = 4", "64 // (BATCH * 8)", "2"),
        ("long = 1024 # more is better\nprompt = 256", "long - prompt", "768"),
        ("long: int = 1024\nhalf = long // 2", "half", "512"),
        ('size = "7B"', 'f"Qwen/Qwen2.5-{size}-Instruct"', "Qwen/Qwen2.5-7B-Instruct"),
        ('cfg = {"len": 2048, "on": True}', 'cfg["len"]', "2048"),
        ("cfg = dict(\n    len=2048,\n)", 'cfg["len"]', "2048"),
        ("cards = 8", "0.3 if cards > 4 else 0.5", "0.3"),
        ("n = 2\nn = 6", "n", "6"),
        ("if small:\n    n = 4\nelse:\n    n = 4", "n", "4"),
        ("", "(1024 * 4)", "4096"),
        ("x = 4", "min(x, 2)", "2"),
    ],
)
@pytest.mark.parametrize(
    "form", ["args = Config(\n    steps = {},\n)", "args = Config(first=1, steps={}, last=2)", "steps = {}"]
)
def test_it_works_out_what_the_text_makes_certain(above: str, written: str, value: str, form: str) -> None:
    assert values(f"{above}\n{form.format(written)}")["steps"] == value


def test_a_text_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    text = "rank = 32\nargs = Config(\n    r = rank,\n    steps = rank * 2,\n    names = [\n        'a',\n        'b',"
    assert values(text) == {"rank": "32", "r": "32", "steps": "64", "names": "["}


def test_a_list_over_several_lines_is_one_value() -> None:
    text = "peft = Config(\n    names = [\n        'q_proj', 'k_proj', # both\n        'v_proj',\n    ],\n    r = 8,\n)"
    found = values(text)
    assert found["r"] == "8"
    assert all(name in found["names"] for name in ("q_proj", "k_proj", "v_proj"))
    assert "both" not in found["names"]


def test_a_list_whose_items_are_calls_is_not_taken_from_them() -> None:
    assert values("callbacks = [\n    Stop(patience=3),\n]\n")["patience"] == "3"


def test_names_are_put_into_dictionaries_too() -> None:
    found = values(
        'rank = 16\nargs = {\n    "r": rank,\n    "steps": 64 // rank,\n    "open": 64 // other,\n    "name": "rank",\n}'
    )
    assert (found["r"], found["steps"], found["name"]) == ("16", "4", "rank")
    assert "open" not in found


def test_the_place_of_a_value_is_its_whole_expression() -> None:
    paste = read("long = 1024\nargs = Config(steps=long - 256, last=1)")
    (setting,) = [setting for setting in paste.settings if setting.key == "steps"]
    text = paste.lines[1].text
    assert text[setting.span.start : setting.span.end] == "long - 256"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("with num_generations = 8 and more it dies", "8"),
        ("n = 3\nlr = 1e-6 num_generations = 8", "8"),
        ("n = 3\nnum_generations=n/a", "n/a"),
        ("model = 2\npython t.py --num_generations model", "model"),
    ],
)
def test_words_of_a_sentence_or_a_shell_are_no_arithmetic(text: str, value: str) -> None:
    assert values(text)["num_generations"] == value


def test_deep_nesting_and_endless_names_come_to_an_end() -> None:
    text = (
        "a = 9\n"
        + "\n".join(f"a = [a, a, '{'x' * 40}']" for _ in range(60))
        + "\nb = Config(n="
        + "(" * 900
        + "1"
        + ")" * 900
        + ")"
    )
    assert values(text)["a"]


@pytest.mark.parametrize(
    ("first", "next_one"), [('a0 = "xxxxxxxxxxxxxxxx"', "a{n} = a{o} + a{o}"), ("a0 = [1, 2]", "a{n} = [a{o}, a{o}]")]
)
def test_a_name_that_doubles_with_each_line_is_no_value_and_takes_no_time(first, next_one):
    """At sixty lines there would be 2 ** 60 of them."""
    lines = [
        first,
        *(next_one.format(n=i + 1, o=i) for i in range(60)),
        "args = GRPOConfig(model_name = a60, num_generations = len(a3))",
    ]
    settings = {setting.key: setting.value for setting in read("\n".join(lines)).settings}
    assert settings["model_name"] == "a60"
    assert int(settings["num_generations"]) < 200


@pytest.mark.parametrize(
    "text", ["-" * 1900 + "1", "(" * 900 + "1" + ")" * 900, "[" * 900 + "]" * 900, "9" * 1900, "1e999 - 1e999"]
)
def test_an_expression_that_is_made_to_hurt_gives_no_value(text):
    settings = {
        setting.key: setting.value
        for setting in read(f"args = GRPOConfig(\n    num_generations = 0 + {text},\n    beta = 0.5,\n)").settings
    }
    assert settings["beta"] == "0.5"
    assert len(settings.get("num_generations", "")) < 20


@pytest.mark.parametrize(
    ("text", "value"),
    [("n=8 (default), m=2", "8"), ("eager=True [default], m=2", "True"), ("n=0.6 (tried), m=2", "0.6")],
)
def test_a_remark_in_brackets_behind_a_number_calls_nothing(text, value):
    settings = {setting.key: setting.value for setting in read(text).settings}
    assert next(iter(settings.values())) == value


SCRIPT = """
parser = argparse.ArgumentParser()
parser.add_argument("--seq-len", type=int, default=8000)
parser.add_argument(
    "--stage", type=int,
    default=1,
)
parser.add_argument("--ckpt", action="store_true")
parser.add_argument("--untold", type=int)
args = parser.parse_args()

@dataclass
class ScriptArguments:
    rows: Optional[int] = field(default=3, metadata={"help": "of a card"})
    steps: int = 4

config = {"zero_optimization": {"stage": args.stage}}
TrainingArguments(
    max_length=args.seq_len,
    gradient_checkpointing=args.ckpt,
    per_device_train_batch_size=script_args.rows,
    gradient_accumulation_steps=2 * script_args.steps,
    learning_rate=args.untold,
)
"""


def test_a_script_has_its_arguments_from_what_it_declares() -> None:
    found = values(SCRIPT)
    assert (found["zero_optimization.stage"], found["max_length"], found["gradient_checkpointing"]) == (
        "1",
        "8000",
        "False",
    )
    assert (found["per_device_train_batch_size"], found["gradient_accumulation_steps"]) == ("3", "8")
    assert found["learning_rate"] == "args.untold"


def test_the_command_beside_a_script_outranks_what_it_declares() -> None:
    found = values("python train.py --seq-len 512 --stage=3 --ckpt --rows 1\n" + SCRIPT)
    assert (found["zero_optimization.stage"], found["max_length"], found["gradient_checkpointing"]) == (
        "3",
        "512",
        "True",
    )
    assert found["per_device_train_batch_size"] == "1"


def test_two_commands_that_disagree_tell_no_argument() -> None:
    found = values("python train.py --seq-len 512\n\npython train.py --seq-len 1024\n" + SCRIPT)
    assert found["max_length"] == "args.seq_len"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model.gradient_checkpointing_enable()", "true"),
        ("model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': False})", "true"),
        ("self.model.gradient_checkpointing_disable()", "false"),
        ("if args.ckpt:\n    model.gradient_checkpointing_enable()", None),
        ("if args.ckpt:\n    print(1)\n    model.gradient_checkpointing_enable()\n", None),
        ("else: model.gradient_checkpointing_enable()", None),
        ("if x:\n    y = 1\ndef main():\n    model.train()\n    model.gradient_checkpointing_enable()", "true"),
        ("def gradient_checkpointing_enable(self):", None),
        ("# model.gradient_checkpointing_enable()", None),
    ],
)
def test_a_call_that_turns_checkpointing_on_is_a_setting(text: str, told: str | None) -> None:
    assert values(text).get("gradient_checkpointing") == told
