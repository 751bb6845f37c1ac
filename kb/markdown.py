"""Text at the door, and Markdown into HTML that is safe to show."""

from __future__ import annotations

import re
from html import escape
from xml.etree.ElementTree import Element

import markdown
import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown.extensions import Extension
from markdown.extensions.tables import TableExtension
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor

from kb.list_indents import reindented

MAX_BYTES = 64 * 1024
MAX_LINES = 3_000
MAX_RUN = 20
MAX_NESTING = 20
MAX_NESTED = 6_000  # levels of all paragraphs together
MAX_OPEN = 200
MAX_BLOCK = 1_000  # lines without a blank one between
# How often a document may hold a sign that begins something: the parser takes 0.02 to 0.15 ms for each that leads nowhere.
MAX_SIGNS = {"[": 1_500, "<": 1_000, "&": 2_000, "\\": 4_000, "`": 4_000, "*": 6_000, "|": 6_000, "_": 12_000}
RENDERER = 4  # raise it when the HTML of an unchanged text changes: stored pages are then made anew

_RUN = re.compile(rf"[\[\](){{}}<>`]{{{MAX_RUN + 1},}}")
# A whole tag of clean HTML: in an attribute's quotes a “<” stands as it was written, between tags none does.
_TAG = re.compile(r'<(/?\w+)(?:[^<>"]|"[^"]*")*>')
_FRAME = '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
_BREAKS = re.compile(r"(?<=[._/])(?=\w)")
_LEAD = re.compile(r"(?:[ \t>]|[-*+] |\d{1,9}[.)] )*")
_TAGS = {
    "a", "abbr", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "h2", "h3", "h4", "hr", "img", "ins", "kbd", "li",
    "mark", "ol", "p", "pre", "q", "samp", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title", "hreflang"}, "img": {"src", "alt"}, "th": {"scope", "align"}, "td": {"align"}, "*": {"lang"},
}  # fmt: skip


def normalise(text: str | bytes) -> str:
    """UTF-8, LF, one final newline, no NUL and no byte order mark: what is stored and compared."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    text = text.encode("utf-8", errors="replace").decode()  # half of a surrogate pair, as a program may send it
    text = text.removeprefix("\ufeff").replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\n") + "\n"


def refusals(text: str, above: int = 0) -> list[str]:
    """Why this text is not taken, each with the cure; the parser is slow or recurses on such shapes.

    ``above`` is how many lines stand before it in its document, so that the lines named are the document's.
    """
    found = []
    size = len(text.encode())
    if size > MAX_BYTES:
        return [f"The text has {size} bytes, at most {MAX_BYTES} are taken: shorten it."]
    for sign, most in MAX_SIGNS.items():
        if (many := text.count(sign)) > most:
            found.append(f"The text has {many} “{sign}”, at most {most} are taken: shorten it.")
    for number, line in enumerate(text.split("\n"), above + 1):
        if run := _RUN.search(line):
            found.append(
                f"Line {number} has {len(run[0])} brackets or backticks in a row, at most {MAX_RUN}: break them up."
            )
        if _nesting(line) > MAX_NESTING:
            found.append(f"Line {number} is nested deeper than {MAX_NESTING}: take some of the “>” or the indent away.")
    return found + _refused_blocks(text, above)


def _refused_blocks(text: str, above: int) -> list[str]:
    """The same of its paragraphs."""
    found = []
    blocks = re.split(r"\n[ \t]*\n", text)
    if (levels := sum(_nesting(block) for block in blocks)) > MAX_NESTED:
        found.append(f"Lists and quotes have {levels} levels in all, at most {MAX_NESTED} are taken: flatten them.")
    for block in blocks:
        if block.count("[") > MAX_OPEN or block.count("<") > MAX_OPEN:
            start = text[: text.index(block)].count("\n") + above + 1
            found.append(f"The paragraph at line {start} has more than {MAX_OPEN} “[” or “<”: split it.")
        if (lines := block.count("\n")) >= MAX_BLOCK:
            found.append(f"A paragraph has {lines} lines, at most {MAX_BLOCK}: put blank lines between.")
    return found


class _ForeignImages(Treeprocessor):
    """An image of another site becomes a link to it: no page may show it, and what was written does not vanish."""

    def run(self, root: Element) -> None:
        for parent in root.iter():
            for child in parent:
                if child.tag == "img" and re.match(r"(?:https?:)?//", address := child.get("src", ""), re.I):
                    child.tag, child.text = "span" if parent.tag == "a" else "a", child.get("alt") or address
                    child.attrib = {"href": address}


class _Lists(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return reindented(lines, lambda code: self.md.htmlStash.store(f"<pre><code>{escape(code)}\n</code></pre>"))


class _ListIndents(Extension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        # behind what makes lines plain, before what takes fences out
        md.preprocessors.register(_Lists(md), "list-indents", 28)


class _Images(Extension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(_ForeignImages(md), "foreign-images", 15)  # behind what reads a line's own marks


def render(text: str) -> SafeString:
    """HTML of a body; raises ``ValueError`` with every refusal."""
    if (lines := text.count("\n")) > MAX_LINES:
        raise ValueError(f"The text has {lines} lines, at most {MAX_LINES} are taken: shorten it.")
    if found := refusals(text):
        raise ValueError(" ".join(found))
    tables = TableExtension(use_align_attribute=True)  # the policy of the pages allows no inline style
    extensions: list[str | Extension] = [tables, "fenced_code", "sane_lists", _ListIndents(), _Images()]
    dirty = markdown.markdown(text, extensions=extensions, output_format="html")
    clean = nh3.clean(
        dirty,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
        attribute_filter=_own_images_only,
    )
    return as_rendered(_framed(clean))


def _framed(clean: str) -> str:
    """Clean HTML with a frame around each table, in which it scrolls, and keys in its cells that break after ``.``, ``_`` and ``/``."""
    if "<table" not in clean:
        return clean
    parts: list[str] = []
    at, tables, in_code = 0, 0, False
    for tag in _TAG.finditer(clean):
        words, name = clean[at : tag.start()], tag[1]
        parts.append(_BREAKS.sub("<wbr>", words) if tables and in_code else words)
        if name == "table":
            parts.append(_FRAME)
        parts.append(tag[0])
        if name == "/table":
            parts.append("</div>")
        tables += (name == "table") - (name == "/table")
        in_code = name == "code" or (in_code and name != "/code")
        at = tag.end()
    return "".join([*parts, clean[at:]])


def as_rendered(html: str) -> SafeString:
    """HTML that ``render`` made earlier and that was stored since."""
    return mark_safe(html)


def _own_images_only(tag: str, name: str, value: str) -> str | None:
    if tag == "img" and name == "src" and not re.match(r"/(?!/)", value):
        return None
    return value


def _nesting(line: str) -> int:
    """How many lists, quotes and steps of indent the first words stand in."""
    marks = _LEAD.match(line)
    lead = re.sub(r"\d+[.)]", "-", marks[0]).expandtabs(4) if marks else ""
    signs = sum(lead.count(sign) for sign in ">-*+")
    return signs + (len(lead) - signs - sum(lead.count(f"{sign} ") for sign in ">-*+")) // 4
