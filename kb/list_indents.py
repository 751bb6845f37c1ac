"""Lists as most people write them, for a parser that wants four spaces a level.

On GitHub and in CommonMark (spec 0.31.2, 5.2 and 5.3) what stands below an item is indented as far as the item's own words, two spaces
behind a dash and three behind ``1.``; a list may follow a paragraph without a blank line, and a fenced block may stand in an item.
Python-Markdown knows none of the three: such lists run into a paragraph, and the fences are shown with what they hold in one line.
Here these lines are written as it wants them. Those that have been written with four spaces mean what they meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

_STEP = 4
_MARK = re.compile(r"(?:[-*+]|(?P<number>\d{1,9})[.)])(?P<gap> +)(?=\S)", re.A)
_RULE = re.compile(r"([-*_])(?: *\1){2,} *$", re.A)
_OWN = re.compile(rf"#{{1,6}} |>|{_RULE.pattern}", re.A)  # what never goes on with a paragraph
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}", re.A)


def reindented(lines: Sequence[str], kept: Callable[[str], str]) -> list[str]:
    """The same lines with four spaces for each list that they stand in; ``kept`` gives the line that stands for code in an item."""
    return list(_Lists(lines, kept).told())


class _Lists:
    """One pass over a text. ``open`` holds where the words of each open item begin, the outermost first; ``paragraph``: the line before
    is words that the next may go on with, ``head``: they are an item's first."""

    def __init__(self, lines: Sequence[str], kept: Callable[[str], str]) -> None:
        self.lines, self.kept = lines, kept
        self.open: list[int] = []
        self.paragraph = self.head = self.blank = False

    def told(self) -> Iterator[str]:
        at = 0
        while at < len(self.lines):
            line = self.lines[at].expandtabs(_STEP)
            words = line.lstrip(" ")
            indent = len(line) - len(words)
            at += 1
            if not words:
                self.paragraph, self.head, self.blank = False, False, bool(self.open)
                yield ""
            elif fence := self._opens(indent, words):
                at, told = self._fenced(at, indent, fence)
                yield from told
            else:
                yield from self._line(indent, words, self.lines[at - 1])

    def _line(self, indent: int, words: str, raw: str) -> Iterator[str]:
        mark = None if _RULE.match(words) else _MARK.match(words)
        if not mark and self.paragraph and not _OWN.match(words):  # it goes on with the words above, wherever it begins
            yield " " * _STEP * (len(self.open) - 1) + words if self.open else raw
            return
        deep = len(self.open)
        self._close(indent)
        depth = len(self.open)
        beyond = indent - self.open[-1] if self.open else indent
        # right below words that are no item's a numbered list begins with 1
        begins = deep or not self.paragraph or (mark and mark["number"] in (None, "1"))
        if mark and begins and beyond < _STEP:
            if self.paragraph and (not self.head or (self.blank and deep - depth > 1)):
                yield ""
            gap = len(mark["gap"])
            self.open.append(indent + len(mark[0]) - (gap - 1 if gap > _STEP else 0))
            sign = f"{mark['number']}." if mark["number"] else words[0]
            yield f"{' ' * _STEP * depth}{sign} {words[mark.end() :]}"
            self.paragraph = self.head = True
        elif depth:
            wide = indent - _STEP * depth  # a block of code by the parser's own rule, or by that of CommonMark
            code = wide if wide >= _STEP else beyond if beyond >= _STEP else 0
            yield " " * (_STEP * depth + code) + words
            self.paragraph, self.head = not code, False
        else:
            yield raw
            self.paragraph, self.head = indent < _STEP, False

    def _close(self, indent: int) -> None:
        """Leave the items whose words begin further to the right."""
        while self.open and indent < self.open[-1]:
            self.open.pop()

    def _opens(self, indent: int, words: str) -> str:
        """The fence of a block that begins here; "" where none does."""
        fence = _FENCE.match(words)
        if fence is None:
            return ""
        self._close(indent)
        beyond = indent - self.open[-1] if self.open else indent
        return fence[0] if beyond < _STEP or self.open else ""

    def _fenced(self, at: int, indent: int, fence: str) -> tuple[int, list[str]]:
        """Where the lines behind a fenced block begin, and what it is written as: itself outside of lists."""
        end, behind = self._end(at, re.compile(rf" *{re.escape(fence[0])}{{{len(fence)},}} *$", re.A))
        self.paragraph, self.head, self.blank = False, False, bool(self.open)
        if not self.open:
            return behind, list(self.lines[at - 1 : behind])
        body = [line[min(indent, _indent(line)) :] for line in self.lines[at:end]]
        return behind, ["", " " * _STEP * len(self.open) + self.kept("\n".join(body).rstrip()), ""]

    def _end(self, at: int, closes: re.Pattern[str]) -> tuple[int, int]:
        """Where a block ends and where the lines behind it begin; one that nothing closes ends with its item, or with the text."""
        inside = self.open[-1] if self.open else 0
        for number in range(at, len(self.lines)):
            line = self.lines[number]
            if closes.match(line):
                return number, number + 1
            if line.strip() and _indent(line) < inside:
                return number, number
        return len(self.lines), len(self.lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
