import subprocess
import sys
from datetime import date

import pytest

from diagnose.knowledge import current
from diagnose.knowledge.check import check_case, main
from diagnose.knowledge.check_words import word_misfits
from diagnose.knowledge.loader import Problem
from diagnose.knowledge.records import Case

HEAD = 'title = "T"\nreviewed = 2026-11-20\nsources = ["https://example.org"]\n'


@pytest.fixture
def problems(tmp_path, capsys):
    """Writes one record and returns what the command says of the folder."""

    def run(kind, front, body=""):
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / "x.md").write_text(f"+++\n{HEAD}{front}\n+++\n{body}", encoding="utf-8")
        status, said = main(tmp_path), capsys.readouterr().out
        assert status == (1 if "problem" in said else 0)
        return said

    return run


def test_a_fact_that_nobody_defines_comes_with_the_nearest(problems):
    said = problems("frameworks", 'phases=[]\n[detect]\n[[key]]\nkey="k"\nfact="gpu_mem_utilization"')
    assert (
        "frameworks/x.md: key[0].fact: unknown word “gpu_mem_utilization”, did you mean “gpu_memory_utilization”?"
        in said
    )


def test_a_word_that_is_near_to_none_of_a_few_comes_with_all_of_them():
    assert list(word_misfits("a.md", "fix[0].by", "lin", ("reporter", "maintainer"))) == [
        Problem("a.md: fix[0].by", "unknown word “lin”: write one of reporter, maintainer")
    ]


def test_a_default_is_of_a_fork_of_its_own_file(problems):
    said = problems("frameworks", 'phases=[]\n[detect]\n[[default]]\nfork="plum"\nfacts={ micro_batch = 1 }')
    assert "frameworks/x.md: default[0].fork: unknown word “plum”" in said


def test_a_key_needs_a_fact_or_values(problems):
    assert "must have either a fact or a table of values" in problems(
        "frameworks", 'phases=[]\n[detect]\n[[key]]\nkey="k"'
    )


def test_a_key_has_a_note_or_a_meaning_and_not_both(problems):
    key = 'phases=[]\n[detect]\n[[key]]\nkey="k"\nnote="more on the card"\n'
    assert "all fit" in problems("frameworks", key)
    assert "or a note" in problems("frameworks", key + 'fact="micro_batch"')


def test_what_tells_a_version_names_a_release(problems):
    said = problems(
        "frameworks",
        'phases=[]\nmark=[{literal="x"}]\n[releases]\n"1.1"=2024-02-01\n"1.0"=2024-01-01\n[detect]\n'
        '[[code]]\npath="a.py"\nfunction="f"\nat={"1.2"=[5, 3]}\n'
        '[[fork]]\nid="f"\ntitle="F"\nsource="https://example.org"\ndetect={}\nsays="s"\nversion="1.3"',
    )
    for word in (
        "write the oldest first",
        "“x” tells nothing",
        "unknown release “1.2”",
        "is [5, 3]",
        "no release of T “1.3”",
    ):
        assert word in said


def test_the_newest_version_is_the_last_release(problems):
    front = 'phases=[]\nnewest="1.0"\n[detect]\n[releases]\n"1.0" = 2026-01-01\n"1.1" = 2026-02-01'
    said = problems("frameworks", front)
    assert "frameworks/x.md: newest: is 1.0 while releases end with 1.1: read that one, too" in said


def test_a_resident_a_unit_and_a_behaviour_are_of_the_vocabulary(problems):
    said = problems(
        "frameworks",
        'phases=["rolout"]\n[detect]\n[[resident]]\nwhat="weights"\nphases=[]\n'
        '[[key]]\nkey="k"\nfact="micro_batch"\nunit="rows"\n[[behaviour]]\ndoes={kv_rule="all"}',
    )
    for word in ("“rolout”, did you mean “rollout”?", "“weights”", "“rows”", "“all”"):
        assert word in said


def test_an_operator_is_of_the_rule_language(problems):
    assert "at_leat" in problems("levers", 'pools=["gpu"]\nwhen={sp={at_leat=2}}')


