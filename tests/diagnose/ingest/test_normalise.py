"""One form of text, and lines that are counted over gaps."""

from __future__ import annotations

import pytest

from diagnose.ingest.normalise import count_lines, gap, gap_length, is_binary, normalise, numbered, with_gaps


@pytest.mark.parametrize("line", ["37 lines", "⋯ many lines ⋯", "⋯ 3 lines ⋯ and more", "... 3 lines ..."])
def test_it_takes_no_other_line_for_a_gap(line: str) -> None:
    assert gap_length(line) == 0


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a\r\nb\rc\n", "a\nb\nc"),
        ("\ufeffa\x00b\x07", "ab"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x", "red x"),
        ("\x1b\x1b[31m[31mx", "[31mx"),
        ("a\ud800b", "a\ufffdb"),
        ("\n\na\n\n", "\n\na"),
        ("a\tb", "a\tb"),
        ("2.50\u00a0GiB\u200b", "2.50 GiB"),
        ("a\u202fb\u3000c\u2028d\x0be", "a b c\nd\ne"),
        ("micro\u00ad_\u200dbatch\u200e", "micro_batch"),
        ("Qwen2.5\u20117B", "Qwen2.5-7B"),
        ("８ｘＡ１００ lr＝1", "8xA100 lr=1"),
        ("“a” and ‘b’", "\"a\" and 'b'"),
        ("python –m t.py —lr 1 –-bf16 ––tp 2 \u2212\u2212pp 4", "python -m t.py --lr 1 --bf16 --tp 2 --pp 4"),
    ],
)
def test_it_brings_a_text_into_one_form(written: str, text: str) -> None:
    assert normalise(written) == text
    assert normalise(text) == text


@pytest.mark.parametrize(
    "text", ["it dies — always", "8–16 GiB", "显存——A100 的", "（见下文），好：", "a—b", "<|User|> <answer>3</answer>"]
)
def test_it_leaves_the_marks_of_a_sentence(text: str) -> None:
    assert normalise(text) == text


@pytest.mark.parametrize(
    ("carried", "text"),
    [
        ("a<br>b<br/>\nc", "a\nb\nc"),
        ("<details>\n<summary>log</summary>\n\n<pre><code>  a\n  b</code></pre></details>", "\nlog\n\n  a\n  b"),
        ("--stop '</p>' --lr 1<br>x", "--stop '</p>' --lr 1\nx"),
        ('p: "in <b>bold</b>, it\'s <br>", <b>q</b>', 'p: "in <b>bold</b>, it\'s <br>", q'),
        ("<p class=\"a b\">it's <i>y</i>, isn't it</p>x", "it's y, isn't it\nx"),
        (r"micro\_batch\_size=8 \* \[2\]", "micro_batch_size=8 * [2]"),
        (r"8\*A100", "8*A100"),
        ('{"log":"a \\u001b[31mb\\u001b[0m\\n","stream":"stderr","time":"t"}\n{"log":"  c\\n","time":"t"}', "a b\n  c"),
        ('{"@timestamp":"t","message":"a","stream":"stderr"}\n{"line": "  b", "fields": {"pod": "x"}}', "a\n  b"),
        ('{"insertId":"1","textPayload":"a \\u001b[31mb\\u001b[0m"}', "a b"),
        (
            '{\n "events": [\n' + '  {\n   "timestamp": 1,\n   "message": "a",\n   "ingestionTime": 2\n  },\n' * 3,
            ' "events": [\na\na\na',
        ),
        (' "output_type": "stream",\n "text": [\n  "Map: 1\\n",\n  "  b=\\"c\\"\\n"\n ]\n', 'Map: 1\n  b="c"'),
        ('{"detail": "a\\n  b\\nc\\nd\\ne"}', 'a\n  b\nc\nd\ne"}'),
    ],
)
def test_it_takes_off_what_carried_the_text(carried: str, text: str) -> None:
    assert normalise(carried) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"loss": 0.5, "memory(GiB)": 70.1}',
        '{"messages": [{"role": "user", "content": "x"}]}',
        '  "target_modules": [\n    "q_proj",\n    "v_proj"\n  ]',
        '{\n  "message": "a",\n  "stage": 3\n}',
    ],
)
def test_other_json_stays(text: str) -> None:
    assert normalise(text) == text


@pytest.mark.parametrize("escape", [r"\u001b", "␛", "<0x1b>", "#033", "←", "ESC"])
def test_it_takes_out_colours_whose_escape_was_spelled_out(escape: str) -> None:
    assert normalise(f"{escape}[1;31ma{escape}[0m b") == "a b"


def test_it_reads_line_ends_that_were_written_out() -> None:
    assert normalise(r"a \"b\"\n  c\n\td\ne\nf") == 'a "b"\n  c\n\td\ne\nf'
    assert normalise(r"print('a\n')") == r"print('a\n')"


def test_it_takes_out_a_blank_line_behind_every_line_and_leaves_paragraphs() -> None:
    lines = [f"line {number}" for number in range(20)]
    assert normalise("\n\n".join(lines)) == "\n".join(lines)
    some = "\n\n".join(lines[:6])
    assert normalise(some) == some


def test_it_knows_a_binary_file_by_its_unprintables() -> None:
    assert is_binary(b"\x00\x01\x02PNG\x07" * 40)
    assert not is_binary("显存不足\r\n".encode() * 40)


def test_a_gap_counts_as_the_lines_that_it_stands_for() -> None:
    text = f"a\n{gap(37)}\nb\n{gap(1)}"
    assert list(numbered(text.split("\n"))) == [(1, "a"), (39, "b")]
    assert count_lines(text) == 40


def test_it_writes_gaps_where_numbers_jump() -> None:
    assert with_gaps([(2, b"b"), (3, b"c"), (5, b"e")], 9).decode() == "⋯ 1 line ⋯\nb\nc\n⋯ 1 line ⋯\ne\n⋯ 4 lines ⋯"


def test_a_run_of_backslashes_goes_at_once() -> None:
    """One by one each would cost a pass over the whole text."""
    assert normalise("\\" * 200_000 + "_key") == "_key"
