"""The lines in which a person or a program speaks: everything but commands, traceback frames and configuration dumps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.settings.printed_objects import printed_objects
from diagnose.types import Line, Paste, Setting, Span

_NUMERALS = {
    "one": 1, "a": 1, "an": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "sixteen": 16,
    "一": 1, "单": 1, "两": 2, "双": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "十六": 16,
}  # fmt: skip
# a line of arguments whose command was not pasted
_FLAG_LINE = re.compile(r"\s*--[a-z]", re.A)
# what an argument parser writes above a value of its printed configuration (jsonargparse: --print_config=comments)
_HELP = re.compile(r"\s*#[^\n]{0,2000}\(type: [^\n]{1,1000}, default: [^\n]{0,400}\)\s*$", re.A)
# a key of a configuration that is left without a value, or with one that is commented out
_UNSET = re.compile(r"\s*(?:[a-z]\w*:\s*#[^\n]*|[a-z]+_\w*:\s*)$", re.A)
# a file that Hydra puts together with others, of which a setting may name another one (hydra 1.3, defaults list: PATH@PACKAGE)
_PACKAGED = re.compile(r"\s*-\s+[\w./‹›+-]{1,200}@[\w.]{1,80}\s*(?:#.*)?$", re.A)
_NESTED = ("json", "yaml")
_CHATTER = " NCCL INFO "  # NCCL_DEBUG=INFO, src/debug.cc: hundreds of lines of every start, in which nobody speaks
_EITHER = re.compile(r"=[^=\n]{1,200}?\sif\s[^\n]{1,200}?\selse\s", re.A)
_NO_DIGITS = str.maketrans("", "", "0123456789")
_REPEATS = 16  # a table of cards has as many rows
# what stands behind the size of a card: nothing that makes it the host's
NOT_OF_RAM = r"(?!\s*(?:of\s+)?(?:(?:system|host|cpu)\b|ram\b|ddr\d|dimm|内存))"
NUMERAL = r"(?:\d{1,4}|one|single|two|three|four|five|six|seven|eight|sixteen|十六|[一单两双二三四五六七八])"


def numeral(word: str) -> int:
    """A count in digits, English or Chinese."""
    return int(word) if word.isdigit() else _NUMERALS[word.lower()]


def spoken(paste: Paste, new: Set[int]) -> Iterator[Line]:
    """Every line that is not part of a command, of a traceback frame or of a configuration dump; ``new``: its place is ``fresh``."""
    skipped = {number for command in paste.commands for number in range(command.first_line, command.last_line + 1)}
    frames = {frame.line for frame in paste.frames if frame.path}
    skipped |= frames | printed_objects(paste.lines) | set(_tips(paste.lines))
    dumped = {setting.span.line: setting for setting in paste.settings if setting.shape == "dump"}
    skipped |= {setting.span.line for setting in paste.settings if setting.shape in _NESTED} & set(
        _counted(paste.lines)
    )
    for i, line in enumerate(paste.lines):
        if i not in new or line.number in skipped or _CHATTER in line.words:
            continue
        # a key may also stand in a sentence; a dump begins with it
        dump = line.number in dumped and _is_dump(line, dumped[line.number])
        code = line.number - 1 in frames and line.words.startswith("    ")
        unset = ":" in line.words and bool(_UNSET.match(line.words))
        listed = bool(_FLAG_LINE.match(line.words)) or ("@" in line.words and bool(_PACKAGED.match(line.words)))
        if not (dump or code or unset or listed or _either(line.words) or is_help(line.words)):
            yield _without_sections(line)
    yield from _before_commands(paste)
    yield from _behind_commands(paste)


def _counted(lines: Sequence[Line]) -> Iterator[int]:
    """The numbers of the lines that hold entries of a printed dictionary alone, of numbers, switches and single words: nobody speaks so."""
    return (line.number for line in lines if ":" in line.words and _COUNTED.match(line.words))


def _tips(lines: Sequence[Line]) -> Iterator[int]:
    """The numbers of the lines that a program lists below a failure as what one may try, of which nothing was done."""
    listed = False
    for line in lines:
        listed = bool(_TIPS.search(line.words)) or (listed and bool(_TIP.match(line.words)))
        if listed:
            yield line.number


# sgl-project/sglang v0.5.6 python/sglang/srt/model_executor/cuda_graph_runner.py: CUDA_GRAPH_CAPTURE_FAILED_MSG
_TIPS = re.compile(r"\b(?:possible|suggested) (?:solutions?|fixes)\s*[:：]\s*$", re.I | re.A)
_TIP = re.compile(r"\s*(?:\d[.)]|[-*•])\s|\s*$", re.A)


def is_entry(words: str) -> bool:
    """Whether a line is one of a dictionary that a program prints: “'_target_': 'trainer.Config',”."""
    return bool(_ENTRY.match(words))


def _without_sections(line: Line) -> Line:
    """A line without the names of the sections that it opens: “'lora': {'rank': 0,” speaks of no LoRA."""
    if "{" not in line.words and "[" not in line.words:
        return line
    words = _SECTION.sub(lambda found: " " * len(found[0]), line.words)
    return line if words == line.words else replace(line, words=words)


def _before_commands(paste: Paste) -> Iterator[Line]:
    """The words that announce a command on its own line: “will this fit: torchrun …”."""
    for command in paste.commands:
        line = paste.line(command.first_line)
        start = line.words.find(command.words[0]) if line and command.words else 0
        if line and (colon := _ANNOUNCES.search(line.words[: max(start, 0)])):
            yield replace(line, words=line.words[: colon.end()])


_ENTRY = re.compile(
    r"[\s\[\]{}(),]{0,200}(?P<quote>['\"])[\w./:@*+-]{1,120}(?P=quote)\s{0,4}:\s.*[,\]}{\[]\s{0,80}$", re.A
)
_NAMED = r"(?:\"[\w./-]{1,120}\"|'[\w./-]{1,120}')\s?:\s{0,2}"
_PLAIN = r"(?:-?\d[\d.]{0,24}(?:e[+-]?\d{1,4})?|True|False|None|true|false|null|'[a-z_-]{0,40}'|\"[a-z_-]{0,40}\")"
_COUNTED = re.compile(rf"\s{{0,200}}\{{?(?:{_NAMED}\{{)*(?:{_NAMED}{_PLAIN}[,}}\]\s]{{1,40}}){{1,12}}$", re.A)
_SECTION = re.compile(r"(?P<quote>['\"])[\w./:@*+-]{1,120}(?P=quote)(?=\s{0,4}:\s{0,4}[{\[])", re.A)
_PROGRAM = re.compile(r"\S{1,200}\.(?:sh|py)\b|(?<!\S)(?:-m|--module) \S{1,200}", re.A)


_ANNOUNCES = re.compile(r"[:：](?=[ \t`]*(?:[A-Z_][A-Z\d_]*=\S*\s+)*$)", re.A)
# where a sentence begins behind arguments, none of which is a list
_APART = re.compile(
    r"(?:(?<=[\w%])[,，;；。]|(?<=[\w%] );(?![^\n]{0,400}--))(?=\s|[^\x00-\x7f])(?=\s{0,8}[^\s'\"\[{\]}-])(?![^\[\n]{0,200}\])",
    re.A,
)
# “bash train.sh on 8*A100 with …”: no script is called with such a word
_GOES_ON = re.compile(r"\s+(?:on|with|for|in|using|and|at)\s+\S", re.A)
_BRACKET = re.compile(r"\s[(（](?=\w)", re.A)
# “trl vllm-serve --model … on 2x L40S”: no flag takes such a word
_ON_CARDS = re.compile(
    r"\s(?:on|with)\s(?=(?:(?:an?|one|single|two|four|eight|\d{1,4})\s?[x×*]?\s?){1,3}(?:nvidia\s|amd\s)?[A-Z]{1,3}\d)",
    re.A,
)


# a comment of the shell's
_REMARK = re.compile(r"(?<=\s)#\s{0,4}(?=[^\s#])", re.A)


def _behind_commands(paste: Paste) -> Iterator[Line]:
    """What somebody wrote behind a command, in its last line: of a failure, behind a comma, in brackets or as a comment."""
    last = {command.last_line for command in paste.commands}
    ends: dict[int, list[int]] = {}
    for setting in paste.settings if last else ():
        if setting.span.line in last:
            ends.setdefault(setting.span.line, []).append(setting.span.end)
    for line in paste.lines if last else ():
        if line.number not in last:
            continue
        settings = [end - line.offset for end in ends.get(line.number, ())]
        started = [found.end() for found in _PROGRAM.finditer(line.words)]
        first = min([end for end in settings if not started or end > started[0]], default=len(line.words))
        behind = max([0, *settings, *started])
        breaks = (
            _APART.search(line.words, first),
            _BRACKET.search(line.words, max(started, default=first)),
            _ON_CARDS.search(line.words, behind),
            _REMARK.search(line.words, behind),
        )
        apart = min((found.start() for found in breaks if found), default=None)
        if apart is not None and line.words.count("'", apart) % 2:
            apart = None  # inside a quoted value
        at = max([0, *settings, *started]) if apart is None else apart
        if started and _GOES_ON.match(line.words, started[0]):
            at = apart = started[0]
        said = line.words[at:]
        if said and (apart is not None or FAILURE.search(said)):
            yield replace(line, words=said, offset=line.offset + at)


def _is_dump(line: Line, setting: Setting) -> bool:
    """Whether the line is a key with its value and no sentence that tells what came of it."""
    return line.words.lstrip().startswith(setting.key) and not FAILURE.search(line.text[setting.span.end :])


def is_help(words: str) -> bool:
    """Whether a comment tells an argument's type and default, which say nothing of this run."""
    return "(type: " in words and bool(_HELP.match(words))


def _either(words: str) -> bool:
    """A line of code that chooses between two values says neither."""
    return " else " in words and "=" in words and bool(_EITHER.search(words))


_CLAUSE_END = re.compile(r"[,，;；。！？!?\n]|\.(?=\s)|\bbut\b|\bwhile\b|但是?|(?<![反然从进])而", re.A)
_CLAUSE = 240  # characters to either side that a clause may reach


def clause_of(words: str, found: re.Match[str]) -> tuple[int, str]:
    """The clause that a match stands in, and where it begins."""
    low, high = max(0, found.start() - _CLAUSE), found.end() + _CLAUSE
    start = max((end.end() for end in _CLAUSE_END.finditer(words, low, found.start())), default=low)
    end = _CLAUSE_END.search(words, found.end(), high)
    return start, words[start : end.start() if end else high]


_FROM = re.compile(r"(?:\bfrom\s+|从\s*)[`'\"“]?$", re.I | re.A)
_TO = re.compile(r"[`'\"”]?\s*(?:\w{1,12}\s+)?(?:to\b|[换改切转迁]|-{1,2}>|→)", re.I | re.A)


def moved_from(words: str, found: re.Match[str]) -> bool:
    """Whether somebody moved from what is named here to another: “from A to B”, “从 A 换到 B”."""
    return bool(_FROM.search(words[max(0, found.start() - 16) : found.start()]) and _TO.match(words, found.end()))


# “8/4/2 all OOM”, “0.5, 0.3 both”: values of several runs
_SEVERAL = re.compile(
    r"(?:\s{0,2}(?:[,，/、]|and|和|或|or)\s{0,2}\d{0,6}\.?\d{1,6}[kK]?){1,4}\s{0,2}(?:都|全|均|both\b|all\b)",
    re.I | re.A,
)


def one_of_several(words: str, end: int) -> bool:
    """Whether a value that ends here is one of several that failed alike."""
    return bool(_SEVERAL.match(words, end))


def asked(words: str, start: int, clause: str) -> bool:
    """Whether the mark that ends this clause, which begins at ``start``, is that of a question."""
    return words[start + len(clause) :][:1] in ("?", "？")


def fresh(lines: Sequence[Line]) -> frozenset[int]:
    """The places of the lines that no program prints step after step: of many that differ in numbers alone the first counts."""
    shapes = [line.words.translate(_NO_DIGITS) for line in lines]
    times, seen = Counter(shapes), set[str]()
    places = []
    for i, shape in enumerate(shapes):
        if shape not in seen or times[shape] <= _REPEATS:
            seen.add(shape)
            places.append(i)
    return frozenset(places)


def span_of(line: Line, found: re.Match[str], group: int | str = 0) -> Span:
    """Where a match in the line's words stands in its text."""
    return Span(line.number, line.offset + found.start(group), line.offset + found.end(group))


def whole_line(line: Line) -> Span:
    """Where all words of a line stand in its text: behind what a log puts before them."""
    return Span(line.number, line.offset, line.offset + len(line.words))


def place_of(paste: Paste, number: int) -> Span | None:
    """The same of the line with this number; None where it was left out."""
    line = paste.line(number)
    return whole_line(line) if line else None
