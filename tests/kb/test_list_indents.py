"""Lists as people write them elsewhere come out as lists: what CommonMark makes of the same text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.list_indents import reindented
from kb.markdown import render

LINES = st.lists(
    st.builds(
        "{}{}{}".format,
        st.integers(0, 12).map(lambda n: " " * n),
        st.sampled_from(["", "- ", "* ", "1. ", "2) ", "-      ", "> ", "# ", "```", "~~~", "---", "\t"]),
        st.sampled_from(["", "word", "two words", "| a | b |", "1. x"]),
    ),
    max_size=14,
)


def _shape(html: str) -> str:
    """Tags of lists and of code, with the words in them."""
    return re.sub(r"\s+", " ", re.sub(r"</?p>", " ", html)).replace("> ", ">").replace(" <", "<").strip()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("Try:\n- a\n- b\n", "Try:<ul><li>a</li><li>b</li></ul>"),
        ("1. a\n   - b\n   - c\n2. d\n", "<ol><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol>"),
        ("- a\n  - b\n    - c\n- d\n", "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d</li></ul>"),
        (
            "1. a\n\n   ```bash\n   x <y\n\n     z\n   ```\n\n   b\n2. c\n",
            "<ol><li>a<pre><code>x &lt;y z</code></pre>b</li><li>c</li></ol>",
        ),
        ("- a\n  ```\n  x\n  ```\n- b\n", "<ul><li>a<pre><code>x</code></pre></li><li>b</li></ul>"),
        ("- a\n  goes on\nand on\n- b\n", "<ul><li>a goes on and on</li><li>b</li></ul>"),
        ("- a\n\n  b\n\nc\n", "<ul><li>a b</li></ul>c"),
        ("- a\n  ```\n  open\nb\n", "<ul><li>a<pre><code>open</code></pre></li></ul>b"),
        ("1) a\n2) b\n", "<ol><li>a</li><li>b</li></ol>"),
        ("It was in\n2024. It was late.\n", "It was in 2024. It was late."),
        # four spaces a level, as the parser itself wants them
        ("- a\n\n    b\n\n        x\n\n    - c\n", "<ul><li>a b<pre><code>x</code></pre><ul><li>c</li></ul></li></ul>"),
        ("a\n\n    x\n    - y\n", "a<pre><code>x - y</code></pre>"),
        ("```\n- x\n  - y\n```\n", "<pre><code>- x - y</code></pre>"),
    ],
)
def test_a_list_is_one(text: str, shape: str) -> None:
    assert _shape(render(text)) == shape


def test_code_in_an_item_is_as_it_was_written() -> None:
    assert "<pre><code>x &lt;y\n\n  z\n</code></pre>" in render("1. a\n\n   ```bash\n   x <y\n\n     z\n   ```\n")


@given(LINES)
def test_no_word_is_lost(lines: list[str]) -> None:
    kept: list[str] = []

    def keep(code: str) -> str:
        kept.append(code)
        return f"\0{len(kept) - 1}\0"

    text = "\n".join(reindented(lines, keep))
    for number, code in enumerate(kept):
        text = text.replace(f"\0{number}\0", code)
    fences = re.compile(r"^\s*(?:`{3,}|~{3,}).*$", re.M)
    plain = (re.sub(r"\d[.)]", "1.", fences.sub("", whole)).split() for whole in ("\n".join(lines), text))
    before, after = plain
    assert after == before