def test_a_rank_names_facts_and_signs_alone(problems):
    said = problems("levers", 'pools=["gpu"]\n[[rank]]\nwhen={fragmentd=true}\norder=1')
    assert "“fragmentd”, did you mean “fragmented”?" in said


def test_a_sign_is_no_condition_of_a_lever(problems):
    assert "unknown word" in problems("levers", 'pools=["gpu"]\nwhen={fragmented=true}')


def test_a_lever_that_is_said_only_where_it_is_ranked_has_ranks(problems):
    assert "only_ranked" in problems("levers", 'pools=["gpu"]\nonly_ranked=true')


def test_a_lever_makes_room_for_another(problems):
    assert "makes_room_for: unknown lever" in problems("levers", 'pools=["gpu"]\nmakes_room_for="rollout.nope"')


def test_what_a_signature_gives_is_a_fact(problems):
    text = "kind='other'\nliterals=[['x']]\ngives={nope=true}\n[[example]]\nsays='x'\ntext='x'"
    assert "unknown fact" in problems("signatures", text)


def test_what_a_signature_leaves_open_are_values_of_a_fact(problems):
    text = "kind='other'\nliterals=[['x']]\nleaves={zero_stage=[2, 'one']}\n[[example]]\nsays='x'\ntext='x'"
    assert "leaves.zero_stage: is 'one', must be of type int" in problems("signatures", text)


def test_a_pattern_that_can_take_for_ever_is_refused(problems):
    said = problems(
        "signatures", "kind='other'\nliterals=[['x']]\npatterns=['(a+)+b']\n[[example]]\nsays='x'\ntext='x'"
    )
    assert "repeats a group that repeats" in said


def test_a_case_names_levers_that_exist_and_has_its_sections(problems):
    said = problems("cases", 'facts={}\n[[fix]]\nlever="nope"\ndetail="d"\nby="reporter"', "## Story\n")
    assert "unknown lever “nope”" in said
    assert "must be these in this order" in said


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("openrhlf", "unknown framework “openrhlf”, did you mean “openrlhf”?"),
        ("llama-factory", "unknown framework “llama-factory”, did you mean “llamafactory”?"),
        ("zzz", "unknown framework “zzz”: leave it out, or write “plain”"),
    ],
)
def test_a_case_names_a_framework_that_exists(told, says):
    about = {
        "slug": "new",
        "title": "New",
        "reviewed": date(2026, 11, 20),
        "sources": ("here",),
        "body": "## Symptom\n",
    }
    case = Case(**about, facts={"framework": told})
    assert [str(problem) for problem in check_case(case, current())] == [f"cases/new.md: facts.framework: {says}"]


def test_an_advisory_names_kinds_a_way_out_and_examples(problems):
    lists = 'signatures=["no-such"]\nfamilies=["qwen2.5-vll"]'
    said = problems("advisories", f'package="A_b"\nlever="nope"\n{lists}\nwhen={{}}\nmoves={{nope=1}}')
    for misfit in (
        "package: “A_b”", "lever: unknown word “nope”", "“no-such”", "“qwen2.5-vll”", "moves", "when.oom_kind: is missing",
    ):  # fmt: skip
        assert misfit in said
    assert "give either fixed, or last_good" in said
    assert "one that gives “prescribed” and one that gives “nothing”" in said


@pytest.mark.parametrize(
    ("points", "misfit"),
    [
        ('fixed={version="1.0"}\nintroduced={version="1.2"}', "not behind introduced.version"),
        ('last_good={version="1.3"}\nintroduced={version="1.2"}', "not before introduced.version"),
        ('last_good={version="1.0"}', "introduced.version: is missing"),
        ('fixed={commit="abc"}', "a commit and its date"),
    ],
)
def test_the_range_of_an_advisory_is_possible(problems, points, misfit):
    assert misfit in problems("advisories", f'package="a"\nlever="l"\nwhen={{oom_kind=["gpu_oom"]}}\n{points}')


