"""What editors of Markdown, web pages, notebooks and issue forms put around a text."""

from __future__ import annotations

import html
import json

from benchmarks.damage.shapes import Damage, each_line, prefixed, replaced, substituted


def bulleted(text: str) -> str:
    """A point of a list before every line that stands by itself at the margin."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        before, after = lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
        alone = not before.endswith("\\") and not line.endswith(("\\", ":", "{", "(")) and after[:1] not in (" ", "\t")
        if alone and line[:1].strip() and line[0] not in "-*#`|>[{}":
            lines[at] = f"- {line}"
    return "\n".join(lines)


def fenced(text: str) -> str:
    return f"```bash\n{text}\n```"


def folded_away(text: str) -> str:
    return f"<details>\n<summary>Full output</summary>\n\n```shell\n{text}\n```\n\n</details>"


def numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.split("\n"), 1))


def notebook(text: str) -> str:
    """What a cell printed, as a notebook's file has it."""
    output = {"name": "stdout", "output_type": "stream", "text": [line + "\n" for line in text.split("\n")]}
    cell = {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [output], "source": []}
    return json.dumps(
        {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False
    )


PAGE: dict[str, Damage] = {
    "quoted": prefixed("> "),
    "quoted twice": prefixed("> > "),
    "quoted without blank": prefixed(">"),
    "fenced": fenced,
    "bulleted": bulleted,
    "indented": prefixed("    "),
    "escaped for Markdown": substituted(r"([_*])", r"\\\1"),
    "escaped for HTML": html.escape,
    "line ends as \\n": replaced(("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")),
    "<br>": replaced(("\n", "<br>\n")),
    "<br> alone": replaced(("\n", "<br/>")),
    "<p>": lambda text: each_line(text, lambda line: f"<p>{line}</p>" if line.strip() else line),
    "<pre><code>": lambda text: f"<pre><code>{html.escape(text, quote=False)}</code></pre>",
    "<details>": folded_away,
    "numbered": numbered,
    "numbered by grep": lambda text: "\n".join(f"{number}:{line}" for number, line in enumerate(text.split("\n"), 1)),
    "entities by number": lambda text: text.replace("<", "&#60;").replace(">", "&#62;").replace("'", "&#039;"),
    "notebook": notebook,
}
