"""What the front matter of a document written in a browser may hold, asked before the loader reads it: small, flat, plain values."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from diagnose.knowledge.loader import MAX_BYTES, MAX_DEPTH, Problem, nesting, split
from diagnose.vocabulary import FACTS

MAX_VALUES = 2_000
MAX_ITEMS = 100  # of one list: sources, claims, fixes
MAX_DOTS = 100  # in one line: a key of thousands of parts takes the TOML reader minutes
MAX_STRANGE = 20  # unknown words for which the loader may look for a near one: each look costs a millisecond
MAX_TITLE = 300
_LINK = re.compile(r"https?://[^\s/?#]+")  # what becomes a link must not become a script
_NO_LINK = "is “{}”, must be an address that begins with https:// or http://"
_WORDS = {
    "title", "reviewed", "sources", "summary", "date", "solved", "facts", "config", "claim", "fix", "claims", "fixes", "text", "verdict",
    "ground", "source", "lever", "advisory", "detail", "by", "worked", *FACTS,
}  # fmt: skip


def refusals(text: str, place: str) -> list[Problem]:
    """Every reason why the front matter is not even handed to the loader; no TOML at all is the loader's to tell."""
    try:
        front = split(text)[0]
    except ValueError:
        return []
    for number, line in enumerate(front.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            return [Problem(place, f"line {number} has {line.count('.')} dots, at most {MAX_DOTS}: break it up")]
    data = read(text)
    if data is None:
        return []
    problems, strange = [], 0
    for values, (path, key, value, depth) in enumerate(_walk(data), 1):
        strange += isinstance(key, str) and key not in _WORDS and not path.startswith("config.")
        if depth > MAX_DEPTH or values > MAX_VALUES or strange > MAX_STRANGE:
            cure = (
                f"at most {MAX_DEPTH} levels, {MAX_VALUES} values and {MAX_STRANGE} unknown words are taken: shorten it"
            )
            return [Problem(place, f"the front matter is too large: {cure}")]
        if isinstance(value, list) and len(value) > MAX_ITEMS:
            return [Problem(f"{place}: {path}", f"has {len(value)} items, at most {MAX_ITEMS} are taken: shorten it")]
        problems += [Problem(f"{place}: {path}", why) for why in _odd(value)]
    problems += [
        Problem(f"{place}: {path}", _NO_LINK.format(link[:80])) for path, link in _links(data) if not _LINK.match(link)
    ]
    title = data.get("title")
    if isinstance(title, str) and (not title.strip() or "\n" in title or len(title) > MAX_TITLE):
        problems.append(Problem(f"{place}: title", f"must be one line of 1 to {MAX_TITLE} characters"))
    return problems


def read(text: str) -> dict[str, Any] | None:
    """The front matter of a text that may be anything; None where there is none, or none that is cheap to read."""
    if len(text) > MAX_BYTES:
        return None
    try:
        front = split(text)[0]
        if any(line.count(".") > MAX_DOTS for line in front.split("\n")) or nesting(front) > MAX_DEPTH:
            return None
        return tomllib.loads(front)
    except (ValueError, RecursionError):
        return None


def _walk(data: dict[str, Any]) -> Iterator[tuple[str, str | int, Any, int]]:
    """Path, key, value and depth of everything inside, without recursion."""
    waiting: list[tuple[str, str | int, Any, int]] = [("", "", data, 0)]
    while waiting:
        path, key, value, depth = waiting.pop()
        if path:
            yield path, key, value, depth
        if depth > MAX_DEPTH:
            continue
        before = f"{path}." if path else ""
        if isinstance(value, dict):
            waiting += [(f"{before}{name}"[:200], name, item, depth + 1) for name, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{i}]"[:200], i, item, depth + 1) for i, item in enumerate(value)]


def _links(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What pages link to."""
    sources, claims = data.get("sources"), data.get("claim", data.get("claims"))
    for i, link in enumerate(sources if isinstance(sources, list) else []):
        yield f"sources[{i}]", str(link)
    for i, claim in enumerate(claims if isinstance(claims, list) else []):
        if isinstance(claim, dict) and claim.get("source"):
            yield f"claim[{i}].source", str(claim["source"])


def _odd(value: Any) -> Iterator[str]:
    """What TOML can say and a page or a database cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"is {value}: write a number, or leave the line out where it is not known"
    if isinstance(value, int) and abs(value) > 10**15:
        yield "is too large a number"
    if isinstance(value, str) and any(ord(c) < 32 and c not in "\n\t" or ord(c) == 127 for c in value):
        yield "holds a control character: take it out"
