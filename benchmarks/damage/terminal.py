"""What a terminal does to a text: colours, lines broken at its edge, panes, bars drawn anew."""

from __future__ import annotations

import re

from benchmarks.damage.shapes import Damage, each_line, replaced

_ERROR = re.compile(r"(?m)^(?=Traceback \(most|[\w.]+(?:Error|Exception): )")
LOG = re.compile(
    r"(?m)^(?:Traceback \(most|  File \"|[\w.]+Error: |\(\w+ pid=|\[rank\d|INFO |WARNING |ERROR |\[20\d\d|20\d\d-).*$"
)
_BAR = "Map:  33%|███▎      | 1000/3000 [00:12<00:24, 83.1 examples/s]"


def wrapped(width: int) -> Damage:
    """Lines broken after so many columns, wherever that is, as a terminal's copy has them."""
    return lambda text: each_line(
        text, lambda line: "\n".join(line[at : at + width] for at in range(0, len(line), width)) or line
    )


def folded(width: int) -> Damage:
    """Lines broken at a blank before so many columns, as mail and editors do."""
    fold = re.compile(rf"(?=.{{{width + 1}}})(.{{20,{width}}}) (?=\S)")

    def line_folded(line: str) -> str:
        parts = []
        while (found := fold.match(line)) and found[1].strip():
            parts.append(found[1])
            line = line[found.end() :]
        return "\n".join([*parts, line])

    return lambda text: each_line(text, line_folded)


def coloured(start: str, end: str) -> Damage:
    """What a program prints in colour: prefix and words of every line."""

    def change(line: str) -> str:
        if not (blank := re.match(r"(\s*)(\S.*)$", line)):
            return line
        actor = re.match(r"(\([A-Za-z]\w* pid=[^)]*\))(.*)$", line)
        return f"{start}{actor[1]}{end}{actor[2]}" if actor else f"{blank[1]}{start}{blank[2]}{end}"

    return lambda text: each_line(text, change)


def bars(text: str) -> str:
    """A progress bar drawn anew in its place, between what a log prints."""
    return LOG.sub(lambda found: f"{_BAR}\r{_BAR}\n{found[0]}", text)


def bar_before_error(text: str) -> str:
    """An error printed in the line of a progress bar that had not ended it."""
    return _ERROR.sub(_BAR, text)


def panes(text: str) -> str:
    """Another pane stands left of this one and was copied with it."""
    beside = ("top - 09:00:01 up 12 days", "logs  run", "", "$")
    return "\n".join(f"{beside[at % 4]:40}│{line}" for at, line in enumerate(text.split("\n")))


def panel(text: str) -> str:
    """A panel as rich draws it."""
    lines = text.split("\n")
    width = max(map(len, lines))
    inner = "\n".join(f"│ {line:{width}} │" for line in lines)
    return f"╭{'─' * (width + 2)}╮\n{inner}\n╰{'─' * (width + 2)}╯"


TERMINAL: dict[str, Damage] = {
    "colour": coloured("\x1b[36m", "\x1b[0m"),
    "colour's rest": coloured("[36m", "[0m"),
    "colour's rest, ESC as text": coloured("^[[1;31m", "^[[0m"),
    "wrapped at 80": wrapped(80),
    "wrapped at 100": wrapped(100),
    "wrapped at 120": wrapped(120),
    "folded at 80": folded(80),
    "folded at 100": folded(100),
    "colour, ESC in JSON": coloured("\\u001b[36m", "\\u001b[0m"),
    "colour, ESC as a sign": coloured("␛[36m", "␛[0m"),
    "colour, ESC of rsyslog": coloured("#033[36m", "#033[0m"),
    "colour, ESC of an editor": coloured("<0x1b>[36m", "<0x1b>[0m"),
    "CR as ^M": replaced(("\n", "^M\n")),
    "panes": panes,
    "panel": panel,
    "bars": bars,
    "bar before error": bar_before_error,
}
