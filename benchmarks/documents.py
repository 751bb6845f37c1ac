"""What the slowest documents cost at the door: each is refused or rendered. ``python -m benchmarks.documents`` prints the worst first.

Processor time of the best of three runs, so that a busy machine tells the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import django

LIMIT = 0.2  # seconds
FULL = 64 * 1024 - 400


def fill(piece: str, size: int = FULL) -> str:
    """The piece again and again up to ``size`` bytes."""
    return piece * (size // len(piece.encode()))


def signs(piece: str, many: int) -> str:
    """``many`` of them, in paragraphs that are just short enough to be taken."""
    return "\n\n".join(fill(piece, 190 * len(piece)) for _ in range(many // 190))


PIECES = {
    "one letter": "a", "blanks": " ", "line ends": "\n", "blank lines of blanks": "   \n", "emphasis": "*a*",
    "open emphasis": "*a ", "strong and emphasis": "***a** ", "underscores": "_a_ ",
    "runs of underscores": "__________________________________________________ ", "backticks": "`a ", "brackets": "[ ",
    "links": "[a](b) ", "open links": "[a](", "links to nowhere": "[a][b] ", "images": "![a](/b) ", "tags": "<b>a</b> ",
    "open tags": "<b ", "comments": "<!-- ", "declarations": "<!x ", "questions": "<?x ", "entities": "&amp; ",
    "open entities": "&a", "escapes": "\\*", "quotes": "> a\n", "lists": "- a\n", "numbered lists": "1. a\n",
    "rules": "***\n", "headings": "# a\n", "underlined headings": "a\n=\n", "fences": "```\na\n```\n",
    "open fences": "~~~ a\n", "code": "    a\n", "tables": "| a | b |\n| - | - |\n| 1 | 2 |\n\n", "bars": "|",
    "one wide table": "| a ", "Chinese": "\u663e\u5b58", "marks of direction": "\u202e\u2066",
    "joined marks": "e\u0301\u0302", "addresses": "<http://a.b> ", "references": "[a]: http://b.c\n", "colons": "a:b:",
    "blocks of HTML": "<div>\n\n</div>\n\n", "open blocks of HTML": "<div>\n", "details": "<details>",
}  # fmt: skip
BODIES: dict[str, str] = {
    **{f"64 kB of {name}": fill(piece) for name, piece in PIECES.items()},
    "a list in a list": "\n".join("    " * (at % 20) + "- a" for at in range(2000)),
    "quotes in quotes": "\n".join("> " * (at % 20) + "a" for at in range(2900)),
    "quotes and lists by turns": "\n\n".join("> - " * 9 + "a" for _ in range(1500)),
    "lists that step in and out": "\n".join("    " * (at % 19) + f"{at}. a\n" for at in range(1400)),
    "as many brackets as are taken": signs("[ ", 1500),
    "as many links as are taken": signs("[a](b) ", 1500),
    "as many tags as are taken": signs("<b>a</b>", 1000),
    "as many open tags as are taken": signs("<b ", 1000),
    "as many open comments as are taken": signs("<!-- ", 1000),
    "as many entities as are taken": signs("&a ", 2000),
    "as many escapes as are taken": signs("\\* ", 4000),
    "as many backticks as are taken": signs("` ", 4000),
    "as many stars as are taken": signs("*a ", 6000),
    "as many pairs of stars as are taken": signs("**a ", 3000),
    "as many bars as are taken": "| a | b |\n| - | - |\n" + fill("| 1 | 2 |\n", 9 * 990),
    "as many underscores as are taken": signs("_a ", 12000),
    "as wide a table as is taken": "|" + " a |" * 1400 + "\n|" + " - |" * 1400 + "\n|" + " 1 |" * 1400,
    "links and stars": signs("[*a ", 1500),
    "tags in links": signs("[<b](", 1000),
    "a reference for every link": "\n".join(f"[r{at}]: http://a.b/{at}" for at in range(700)) + "\n\n" + signs("[a][r1] ", 1400),
}  # fmt: skip
FRONTS: dict[str, str] = {
    "deep arrays": "a = " + "[" * 5000 + "]" * 5000,
    "deep tables": "a = " + "{b=" * 3000 + "1" + "}" * 3000,
    "long dotted keys": ".".join("a" * 1 for _ in range(8000)) + " = 1",
    "many dotted keys": "\n".join(f"a.b.c.d.e{at} = 1" for at in range(3000)),
    "many tables": "\n".join(f"[a{at}]" for at in range(6000)),
    "deep table names": "\n".join(f"[{'.'.join(f'a{at}' for _ in range(9))}]" for at in range(1500)),
    "arrays of tables": "[[fix]]\n" * 6000,
    "many claims": '[[claim]]\ntext = "a"\n' * 2500,
    "long text": 'a = "' + "x" * 60_000 + '"',
    "escapes": 'a = "' + "\\u0041" * 9000 + '"',
    "long number": "a = " + "9" * 60_000,
    "long array": "a = [" + "1," * 30_000 + "]",
    "open text": 'a = """' + "x\n" * 20_000,
    "many unknown words": "\n".join(f"word{at} = 1" for at in range(4000)),
    "dates": "\n".join(f"d{at} = 2026-11-01" for at in range(3000)),
}


def took(work: Callable[[], object]) -> float:
    best = 9.0
    for _ in range(3):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def outcome(work: Callable[[], object], refusal: type[Exception]) -> str:
    try:
        work()
    except refusal:
        return "refused"
    return "taken"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from diagnose.knowledge import current
    from kb import documents, markdown
    from kb.documents import DocumentError

    knowledge, rows = current(), []

    def tried(name: str, work: Callable[[], object], refusal: type[Exception]) -> None:
        said: list[str] = []
        rows.append((took(lambda: said.append(outcome(work, refusal))), said[0], name))

    for name, text in BODIES.items():
        tried(name, lambda text=text: markdown.render(text), ValueError)  # type: ignore[misc]
    for name, front in FRONTS.items():
        whole = f'+++\ntitle = "a"\nreviewed = 2026-11-01\nsources = ["https://a.example/"]\n{front}\n+++\na\n'
        tried(f"TOML: {name}", lambda text=whole: documents.prepare("cases", "a", text, knowledge), DocumentError)  # type: ignore[misc]
    for seconds, said, name in sorted(rows, reverse=True)[:15]:
        print(f"{seconds * 1000:8.1f} ms  {said:8} {name}")
    slow = [name for seconds, _, name in rows if seconds > LIMIT]
    print(f"{len(rows)} documents, {len(slow)} above {LIMIT * 1000:.0f} ms" + (f": {', '.join(slow)}" if slow else ""))


if __name__ == "__main__":
    main()
