"""Which version: named, frozen by a fork, or bounded by keys, literals, line numbers and days."""

import pytest

from diagnose.facts import read_facts
from diagnose.facts.settings.defaults import at_version
from diagnose.facts.trainer.versions import turns
from diagnose.ingest import read
from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import parse

QUILL = """+++
title = "Quill"
reviewed = 2026-11-20
sources = ["https://example.org/quill"]
phases = ["rollout", "actor_update"]
package = "quill"
mark = [
  { literal = "NibWorker", until = "2.0" },
  { literal = "InkServer", since = "2.0" },
  { literal = "--feather", until = "1.2", likely = true },
  { literal = "nib.width", since = "1.1", until = "1.2" },
]

[releases]
"1.0" = 2024-01-10
"1.1" = 2024-03-10
"1.2" = 2024-06-10
"2.0" = 2025-01-10
"2.1" = 2025-05-10

[detect]
commands = ["quill.train"]
names = ["Quill"]

[[key]]
key = "batch.rows"
fact = "micro_batch"
since = "1.1"

[[key]]
key = "batch.sheets"
fact = "micro_batch"
until = "1.2"

[[key]]
key = "engine.nap"
until = "2.0"
[key.values]
true = { sleep_level = 1 }

[[key]]
key = "engine.nap"
since = "2.0"
[key.values]
true = { sleep_level = 2 }

[[key]]
key = "judge.batch.rows"
note = "rows of the judge"

[[default]]
facts = { rollout_n = 8 }

[[default]]
until = "2.0"
facts = { rollout_n = 4 }

[[code]]
path = "quill/train.py"
function = "learn"
at = { "1.0" = [10, 40], "1.1" = [12, 44], "2.0" = [80, 120] }

[[fork]]
id = "plume"
title = "Plume"
source = "https://example.org/plume"
detect = { paths = ["plume/"], rank = 2 }
says = "A quill of its own."
version = "1.1"
+++
"""


@pytest.fixture(scope="module")
def quill():
    record, problems = parse("frameworks", "quill", QUILL)
    assert problems == []
    return Knowledge(frameworks={"quill": record})


@pytest.fixture
def version(quill):
    """The version's fact for a run of the framework with these words behind its command."""

    def run(words, **answers):
        text = f"python -m quill.train {words}"
        return read_facts(read(text), answers, quill).stated.get("framework_version")

    return run


def frame(line):
    return f'\nTraceback (most recent call last):\n  File "/srv/quill/train.py", line {line}, in learn\n    step()\n'


def test_nothing_is_said_where_nothing_tells(version):
    assert version("") is None


def test_a_lower_bound_alone_tells_nothing(version):
    assert version("engine.nap=true\nInkServer is up") is None


def test_lines_of_an_edited_code_do_not_undo_what_its_keys_say(knowledge):
    text = (
        "python3 -m openrlhf.cli.train_ppo_ray --prompt_max_len 1024 --generate_max_len 1024 --ring_attn_size 8\n"
        '  File "/openrlhf/openrlhf/trainer/ray/ppo_actor.py", line {}, in training_step\n    x()\n'
    )
    edited = read_facts(read(text.format(301)), {}, knowledge).values["framework_version"]
    assert edited.startswith(("0.6", "0.7", "0.8", "0.9"))


def test_bounds_that_contradict_each_other_tell_nothing(version):
    assert version("\nInkServer is up\nNibWorker is up") is None


def test_a_key_with_a_sense_in_every_version_tells_nothing(version):
    assert version("engine.nap=true") is None


def test_a_line_outside_every_release_tells_nothing(version):
    assert version(frame(300)) is None


def test_a_day_that_no_calendar_has_is_passed_over(version):
    assert version("\n2024-13-45 10:00:00 start") is None


def test_an_answer_outranks_the_text(version):
    fact = version("\nquill==1.0", framework_version="2.1")
    assert (fact.value, fact.origin) == ("2.1", "answered")


@pytest.mark.parametrize("words", ["\nquill==1.1", "\nwith Quill v1.1 here", "\nQuill version: 1.1"])
def test_a_named_version_is_read(version, words):
    fact = version(words)
    assert (fact.value, fact.origin) == ("1.1", "read")


def test_an_old_key_bounds_it_by_the_newest_release_before_its_end(version):
    fact = version("batch.sheets=4")
    assert (fact.value, fact.origin, fact.why) == ("1.1", "derived", "before 1.2, by batch.sheets")


