"""What word processors, web pages and input methods do to letters, marks and blanks."""

from __future__ import annotations

import re
from functools import partial

from benchmarks.damage.shapes import Damage, each_line, replaced, substituted

_FLAG = re.compile(r"(?<![\w-])--(?=[A-Za-z])")


def curly(text: str) -> str:
    """Straight quotes as a word processor or an input method writes them."""
    text = re.sub(r'(^|[\s(=\[{,:])"', r"\1“", text).replace('"', "”")
    return re.sub(r"(^|[\s(=\[{,:])'", r"\1‘", text).replace("'", "’")


def full_width_marks(line: str) -> str:
    """Marks of a sentence as an input method writes them; a line of code or of a file is not typed by hand."""
    if re.search(r"[=/\\{}\"]|^\s|^[\w.-]+: \S+$|^[\w.-]+:$", line):
        return line
    return re.sub(r":(?=\s)", "：", line).replace(", ", "，").replace("(", "（").replace(")", "）")


def full_width_letters(text: str) -> str:
    """Cards and their number as an input method writes them in full width."""
    cards = re.compile(r"(?<![\w./=-])\d+ ?(?:[xX*×] ?)?[AHVL]\d{2,3}\b")
    return cards.sub(lambda found: found[0].translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)}), text)


LETTERS: dict[str, Damage] = {
    "CR LF": replaced(("\n", "\r\n")),
    "blanks at the ends": replaced(("\n", "  \n")),
    "double spaced": replaced(("\n", "\n\n")),
    "tabs for indents": substituted(r"(?m)^(?:    )+", "\t"),
    "no-break blanks": replaced((" ", "\u00a0")),
    "no-break indents": substituted(r"(?m)(?<=^ ) | (?= )", "\u00a0"),
    "narrow no-break blanks": replaced((" ", "\u202f")),
    "ideographic blanks": replaced((" ", "\u3000")),
    "zero-width marks": substituted(r"(?<=[./_=])(?=\w)", "\u200b"),
    "soft hyphens": substituted(r"(?<=[./_])(?=\w)", "\u00ad"),
    "zero-width joiners, direction": lambda text: "\ufeff\u200e" + text.replace("_", "_\u200d"),
    "line separators": replaced(("\n", "\u2028")),
    "full-width marks": partial(each_line, change=full_width_marks),
    "full-width equals": substituted(r"(?<=\w)=(?=\w)", "＝"),
    "full-width letters": full_width_letters,
    "curly quotes": curly,
    "em dashes": substituted(_FLAG, "—"),
    "en dashes": substituted(_FLAG, "–"),
    "en dash, hyphen": substituted(_FLAG, "–-"),
    "two en dashes": substituted(_FLAG, "––"),
    "minus signs": substituted(_FLAG, "−−"),
    "no-break hyphens": substituted(r"(?<=\w)-(?=\w)", "\u2011"),
    "figure dashes": substituted(_FLAG, "‒‒"),
    "horizontal bar": substituted(_FLAG, "―"),
    "lines drawn for dashes": substituted(_FLAG, "──"),
    "long vowels for dashes": substituted(_FLAG, "ーー"),
    "small hyphens": substituted(_FLAG, "﹣﹣"),
    "ligatures": replaced(("ffi", "ﬃ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ")),
    "styles of emoji": substituted(r"(?<=\d)(?= )", "\ufe0f"),
    "fillers": substituted(r"(?<==)(?=\w)", "\u3164"),
    "grapheme joiners": substituted(r"(?<=[a-z])(?=_)", "\u034f"),
}
