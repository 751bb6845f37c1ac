"""Packages with versions: pins, lists of pip and conda, and what people write in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.conditions import parts
from diagnose.ingest.lines import Row
from diagnose.types import Package

_NAME = r"[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*"
_SUFFIX = r"(?:\.?(?:dev|post\d{1,8}|rc\d{1,3}|a\d{1,3}|b\d{1,3}|dev\d{1,8}))?(?:\+[A-Za-z0-9]{1,20}(?:\.[A-Za-z0-9]{1,20}){0,3})?"
_LONG = rf"\d{{1,4}}\.\d{{1,4}}\.(?:\d{{1,8}}|dev\w{{0,12}}|x)(?:\.\w{{1,24}}){{0,3}}{_SUFFIX}"
_SHORT = rf"\d{{1,4}}\.\d{{1,3}}{_SUFFIX}"
_END = r"(?![\w.]*\w)"

_PIN = re.compile(
    rf"(?<![\w./-])({_NAME})(?:\[[\w,.-]{{1,60}}\])?[ \t]?(?:===?|~=|@[ \t]?v?)[ \t]?(\d[\w.+!-]{{0,60}})", re.A
)
_COLUMN = re.compile(
    rf"[\s│|]*({_NAME})(?:[ \t]{{2,}}|\t|[ \t]*[│|][ \t]*)v?(\d{{1,4}}\.[\w.+!-]{{1,60}}|\d{{8}})(?=[\s│|]|$)", re.A
)
_SAYS = r"[ \t]{0,2}[:=：][ \t]{0,2}|[ \t]?(?:version(?: \(GPU\?\))?|版本|ver)[ \t]{0,2}(?:[:=：是为]|is|of)?[ \t]{0,2}|[ \t]{1,2}"
_WORDY = re.compile(
    rf"(?<![\w./@-])({_NAME})[\"'`]?(?:{_SAYS})[\"'`]?[vV]?({_LONG}|{_SHORT}){_END}", re.IGNORECASE | re.A
)
_JOINED = re.compile(rf"(?<![\w./@-])([A-Za-z][A-Za-z_]{{1,30}})-?[vV]?({_LONG}){_END}", re.A)
# of these people write two numbers right behind the name; of a model (name2.5) they are a part of it
_GLUED = re.compile(rf"(?<![\w./@-])((?:py)?torch|transformers)[vV]?({_SHORT}){_END}", re.I | re.A)
# “upgrading name from 0.8.5 to 0.11”, “name 0.8.5 -> 0.11.0”: the run has the second
_MOVED = re.compile(
    rf"(?<![\w./@-])(?P<name>{_NAME})[ \t]{{0,2}}(?:(?:was[ ])?(?:upgraded|updated|bumped)[ ])?(?:from[ ]|从[ ]?)?"
    rf"[vV]?(?P<old>{_LONG}|{_SHORT})[ \t]{{0,2}}(?:to[ ]|-{{1,2}}>|→|=>|(?:升级|升|更新|换)?[到成])[ \t]{{0,2}}"
    rf"[vV]?(?P<new>{_LONG}|{_SHORT}){_END}",
    re.IGNORECASE | re.A,
)
_BACK = re.compile(r"\b(?:down-?grad|went back|revert|back to|fix|solv|help|works?\b)|降|退|解决|好了", re.I | re.A)
# “…, rollback works”: that the older version held tells that the newer one failed
_ROLLED = re.compile(
    r"\b(?:rol{2}(?:ing|ed|s)?[ -]?back|down-?grad\w*|(?:went|going|go) back|revert\w*|the old (?:version|one|release))\b"
    r"[^.。;；\n]{0,40}|\b(?:old|previous|earlier) version works?\b"
    r"|(?:回退|回滚|退回|降回|降级|换回)[^。；;\n]{0,24}|(?:旧|老|原来的?)版本?[^。；;\n]{0,12}",
    re.I | re.A,
)
# engines whose versions people shorten: a share of the card is never written so
_SHORTENED = re.compile(r"0\.[1-9]\d", re.A)
_ENGINES = ("vllm", "sglang")
# what a program prints of itself when it starts: ``Name info: version=0.16.4``, ``name.__version__: 3.7.1``
_INFO = re.compile(
    rf"(?<![\w./-])({_NAME})(?: info: version[ \t]?=|\.__version__[ \t]?(?::|={{1,2}}))[ \t]?[\"']?({_LONG}|{_SHORT}){_END}",
    re.A,
)
# a folder of an installed package: ``site-packages/name-0.8.2-py3.10.egg/name/…``, ``name-0.8.2.dist-info``
_FOLDER = re.compile(rf"[/\\]({_NAME})-(\d{{1,4}}(?:\.\d{{1,8}}){{1,3}}{_SUFFIX})(?=-py\d|\.dist-info|\.egg)", re.A)
# the tag of an image that names what it holds: ``owner/image:app0.5-name0.10.0-other2.7``
_IMAGE = re.compile(r"(?<![\w.-])[\w.-]{1,60}/[\w./-]{1,80}:([A-Za-z][\w.+-]{3,160})", re.A)
_TAG = re.compile(r":[A-Za-z]", re.A)
_TAGGED = re.compile(rf"([A-Za-z][A-Za-z_]{{1,30}})v?({_LONG}|{_SHORT})", re.A)
# a number of two parts that is not the value behind a colon, or one of three: what a version in a sentence looks like
_LOOK = re.compile(r"\d(?:(?<![\d.:=：]\d)\d{0,3}\.\d|\.\d{1,4}\.[\ddx])", re.A)
_FOLLOWED = re.compile(
    r"[ \t]{0,2}(?:[%xX×]|[KMGT]i?B?\b|GB|[bB]\b|s\b|ms\b|s/|sec|it/|iter|steps?/|T?FLOPs?\b|gmu\b|util|frac|mem(?:ory)?\b|"
    r"tokens?|hours?|min|days?|亿|个|张|卡|万)",
    re.A,
)
# what ``pip show`` prints in two lines
_SHOWN = re.compile(rf"\s{{0,8}}(?:Name: (?P<name>{_NAME})|Version: (?P<version>\d[\w.+!-]{{0,60}}))\s{{0,8}}", re.A)
_NO_VERSIONS = frozenset({"127.0.0.1", "0.0.0.0"})
_COLON = re.compile(r"[:=：]", re.A)
_NO_NAMES = frozenset({
    "a", "an", "the", "of", "is", "was", "are", "be", "to", "at", "in", "on", "by", "for", "from", "with", "and",
    "or", "about", "than", "around", "over", "under", "only", "like", "takes", "took", "has", "have", "used",
    "uses", "until", "till", "every", "after", "before", "ip", "id", "lr", "loss", "reward", "rank", "step",
    "epoch", "seed", "size", "total", "free", "max", "min", "threshold", "line", "section", "chapter",
})  # fmt: skip


def read_packages(rows: Sequence[Row]) -> list[Package]:
    """Every package with a version, by line; a name that looks like a setting (``top_p 0.8``) is none."""
    packages: list[Package] = []
    named = ""
    for row in rows:
        shown = _SHOWN.fullmatch(row.words)
        if shown and shown["version"] and named:
            packages.append(Package(named, shown["version"], row.line.number))
        elif "." in row.words:
            packages.extend(_of_row(row))
        named = (shown["name"] or "") if shown else ""
    return packages


def _of_row(row: Row) -> list[Package]:
    words, number = row.words, row.line.number
    if found := _COLUMN.match(words):
        return [Package(found[1], found[2], number)]
    taken: dict[int, Package] = {}
    words = _moved(words, number, taken)
    if "==" in words or "@" in words or "~=" in words:
        for found in _PIN.finditer(words):
            if "." in found[2] or "==" in found[0]:
                taken.setdefault(found.start(2), Package(found[1], found[2].rstrip(".-"), number))
    _by_programs(words, number, taken)
    if not _LOOK.search(words):
        return [taken[start] for start in sorted(taken)]
    for found in _WORDY.finditer(words):
        if _is_package(found, words):
            taken.setdefault(found.start(2), Package(found[1], found[2], number))
    for found in (*_JOINED.finditer(words), *_GLUED.finditer(words)):
        taken.setdefault(found.start(2), Package(found[1], found[2], number))
    return [taken[start] for start in sorted(taken)]


def _moved(words: str, number: int, taken: dict[int, Package]) -> str:
    """The words without the version that a package was moved from; none of one that was moved back, or that a move helped."""
    without = _ROLLED.sub(" ", words)
    for found in _MOVED.finditer(words):
        newer = parts(found["new"]) > parts(found["old"])
        if found["name"].lower() not in _NO_NAMES and not _BACK.search(without if newer else words):
            taken[found.start("new")] = Package(found["name"], found["new"], number)
            start, end = found.span("old")
            words = f"{words[:start]}{' ' * (end - start)}{words[end:]}"
    return words


def _by_programs(words: str, number: int, taken: dict[int, Package]) -> None:
    """What programs, paths and images say of the packages that they are or hold."""
    if " info: version" in words or ".__version__" in words:
        for found in _INFO.finditer(words):
            taken.setdefault(found.start(2), Package(found[1], found[2], number))
    if ".egg" in words or ".dist-info" in words:
        for found in _FOLDER.finditer(words):
            taken.setdefault(found.start(2), Package(found[1], found[2], number))
    if "/" in words and _TAG.search(words):
        for image in _IMAGE.finditer(words):
            for part in re.finditer(r"[^-]+", image[1]):
                if tagged := _TAGGED.fullmatch(part[0]):
                    taken.setdefault(image.start(1) + part.start(), Package(tagged[1], tagged[2], number))


def _is_package(found: re.Match[str], words: str) -> bool:
    name, version = found[1], found[2]
    if name.lower() in _NO_NAMES or version in _NO_VERSIONS or _FOLLOWED.match(words, found.end()):
        return False
    if version.count(".") >= 2:
        return True
    if name.lower() in _ENGINES and (_SHORTENED.fullmatch(version) or words[found.start(2) - 1] in "vV"):
        return True
    # Two numbers may be anything: a fraction is none, and behind a name with _ it is a setting's value.
    return (
        "_" not in name
        and "." not in name
        and not version.startswith("0.")
        and not _COLON.search(found[0][len(name) :])
    )