def test_a_fix_names_an_advisory_that_exists(problems):
    fix = '[[fix]]\nlever="l"\ndetail="d"\nby="reporter"\nadvisory="nope"'
    assert "“nope”" in problems("cases", f"facts={{}}\n{fix}", "## Symptom\n")


def test_the_shipped_content_fits():
    done = subprocess.run(
        [sys.executable, "-m", "diagnose.knowledge.check"], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout
    assert "all fit" in done.stdout


def test_a_data_set_without_a_length_is_refused(problems):
    assert "tells no length" in problems("datasets", 'tokenizer="T"')


def test_lengths_of_a_data_set_must_be_possible(problems):
    said = problems("datasets", 'tokenizer="T"\nrow_tokens={mean=90, sd=-1, max=50}\nprompt_tokens={mean=0}')
    for misfit in ("row_tokens.sd: is -1", "row_tokens.max: is 50", "prompt_tokens.mean: is 0"):
        assert misfit in said


def test_what_anybody_calls_a_file_names_no_data_set(problems):
    said = problems("datasets", 'tokenizer="T"\nrow_tokens={mean=9}\naliases=["train.jsonl"]\nfolders=["Data", "a/b"]')
    for misfit in ("aliases: “train.jsonl”", "folders: “Data”", "folders: “a/b” is a path"):
        assert misfit in said


@pytest.mark.parametrize(
    ("pattern", "misfit"),
    [
        ("d(", "must be a regular expression"),
        ("d", "has 0 groups"),
        ("(d)(1)", "has 2 groups"),
        (r"((?:d+)+)", "can hang"),
    ],
)
def test_the_pattern_of_a_product_is_compiled_and_has_one_group(problems, pattern, misfit):
    key = f'phases=["rollout"]\n[detect]\n[[key]]\nkey="k"\nfact="tp"\nproduct=\'{pattern}\'\n'
    assert misfit in problems("frameworks", key)


@pytest.mark.parametrize(
    ("lines", "misfit"),
    [("part='^x'", "a part is named"), ("product='(\\d)'\npart='(a+)+'", "has a part that repeats")],
)
def test_the_part_of_a_product_is_of_one_and_cannot_hang(problems, lines, misfit):
    key = f'phases=["rollout"]\n[detect]\n[[key]]\nkey="k"\nfact="tp"\n{lines}\n'
    assert misfit in problems("frameworks", key)


def test_one_message_of_a_kind_is_the_usual_one(problems, tmp_path):
    front = 'kind="host_ram"\nusual=true\nliterals=[["killed"]]\n[[example]]\nsays="it"\ntext="killed"'
    (tmp_path / "signatures").mkdir()
    (tmp_path / "signatures" / "a.md").write_text(f"+++\n{HEAD.replace('T', 'U')}{front}\n+++\n", encoding="utf-8")
    assert "signatures/x.md: usual: a is the usual one of this kind already: keep one" in problems("signatures", front)


def test_a_remedy_tells_its_cost_and_has_the_sections_of_its_page(problems):
    said = problems("levers", 'pools=["gpu"]\ncost="Slower."', "## What it does\n")
    assert "levers/x.md: verify: is missing" in said
    assert "levers/x.md: cost" not in said
    assert "levers/x.md: body: has the sections ['What it does'], must have ['What it does', 'When it helps'" in said


def test_a_word_in_other_capitals_comes_with_the_right_one(problems):
    measure = '[[measure]]\npattern=\'(?P<size>\\d+) g\'\ncounter="device"\nunit="GiB"'
    assert "unknown word “GiB”, did you mean “gib”?" in problems("logs", f'literals=[["used"]]\n{measure}')


def test_a_field_below_the_front_matter_is_no_text_of_the_page(problems):
    front = 'pools=["gpu"]\n[[change]]\nfact="micro_batch"\nop="set"\nto=1'
    said = problems("levers", front, 'Smaller rows.\ngpu_maker = { not = ["Google"] }\nworkers = 0 is a sentence.\n')
    assert "levers/x.md: gpu_maker: stands in the text: move it above the second +++" in said
    assert "workers" not in said
