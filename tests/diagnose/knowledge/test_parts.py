"""A framework in several files: what is refused, in which file, and that it means what it would mean in one."""

import pytest

from diagnose.knowledge import load, read_content
from diagnose.knowledge.check import main

HEAD = 'title = "{title}"\nreviewed = 2026-11-20\nsources = ["https://example.org/{title}"]\n'
WHOLE = """phases = ["load", "actor_update"]
[releases]
"1.0" = 2026-01-01
[detect]
commands = ["quill.train"]
"""
KEY = '[[key]]\nkey = "rows"\nfact = "micro_batch"\n'


def default(number, then=""):
    return f"[[default]]\nfacts = {{ micro_batch = {number} }}\n{then}"


@pytest.fixture
def write(tmp_path):
    """Writes files below ``frameworks/`` by their names and gives the folder."""

    def files(body="Told in a sentence.", **fronts):
        for name, front in fronts.items():
            path = tmp_path / "frameworks" / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            title = name.split("__")[-1].capitalize()
            path.write_text(f"+++\n{HEAD.format(title=title)}{front}+++\n{body}\n", encoding="utf-8")
        return tmp_path

    return files


@pytest.fixture
def problems(write, capsys):
    """What the command says of the files."""

    def said(**files):
        assert main(write(**files)) == 1
        return capsys.readouterr().out.splitlines()[:-1]

    return said


def test_a_part_without_its_framework_is_refused_with_the_nearest(problems):
    (said,) = problems(quill=WHOLE, quil__rows=KEY)
    assert said == (
        "frameworks/quil/rows.md: there is no framework “quil”, did you mean “quill”?: "
        "write frameworks/quil.md, or move the file into the folder of its framework"
    )


@pytest.mark.parametrize(
    ("name", "front"),
    [("package", 'package = "quill"\n'), ("detect", "[detect]\n"), ("releases", '[releases]\n"1.1" = 2026-02-01\n')],
)
def test_what_is_told_once_is_refused_in_a_part(problems, name, front):
    (said,) = problems(quill=WHOLE, quill__rows=front)
    whole = "is told once for the whole framework: write it in frameworks/quill.md"
    assert said == f"frameworks/quill/rows.md: {name}: {whole}"


def test_the_parts_are_no_field(problems):
    assert problems(quill="parts = []\n" + WHOLE) == ["frameworks/quill.md: parts: unknown field “parts”"]


def test_a_misfit_stands_in_the_file_that_has_it_and_is_counted_there(problems):
    more = KEY + '[[key]]\nkey = "steps"\nfact = "micro_bach"\n'
    (said,) = problems(quill=WHOLE + KEY.replace("rows", "row"), quill__rows=more)
    assert said.startswith("frameworks/quill/rows.md: key[1].fact: unknown word “micro_bach”")


def test_a_part_is_read_although_its_framework_does_not_fit(problems):
    said = problems(quill=WHOLE + "fallbak = true\n", quill__rows=KEY + "unti = 1\n")
    assert [line.split(":")[0] for line in said] == ["frameworks/quill.md", "frameworks/quill/rows.md"]


def test_a_version_in_a_part_is_one_of_the_framework(problems):
    code = '[[code]]\npath = "a.py"\nfunction = "f"\nat = { "2.0" = [1, 2] }\n'
    (said,) = problems(quill=WHOLE, quill__lines=code)
    assert said == "frameworks/quill/lines.md: code[0].at: unknown release “2.0”, did you mean “1.0”?"


@pytest.mark.parametrize("unit", ["", 'unit = "global_sequences"\n'])
def test_a_key_that_tells_the_same_fact_stands_once(problems, unit):
    (said,) = problems(quill=WHOLE + KEY, quill__rows=KEY + unit)
    assert said == "frameworks/quill/rows.md: key[0]: is told by frameworks/quill.md: key[0] already: keep one"
    (said,) = problems(quill=WHOLE + KEY + KEY + unit, quill__rows="")
    assert said == "frameworks/quill.md: key[1]: is told by frameworks/quill.md: key[0] already: keep one"


def test_a_fork_in_two_parts_is_told_with_both(problems):
    fork = '[[fork]]\nid = "pen"\ntitle = "Pen"\nsource = "https://example.org"\ndetect.rank = 3\nsays = "A pen."\n'
    (said,) = problems(quill=WHOLE, quill__a=fork, quill__b=fork.replace("A pen", "Another"))
    assert said == "frameworks/quill/b.md: fork: “pen” stands in frameworks/quill/a.md too: keep it in one"


def test_a_part_has_a_title_of_its_own_and_says_what_it_is_about(problems):
    said = problems(quill=WHOLE, quill__quill=KEY, body="")
    assert said == [
        "frameworks/quill/quill.md: title: “Quill” is that of frameworks/quill.md too: give another",
        "frameworks/quill/quill.md: body: is empty: say below the front matter what its rows are about",
    ]


def test_rows_of_the_framework_come_first_and_then_those_of_its_parts_by_name(write):
    folder = write(quill=WHOLE + default(1), quill__b=default(3), quill__a=default(2, KEY))
    quill = load(folder).frameworks["quill"]
    assert [row.facts["micro_batch"] for row in quill.defaults] == [1, 2, 3]
    assert [part.slug for part in quill.parts] == ["quill", "quill/a", "quill/b"]


def test_text_and_sources_of_a_part_join_those_of_the_framework(write):
    quill = load(write(quill=WHOLE, quill__rows=KEY)).frameworks["quill"]
    assert quill.body == "Told in a sentence.\n\n## Rows\n\nTold in a sentence.\n"
    assert quill.sources == ("https://example.org/Quill", "https://example.org/Rows")
    assert quill.title == "Quill"


def test_a_framework_in_one_file_is_as_it_stands(write):
    quill = load(write(quill=WHOLE + KEY)).frameworks["quill"]
    assert quill.parts == ()
    assert quill.body == "Told in a sentence.\n"


def test_a_part_that_changes_or_moves_changes_the_digest(write):
    folder = write(quill=WHOLE, quill__a=default(1))
    digests = [read_content(folder)[2]]
    write(quill__a=default(2))
    digests.append(read_content(folder)[2])
    (folder / "frameworks/quill/a.md").rename(folder / "frameworks/quill/b.md")
    digests.append(read_content(folder)[2])
    assert len(set(digests)) == 3


def test_a_part_holds_for_the_frameworks_that_it_names_too(write):
    told = 'also = ["stylus"]\n' + KEY
    records, problems, _ = read_content(write(quill=WHOLE, stylus=WHOLE.replace("quill", "stylus"), quill__rows=told))
    assert not problems
    assert [[key.key for key in records["frameworks"][name].keys] for name in ("quill", "stylus")] == [
        ["rows"],
        ["rows"],
    ]


def test_a_part_names_no_framework_that_is_not_there(problems):
    (said,) = problems(quill=WHOLE, quill__rows='also = ["quil"]\n' + KEY)
    assert said == "frameworks/quill/rows.md: also: there is no framework “quil”, did you mean “quill”?"
