"""YAML by indentation: nested keys as full paths, wherever a line reads ``key: value``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.braces import read_flow
from diagnose.ingest.lines import Row
from diagnose.types import Setting, Span

_PAIR = re.compile(
    r"(?P<indent>[ \t]*)(?P<dash>(?:-[ ]{1,3})?)(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w./-]{0,120})(?P=quote)[ ]?"
    r":(?:[ \t]+(?P<value>\S.*)|[ \t]*)$",
    re.A,
)
_COMMENT = re.compile(r"[ \t]+#(?:[ \t].*)?$", re.A)
_ITEM = re.compile(r"[ \t]*-[ ]{1,3}\S", re.A)
_SCALAR_ITEM = re.compile(
    r"(?P<indent>[ \t]*)-[ ]{1,3}(?P<value>\"[^\"]{1,200}\"|'[^']{1,200}'|[^\s\"'\[{&*!#]\S{0,200})[ \t]*(?:#.*)?$",
    re.A,
)
_LIST_KEY = re.compile(r"[a-z][\w./-]*$", re.A)  # a heading with its points begins with a capital
_ANCHOR = re.compile(r"[&!][\w./-]+[ \t]+", re.A)
_SCALAR = re.compile(
    r"(?:[^\s\"'\[{(,;，。；、（]+|\w{1,40}_\w{1,40}(?:,\w{1,40}_\w{1,40}){1,20}"
    r"|\[[^\[\]]{0,400}\]|\[(?:\[[^\[\]]{0,200}\](?:,[ ]?)?){1,8}\]|\"[^\"]{0,400}\"|'[^']{0,400}')[,;]?$",
    re.A,
)
_NUMBER = re.compile(
    r"(-?\d[\d_]*(?:\.\d+)?(?:[eE]-?\d+)?[kKmM]?|[Tt]rue|[Ff]alse|[Nn]one|null)(?=[\s,;，。；、（()]|$)(?!\s*[x×*/]\s*\d)",
    re.A,
)
_NO_KEY = re.compile(r"(?:Error|Exception|Warning|Interrupt)$", re.A)
_MERGE = re.compile(
    r"(?P<indent>[ \t]*)<<:[ \t]+\[?(?P<names>\*[\w.-]{1,80}(?:,[ ]?\*[\w.-]{1,80}){0,8})\]?[ \t]*(?:#.*)?$", re.A
)
_MOST_MERGES, _MOST_COPIED = 100, 2_000  # merges that are followed, settings that they bring
_SPECIFIC = re.compile(r"\w_\w|\w\.\w", re.A)  # keys that are no plain words


def read_yaml(rows: Sequence[Row]) -> tuple[list[Setting], set[int]]:
    """The settings of YAML-like lines, and the numbers of the lines that they stand on."""
    settings: list[Setting] = []
    used: set[int] = set()
    blocks: list[_Block] = []
    open_blocks: dict[str, _Block] = {}
    for row in rows:
        stripped = row.words.strip()
        block = open_blocks.get(row.source)
        near = block is not None and (bool(row.source) or block.number_of_lines_since(row) <= 3)
        if not stripped or stripped[0] == "#":
            if block is not None and near:
                block.seen = row.line.number
            continue
        if block is None or not near:
            block = open_blocks[row.source] = _Block()
            blocks.append(block)
        found = _PAIR.match(row.words) if ":" in stripped and '"--' not in stripped else None
        if found is None or _NO_KEY.search(found["key"]):
            if not block.holds(row):
                open_blocks.pop(row.source, None)
            elif block.take_merge(row) or block.take_item(row):
                used.add(row.line.number)
            continue
        new = [*block.end_of_list(), *block.take(row, found)]
        if new:
            settings.extend(new)
            used.add(row.line.number)
    settings.extend(setting for block in blocks for setting in block.end_of_list())
    settings.extend(copied for block in blocks for copied in _merged(block, settings))
    return settings, used


def _merged(block: _Block, settings: Sequence[Setting]) -> list[Setting]:
    """What ``<<: *name`` and ``key: *name`` take over from the key with ``&name``, save what stands there itself."""
    copied: dict[str, Setting] = {}
    for path, name in block.merges[:_MOST_MERGES]:
        source = block.anchors.get(name)
        if source is None or len(copied) > _MOST_COPIED:
            continue
        for one in (*settings, *copied.values()):
            if one.key == source or one.key.startswith(f"{source}."):
                key = path + one.key[len(source) :]
                copied.setdefault(key, Setting(key, one.value, "yaml", one.span))
    own = {setting.key for setting in settings}
    return [setting for key, setting in copied.items() if key not in own]


class _Block:
    """The keys that are open at the present indentation, and the list of scalars that stands under the last one."""

    def __init__(self) -> None:
        self.stack: list[tuple[int, str]] = []
        self.last = self.seen = 0
        self.anchors: dict[str, str] = {}
        self.merges: list[tuple[str, str]] = []
        self.items: list[str] = []
        self.first_item: Span | None = None

    def take_merge(self, row: Row) -> bool:
        """Whether the row says whose keys the key above it takes over."""
        found = _MERGE.match(row.words)
        if found is None:
            return False
        self._close(len(found["indent"].expandtabs(4)))
        path = ".".join(key for _, key in self.stack)
        self.merges += [(path, name.strip(" *")) for name in found["names"].split(",")]
        return True

    def _close(self, indent: int) -> None:
        while self.stack and self.stack[-1][0] >= indent:
            self.stack.pop()

    def take_item(self, row: Row) -> bool:
        """Whether the row is a scalar in the list of the key above it."""
        found = _SCALAR_ITEM.match(row.words)
        if found is None or row.line.number > self.last + 1 or not _LIST_KEY.match(self.stack[-1][1]):
            return False
        if len(found["indent"].expandtabs(4)) < self.stack[-1][0]:
            return False
        self.last = self.seen = row.line.number
        self.first_item = self.first_item or row.span(found.start("value"), found.end("value"))
        self.items.append(found["value"].strip("\"'"))
        return True

    def end_of_list(self) -> list[Setting]:
        """The list as one setting, as it would be written in one line; its place is that of its first item."""
        span, items = self.first_item, self.items
        self.first_item, self.items = None, []
        path = ".".join(key for _, key in self.stack)
        return [Setting(path, f"[{', '.join(items)}]", "yaml", span)] if span else []

    def number_of_lines_since(self, row: Row) -> int:
        return row.line.number - self.seen if self.seen else 0

    def holds(self, row: Row) -> bool:
        """Whether a line that is no pair stands inside: an item, or the rest of a value, deeper than the key it belongs to."""
        if not self.stack:
            return False
        words = row.words.expandtabs(4)
        deep = len(words) - len(words.lstrip()) > self.stack[-1][0] and row.line.number == self.seen + 1
        inside = deep or bool(_ITEM.match(words))
        if inside:
            self.seen = row.line.number
        return inside

    def take(self, row: Row, found: re.Match[str]) -> list[Setting]:
        self.last = self.seen = row.line.number
        indent = len(found["indent"].expandtabs(4)) + len(found["dash"])
        self._close(indent)
        value = _COMMENT.sub("", found["value"] or "").rstrip()
        whole = ".".join([key for _, key in self.stack] + [found["key"]])
        if anchor := _ANCHOR.match(value + " "):
            self.anchors[anchor[0].strip("&! \t")] = whole
        elif value[:1] == "*" and value[1:].isidentifier():
            self.merges.append((whole, value[1:]))
            return []
        if not value or value[0] == "#" or _ANCHOR.fullmatch(value + " "):
            self.stack.append((indent, found["key"]))
            return []
        start = found.start("value") + (len(anchor[0]) if anchor else 0)
        value = value[len(anchor[0]) :] if anchor else value
        if value[0] == "{":
            return read_flow(row, whole, start, start + len(value))
        return _scalar(row, whole, value, start, bool(self.stack))


def _scalar(row: Row, path: str, value: str, start: int, nested: bool) -> list[Setting]:
    """A plain value. Behind a plain word at the margin only one word is a value; the rest of a sentence is none."""
    if _SCALAR.match(value):
        value = value.rstrip(",;")
    elif _SPECIFIC.search(path) and (number := _NUMBER.match(value)):
        value = number[1]
    elif not nested or value[-1] in "{([":
        return []
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value, start = value[1:-1], start + 1
    if not value or value[0] in "|>" or value.startswith(("int ", "float ", "bool ", "str ", "Optional[")):
        return []
    return [Setting(path, value, "yaml", row.span(start, start + len(value)))]
