"""Text at the door: hostile and slow shapes are refused or cleaned."""

from __future__ import annotations

import re

import pytest

from kb import markdown


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\n" + "[" * 21, "Line 2 has 21 brackets or backticks in a row, at most 20"),
        ("> " * 21 + "deep", "Line 1 is nested deeper than 20"),
        ("    " * 21 + "deep", "Line 1 is nested deeper than 20"),
        ("\n" * 3001, "3001 lines, at most 3000"),
        ("> - " * 11 + "deep", "Line 1 is nested deeper than 20"),
        ("1. " * 21 + "deep", "Line 1 is nested deeper than 20"),
        ("> - > - > - a\n\n" * 1001, "6006 levels in all, at most 6000"),
        ("x" * (64 * 1024 + 1), "at most 65536 are taken"),
        ("[ " * 201, "The paragraph at line 1 has more than 200"),
    ],
)
def test_it_refuses_what_the_parser_is_slow_on(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="Line|paragraph|bytes|levels|lines") as refusal:
        markdown.render(text)
    assert says in str(refusal.value)


def test_it_tells_every_refusal_at_once() -> None:
    assert len(markdown.refusals("[" * 21 + "\n" + "> " * 21)) == 2


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
        '<img src=x onerror="alert(1)">',
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<svg><script>alert(1)</script></svg>",
        "<math><mtext><script>alert(1)</script></mtext></math>",
        "<iframe src='//evil.example'></iframe>",
        "<style>* { display: none }</style>",
        "<p style='position:fixed' onclick=alert(1)>x</p>",
        "<form action='//evil.example'><button formaction='javascript:alert(1)'>x</button></form>",
        "<div hx-get='/admin/' hx-trigger='load' data-x='1' id='main' class='top'>x</div>",
        "<base href='//evil.example/'><meta http-equiv=refresh content=0>",
        "```<script>\nalert(1)\n```",
    ],
)
def test_hostile_markdown_renders_nothing_that_acts(hostile: str) -> None:
    html = markdown.render(hostile).lower()
    for word in (
        "<script",
        "<style",
        "<iframe",
        "<form",
        "<svg",
        "<base",
        "<meta",
        "<div",
        " on",
        "style=",
        "hx-",
        'href="java',
        'href="data',
        "id=",
        "class=",
    ):
        assert word not in html.replace("&lt;", "")


@pytest.mark.parametrize(
    "address", ["//evil.example/x.png", "https://evil.example/x.png", "\\\\evil.example", "data:image/png;base64,x"]
)
def test_images_come_from_the_site_alone(address: str) -> None:
    assert "src=" not in markdown.render(f"![x]({address})")


def test_an_image_of_another_site_becomes_a_link_to_it() -> None:
    html = markdown.render(
        "![the chart](https://a.example/x.png) ![](//a.example/y.png)\n\n[![mark](https://a.example/z.png)](https://a.example/)"
    )
    assert "<img" not in html
    assert re.search(r'<a href="https://a.example/x.png"[^>]*>the chart</a>', html)
    assert re.search(r'<a href="//a.example/y.png"[^>]*>//a.example/y.png</a>', html)
    assert re.search(r'<a href="https://a.example/"[^>]*>mark</a>', html)


def test_a_column_stands_where_its_marks_put_it_without_a_style() -> None:
    html = markdown.render("| a | b |\n| --- | ---: |\n| x | 1.5 |\n")
    assert '<td align="right">1.5</td>' in html
    assert '<th align="right">b</th>' in html
    assert "style" not in html


def test_an_image_of_the_site_stays() -> None:
    assert 'src="/static/img/x.png"' in markdown.render("![x](/static/img/x.png)")


def test_it_renders_tables_and_code() -> None:
    html = markdown.render("| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nx = 1\n```")
    assert "<td>1</td>" in html
    assert "<pre><code>x = 1" in html


def test_a_table_stands_in_a_frame_that_scrolls_and_its_keys_break() -> None:
    html = markdown.render("| key `a.b` |\n| --- |\n| `actor.micro_batch/x` and a.b |\n\n`left.alone`\n")
    assert html.count('<div class="scroll" tabindex="0"') == html.count("</table></div>") == 1
    assert "<code>actor.<wbr>micro_<wbr>batch/<wbr>x</code> and a.b" in html
    assert "<code>left.alone</code>" in html


@pytest.mark.parametrize("title", ["<table>", "</table>", "<table><img src=x onerror=alert(1)>", "<code>a.b</code>"])
def test_a_table_in_an_attribute_is_none(title: str) -> None:
    html = markdown.render(f"[x](https://a.example '{title}')\n\n| a |\n| --- |\n| <b title='{title}'>1</b> |\n")
    assert html.count("<div") == html.count("</div>") == 1
    assert html.count('"') % 2 == 0
    assert not re.search(r"<img[^>]* onerror", re.sub(r'"[^"]*"', "", html))


@pytest.mark.parametrize(("sign", "most"), markdown.MAX_SIGNS.items())
def test_signs_that_begin_something_are_counted(sign: str, most: int) -> None:
    """Twenty thousand “[” in a row took a minute; spread over paragraphs they still took seconds."""
    line = f"{sign}a " * 100 + "\n\n"
    assert markdown.refusals(line * (most // 100)) == []
    assert f"“{sign}”, at most {most}" in markdown.refusals(line * (most // 100 + 1))[0]


def test_a_paragraph_has_an_end() -> None:
    assert "A paragraph has 1000 lines" in markdown.refusals("a\n" * 1_000 + "a")[0]


@pytest.mark.parametrize("given", ["\ufeffa\r\nb\rc\0\n\n\n", b"\xef\xbb\xbfa\nb\nc"])
def test_it_normalises_at_the_door(given: str | bytes) -> None:
    assert markdown.normalise(given) == "a\nb\nc\n"
    assert markdown.normalise(markdown.normalise(given)) == "a\nb\nc\n"