def test_words_of_a_log_bound_it(version):
    assert version("\nNibWorker is up").value == "1.2"


def test_bounded_on_both_sides_it_is_the_release_in_the_middle(version):
    fact = version("quill.train batch.rows=2\nNibWorker pid=1")
    assert fact.value == "1.2"
    assert "since 1.1" in fact.why
    assert "before 2.0" in fact.why


def test_a_key_bounds_it_where_a_printed_configuration_nests_its_parts(version):
    fact = version("\n{'pen': {'nib': {'width': 2}},\n 'batch': {'rows': 4}}")
    assert (fact.value, fact.why) == ("1.1", "since 1.1, by batch.rows, and before 1.2, by “nib.width”")


def test_the_line_of_a_function_bounds_it_on_both_sides(version):
    assert version(frame(11)).value == "1.0"
    assert version(frame(42)).value == "1.1"


def test_several_bounds_hold_together(version):
    assert version("batch.rows=4 batch.sheets=2").value == "1.1"


def test_a_day_of_the_log_is_an_assumption(version):
    fact = version("\n2024-04-02 10:00:00 start\n2024-07-01 11:00:00 step 9")
    assert (fact.value, fact.origin) == ("1.2", "assumed")


def test_a_day_narrows_what_words_leave_open(version):
    fact = version("\n2024-04-02 10:00:00 NibWorker is up")
    assert (fact.value, fact.origin) == ("1.1", "assumed")


def test_what_others_write_as_well_is_an_assumption(version):
    fact = version("--feather 2")
    assert (fact.value, fact.origin) == ("1.1", "assumed")


def test_a_fork_brings_the_version_that_it_froze(version):
    fact = version('\n  File "/srv/plume/main.py", line 3, in main')
    assert (fact.value, fact.origin) == ("1.1", "derived")


def test_a_bound_chooses_the_sense_of_a_key_and_the_default(quill):
    old = read_facts(read("python -m quill.train engine.nap=true\nNibWorker is up"), {}, quill).values
    new = read_facts(read("python -m quill.train engine.nap=true"), {}, quill).values
    assert (old["sleep_level"], old["rollout_n"]) == (1, 4)
    assert (new["sleep_level"], new["rollout_n"]) == (2, 8)


def test_a_bound_rules_out_no_key_that_somebody_wrote(quill):
    text = "python -m quill.train batch.rows=4\n2024-01-20 10:00:00 start"
    assert read_facts(read(text), {}, quill).values["micro_batch"] == 4


def test_a_key_with_a_note_leaves_the_meaning_of_another_alone(quill):
    found = read_facts(read("python -m quill.train judge.batch.rows=9\nrows: 4"), {}, quill)
    assert found.values["micro_batch"] == 4
    assert found.config["judge.batch.rows"] == "9"


def test_another_version_reads_keys_and_defaults_again_and_keeps_the_rest(quill):
    paste = read("python -m quill.train engine.nap=true")
    now = read_facts(paste, {"micro_batch": 6}, quill)
    then = at_version(now, "1.0", paste).values
    assert (then["sleep_level"], then["rollout_n"], then["micro_batch"]) == (1, 4, 6)


def test_the_turns_are_the_last_releases_before_the_plan_changed(quill):
    assert turns(quill.frameworks["quill"]) == ("1.2", "1.1")
    assert turns(quill.frameworks["quill"], until="1.2") == ("1.1", "1.0")
    assert turns(None) == ()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "Image: modelscope/modelscope:ubuntu22.04-torch2.8.0-vllm0.11.0-swift3.9.1\nmegatron rlhf --rlhf_type grpo",
            "3.9.1",
        ),
        (
            "modelscope/modelscope:torch2.8.0-swift3.9.1, but pip says ms-swift==3.10.1\nswift rlhf --rlhf_type grpo",
            "3.10.1",
        ),
        ("Image: modelscope/modelscope:ubuntu22.04-torch2.8.0-vllm0.11.0\nswift rlhf --rlhf_type grpo", None),
    ],
)
def test_an_image_calls_the_trainer_by_its_short_name(text, version, knowledge):
    told = read_facts(read(text), {}, knowledge).stated.get("framework_version")
    assert (told.value if told and told.origin == "read" else None) == version
