"""Comments of a script: what one says of running out is a reason for a setting, and no failure of this run.

Those of a configuration file describe its keys: whoever wrote the file speaks of any run. A heading begins with the same sign. It
stands over text, or names the failure on top of all; a comment stands inside of code or beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.failing.signature import is_mark
from diagnose.types import Fact, Hit, Line, Paste

_CODE = re.compile(
    # a shell's
    r"\s*(?:#!\s?/|#SBATCH\b|(?:export|local|readonly)[ \t]+\w+(?:=|[ \t]*$)|(?:declare|set)[ \t]+-\w|unset[ \t]+\w+[ \t]*$"
    r"|source[ \t]+\S*[/.]"
    r"|(?:if|elif|while|until|for)[ \t].{1,300};[ \t]*(?:then|do)\b|(?:then|else|fi|do|done|esac|;;)[ \t]*$|case[ \t].{1,200}[ \t]in[ \t]*$"
    r"|--[A-Za-z][\w.-]*(?:[= \t]|$)|[\"']?[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)+=\S|ray[ \t]+(?:start|stop|job)\b"
    r"|(?:pip|conda|cd|mkdir|nvidia-smi|echo|huggingface-cli|hf|sleep|pkill|module|srun|scontrol|sudo|apt|apt-get|wandb)[ \t]+\S"
    # Python's
    r"|(?:def|class)[ \t]+\w+.{0,300}:[ \t]*$|(?:with|if|elif|for|while|except)[ \t].{0,200}[(_=<>\[].{0,200}:[ \t]*$"
    r"|(?:try|else|finally):[ \t]*$"
    r"|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+\w+|@\w+|[)\]}]+[,;]?[ \t]*\\?$|\w[\w.]{0,80}\(.{0,300}[(),\\]?[ \t]*$"
    # of either
    r"|[A-Za-z_][\w.]{0,80}(?:\[[^\]\n]{1,60}\])?[ \t]{0,4}[+*/-]?=(?!=)[ \t]{0,4}\S)",
    re.A,
)
_COMMENT = re.compile(r"(?<!\S)#(?!!)", re.A)
_TITLE = re.compile(
    r"\s*#{1,6}\s*(?:[\w-]+\s+){0,2}(?:OOM|out of memory|爆显存|显存不足)(?![A-Za-z]).{0,60}$", re.I | re.A
)
_FENCE = ("```", "~~~")
_OF_FILES = ("yaml", "python")  # as settings of YAML and TOML are read
_SECTION = re.compile(r"\s*(?:-[ \t]+)?[a-z][a-z\d_]{1,60}:[ \t]*(?:#.*)?$", re.A)
# over a part of the file: “# GRPO trainer config”
_PART = re.compile(
    r"#+\s*[\w.+-]{1,20}\s+(?:trainer|training)\s+(?:config\w*|arg\w*|settings|parameters)\s*$", re.I | re.A
)
# who speaks of a run of their own, or of what they changed
_OWN = re.compile(
    r"\b(?:I|my|our|tried|did(?:n['’]t| not) help|no help|lowered|reduced|changed (?:from|to))\b|我|咱|试过|没用|改[成为了小大]|调[小大到]",
    re.A,
)
# of memory, as a reason for a setting may speak of anything else that went wrong
_MEMORY = re.compile(r"OOM|\bmemory\b|\bV?RAM\b|\bkilled\b|显存|内存|爆|炸", re.I | re.A)
# of a run to come, and of the hardware that one takes
_QUESTIONS = ("planned", "asks_hardware")


def without_descriptions(lines: Sequence[Line], paste: Paste) -> tuple[Line, ...]:
    """The lines without the comments that describe the keys of a configuration file: whoever wrote it speaks there, of any run.

    What stands above the file or names a part of it stays, what somebody says of a failure or of themselves, and what stands behind a
    path.
    """
    if not any("#" in line.words for line in lines) or not any(one.shape in _OF_FILES for one in paste.settings):
        return tuple(lines)
    return tuple(_undescribed(lines, _Code(paste)))


def _undescribed(lines: Sequence[Line], code: _Code) -> Iterator[Line]:
    for line in lines:
        found = _COMMENT.search(line.words) if "#" in line.words else None
        if found is None or not code.describes(line, found.start()):
            yield line
        elif line.words[: found.start()].strip():
            yield replace(line, words=line.words[: found.start()].rstrip())


def without_comments(hits: tuple[Hit, ...], paste: Paste) -> tuple[Hit, ...]:
    """The hits without those of a script's comments, where the text asks of a run to come or tells no other failure.

    What a comment asks, nobody asks of this run: "choose which GPUs to use" stands in a script that all take.
    """
    code = _Code(paste)
    hits = tuple(hit for hit in hits if not ((_asks(hit) or code.described(hit)) and code.comments(hit)))
    told = [hit for hit in hits if not is_mark(hit.signature)]
    remarks = {id(hit) for hit in told if hit.signature.strength == 1 and code.comments(hit)}
    if len(remarks) < len(told) and not any(map(_asks, hits)):
        return hits
    return tuple(hit for hit in hits if id(hit) not in remarks)


def still_told(captured: Mapping[str, Fact], found: Iterable[Hit], kept: Sequence[Hit]) -> dict[str, Fact]:
    """What was captured, without what the hits told that were ``found`` and not ``kept``, unless another one tells it."""
    left = {id(hit) for hit in kept}
    gone = {(fact, hit.span.line) for hit in found if id(hit) not in left for fact in _tells(hit)}
    facts: dict[str, Fact] = {}
    for name, fact in captured.items():
        if fact.span is None or (name, fact.span.line) not in gone:
            facts[name] = fact
        elif other := next((hit for hit in kept if name in hit.signature.gives), None):
            facts[name] = Fact(name, other.signature.gives[name], "read", span=other.span)
    return facts


def _tells(hit: Hit) -> Iterator[str]:
    yield from hit.signature.gives
    yield from (capture.fact for capture in hit.signature.captures.values())


def _asks(hit: Hit) -> bool:
    return any(id in hit.signature.gives for id in _QUESTIONS)


class _Code:
    """Which lines of a paste are code, and what in them is a comment."""

    def __init__(self, paste: Paste) -> None:
        self.paste = paste
        self.lines: Sequence[Line] = paste.lines

    def comments(self, hit: Hit) -> bool:
        """Whether what was found stands in a comment."""
        at = self._places.get(hit.span.line)
        found = _COMMENT.search(self.lines[at].words) if at is not None else None
        if at is None or found is None or self.lines[at].offset + found.start() > hit.span.start:
            return False
        line = self.lines[at]
        if line.words[: found.start()].strip():
            return self._is_code(at)
        return line.number in self._commands or self._beside_code(at)

    def describes(self, line: Line, start: int) -> bool:
        """Whether the comment that begins there is one of a configuration file, on what its keys mean."""
        at = self._places.get(line.number)
        comment, before = line.words[start:], line.words[:start]
        if at is None or any(form.search(comment) for form in (FAILURE, _OWN, _PART)):
            return False
        if before.strip():
            return line.number in self._files and "/" not in before
        (above, _), (below, _) = self._above[at], self._below[at]
        return all(place is None or self._is_file(place) for place in (above, below)) and above is not None

    def described(self, hit: Hit) -> bool:
        """Whether words that are no message of a program's stand in a comment that describes keys, or name a place and no memory."""
        at = self._places.get(hit.span.line)
        found = _COMMENT.search(self.lines[at].words) if at is not None and hit.signature.strength == 1 else None
        if at is None or found is None:
            return False
        line = self.lines[at]
        names_place = bool(hit.signature.phase) and not _MEMORY.search(line.words[found.start() :])
        return names_place or self.describes(line, found.start())

    def _beside_code(self, at: int) -> bool:
        (above, touches_above), (below, touches_below) = self._above[at], self._below[at]
        if above is None and _TITLE.match(self.lines[at].words):
            return False
        if below is not None and touches_below and self._is_code(below):
            return True
        ends = touches_above if below is None else self._is_code(below)
        return above is not None and self._is_code(above) and ends

    @cached_property
    def _places(self) -> dict[int, int]:
        return {line.number: at for at, line in enumerate(self.lines)}

    @cached_property
    def _commands(self) -> set[int]:
        return {number for one in self.paste.commands for number in range(one.first_line, one.last_line + 1)}

    @cached_property
    def _settings(self) -> set[int]:
        return {one.span.line for one in self.paste.settings if one.shape in ("yaml", "json", "env")}

    @cached_property
    def _files(self) -> set[int]:
        """Lines of YAML, and of TOML below the head of a table, whose name the key begins with and the line does not."""
        yaml = {one.span.line for one in self.paste.settings if one.shape == "yaml"}
        headed = {one.span.line: one.key for one in self.paste.settings if one.shape == "python" and "." in one.key}
        below = (line for line in self.lines if line.number in headed)
        return yaml | {line.number for line in below if not line.words.lstrip().startswith(headed[line.number])}

    def _is_file(self, at: int) -> bool:
        """Whether a line is one of a YAML file: a key with its value, or a section."""
        line = self.lines[at]
        return line.number in self._files or bool(_SECTION.match(line.words))

    @cached_property
    def _above(self) -> list[tuple[int | None, bool]]:
        return self._nearest(range(len(self.lines)))

    @cached_property
    def _below(self) -> list[tuple[int | None, bool]]:
        return self._nearest(range(len(self.lines) - 1, -1, -1))[::-1]

    def _nearest(self, places: range) -> list[tuple[int | None, bool]]:
        """For each line the one before it, in this order, that has words and is no comment, and whether no empty line stands between."""
        nearest: list[tuple[int | None, bool]] = []
        last, touches = None, True
        for at in places:
            nearest.append((last, touches))
            words = self.lines[at].words.strip()
            if words and (words[0] != "#" or _CODE.match(words)):
                last, touches = at, True
            touches = touches and bool(words)
        return nearest

    def _is_code(self, at: int) -> bool:
        line = self.lines[at]
        if line.words.lstrip().startswith(_FENCE):
            return False
        settings = line.number in self._commands or line.number in self._settings
        return settings or bool(_CODE.match(line.words) or (self._files and _SECTION.match(line.words)))
