"""Keys with values anywhere in a line: assignments, arguments of a call, dataclass fields, dumps, and mentions in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from diagnose.ingest.bars import without_figures
from diagnose.ingest.flags import flags
from diagnose.ingest.helped import helped
from diagnose.ingest.lines import Row
from diagnose.ingest.made import made
from diagnose.ingest.pieces import pieces
from diagnose.ingest.python import Names, Place, switched
from diagnose.ingest.shell import Variables, unquote
from diagnose.ingest.toml_tables import tables
from diagnose.ingest.values import plain
from diagnose.types import Setting

_KEY = r"[A-Za-z_][\w-]{0,80}(?:\.[A-Za-z_][\w-]{0,80}){0,8}"
_TYPE = (
    r"(?:Optional\[[\w\[\], |.]{1,60}\]|Union\[[^\]]{1,60}\]|Literal\[[^\]]{1,200}\]"
    r"|(?:int|float|bool|str|list|dict|tuple|[A-Z]\w{0,30})(?:\[[\w, .]{1,60}\])?(?:[ ]\|[ ]None)?)"
)
_VALUE = (  # ``E=(a.b=1)`` is a shell's array: what stands in it is read
    r"(?P<value>\"[^\"\n]{0,1000}\"|'[^'\n]{0,1000}'|\[[^\[\]\n]{0,1000}\]|\((?![^()\n]{0,200}[\w.]=(?!=))[^()\n]{0,200}\)|\$\(\([^\n]{1,120}?\)\)|\$\([^()\n]{1,120}\)"
    r"|<[A-Za-z_][\w.]{0,120}:[ ]?(?:'[^'\n]{0,80}'|-?\d{1,12})>"
    r"|\$\{[^{}\n]{1,120}\}[^\s,;)`'\"\]}]{0,400}|\d{1,3}(?:,\d{1,3}){1,63}(?![\w.,=])|[^\s,;)(`'\"\]}{，。；、）：「」（]{1,400})"
)
_ASSIGNED = re.compile(
    rf"(?<![\w.\-/$@%‹›{{])(?P<plus>[+~]{{0,2}})(?P<key>{_KEY})(?P<tick>`?)(?P<typed>:[ ]?{_TYPE})?(?P<blank>[ \t]{{0,20}})"
    rf"=(?![=>~])[ \t]{{0,20}}`?{_VALUE}",
    re.A,
)
_ENVIRON = re.compile(
    r"environ(?:\[|\.setdefault\()[\"'](?P<key>\w{1,80})[\"'](?:\]\s{0,4}=|,)\s{0,4}[\"'](?P<value>[^\"'\n]{1,200})[\"']",
    re.A,
)
_DUMP = re.compile(
    r"[ \t│|]*(?P<key>[A-Za-z_][\w.]{1,80}) (?:\.{3,80}|-{4,80}|={4,80})[ ]?(?P<value>\S.{0,400})$", re.A
)
_WIDE = re.compile(r"[ \t]{0,8}(?P<key>[a-z]\w*_\w{1,80})(?:[ ]{2,}|\t)(?P<value>[\w.+-]{1,80})$", re.A)
_CELLS = re.compile(
    r"[ \t]*\|[ \t]*[`*]{0,2}(?P<key>[a-z]\w*[_.][\w.]{1,80})[`*]{0,2}[ \t]*\|[ \t]*`?(?P<value>[\w.+/-]{1,80})`?[ \t]*\|[ \t]*$",
    re.A,
)
_DECLARED = re.compile(
    r"add_argument\([ \t]*(?:[\"']-\w[\"'],[ \t]*)?[\"']--(?P<key>[A-Za-z][\w.-]{0,80})[\"'][^\n]{0,300}?\bdefault[ \t]?=[ \t]?"
    r"(?P<value>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[\w.+-]{1,80})",
    re.A,
)
_NUMBER = r"-?\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?[kK]?|[Tt]rue|[Ff]alse|[Nn]one|null"
_LINK = r"[:：]|\(|（|[ \t]|(?:is set to|set to|is|was|at|of)[ \t]|[\u4e00-\u9fff]{0,6}[是为成]了?|设了?|给|用了?|开"
# from one value to another: what the run has now is the second
_VERB = r"(?:lowered|reduced|decreased|dropped|cut|changed|raised|increased|set|put|brought)[ \t]"
_MOVED = (
    rf"(?:(?:is|was)[ \t])?(?:{_VERB})?(?:from[ \t](?:{_NUMBER})[ \t])?(?:down[ \t]|up[ \t])?to[ \t]"
    rf"|(?:从[ \t]?(?:{_NUMBER})[ \t]?)?[\u4e00-\u9fff]{{0,6}}[到至成]了?"
)
_ARROW = r"[ \t]{0,2}(?:-{1,2}>|=>|→|⇒)[ \t]{0,2}"
_SAID = re.compile(
    rf"(?<![\w.:\-/$%])(?P<key>[A-Za-z][A-Za-z0-9]*(?:[_.][A-Za-z0-9]+){{1,12}})[`\"'”]{{0,3}}[ \t]{{0,2}}"
    rf"(?:{_LINK}|(?P<moved>{_MOVED}))[ \t]{{0,2}}[`\"']{{0,3}}(?P<value>{_NUMBER})(?![\w]|\.\d|%)"
    rf"(?:{_ARROW}(?P<then>{_NUMBER})(?![\w]|\.\d|%))?",
    re.A,
)
# “x=0.9 → 0.6 → 0.4”: the run has the last
_CHAIN = re.compile(rf"(?:{_ARROW}(?:{_NUMBER})(?![\w]|\.\d|%))*{_ARROW}(?P<then>{_NUMBER})(?![\w]|\.\d|%)", re.A)
_DID = re.compile(
    r"\b(?:set|lowered|reduced|decreased|dropped|cut|changed|raised|increased|turned|brought|put)\b[^.;\n]{0,40}$",
    re.I | re.A,
)
_ADVISED = re.compile(
    r"\b(?:try|tried|should|could|would|can|may|might|must|recommend\w*|suggest\w*|consider|need|needs|want|plan|how|please|if|be)\b[^.;\n]{0,60}$"
    r"|(?:建议|可以|应该|试|如果|需要|能不能|要不要|最好|请)[^，。；;\n]{0,30}$",
    re.I | re.A,
)
_TRIED = re.compile(r"\btried\b|试", re.I | re.A)
_STILL = re.compile(
    r"\bstill\b|\bsame (?:error|oom|result)|\bno (?:luck|help|effect|use)\b|还是|仍然?|依然|照样|也不行|没用",
    re.I | re.A,
)
_ALONE = re.compile(
    r"[（(`](?P<key>[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){1,12})[ \t](?P<value>[A-Za-z][\w-]{1,40})[)）`]", re.A
)
_SOURCE = re.compile(
    r"\s*(?:def |class |import |from \S+ import|return\b|assert |raise |print\(|(?:if|for|while|with|elif) [^\n]{1,400}:\s*$)",
    re.A,
)
_COMMENT = re.compile(r"(?:^|[ \t])#[ \t]", re.A)
_SPECIFIC = re.compile(r"_|\..*\.", re.A)
_FILE = re.compile(r"\.(?:py|cc|cpp|cu|cuh|h|sh|json|jsonl|ya?ml|txt|log|md)$", re.A)
# A program's hint about a setting that nobody made: "try setting X=Y to avoid fragmentation", cut at either end by a narrow pane;
# "To run the model in eager mode, set 'enforce_eager=True'".
_HINT_BEFORE = re.compile(
    r"(?:\b(?:try|consider|recommend|suggest)(?:ed)?[ ]{1,3}(?:to[ ])?(?:set|setting|use|using|add|adding)"
    r"|(?:^|[.:\]][ ]{1,3})to[ ][a-z][^.,;\n]{3,60},[ ](?:please[ ])?(?:set|use|pass|add))[ ]{1,3}[`'\"]?$",
    re.I | re.A,
)
_HINT_AFTER = re.compile(r"[`'\"]?[ ]{1,3}to[ ]{1,3}avoid[ ]{1,3}fragmentation\b", re.I | re.A)
_MADE_OF = re.compile(r"\([ \t]*(?P<value>\"[\w./-]{1,200}\"|'[\w./-]{1,200}')[ \t]*[,)]", re.A)
_EITHER = re.compile(r"\s+if\s[^\n]{1,200}?\selse\s", re.A)
_NOT_PLAIN = re.compile(r"^\.+$|0x[0-9a-f]+$|<|(?:\.\.\.|…)$|\d+\.\d+\.\d", re.A)


def read_pairs(rows: Sequence[Row], variables: Variables, names: Names) -> list[Setting]:
    """The settings of lines that no other shape has used up."""
    settings: list[Setting] = []
    before, table = "", tables(rows)
    for at, row in enumerate(rows):
        words = without_figures(row.words)
        above, before = before, words
        if words.lstrip()[:1] == "#" or _SOURCE.match(words):
            continue
        if "#" in words and (comment := _COMMENT.search(words)):
            words = words[: comment.start()]
        found = _of_row(Place(rows, at, names), words, variables, above)
        if found and (name := table.get(row.line.number)):
            found = [replace(setting, key=f"{name}.{setting.key}") for setting in found]
        settings.extend(found)
    return settings


def _of_row(place: Place, words: str, variables: Variables, above: str) -> list[Setting]:
    """``above`` is the line before, which may end with the words of a program that suggests what stands first here."""
    row = place.row
    taken: dict[tuple[str, int], Setting] = {}
    occupied: set[int] = set()  # columns that are a value already
    for key, value, shape, start, end in (*switched(place), *made(place), *_found(words, place)):
        if not taken and words.lstrip().startswith(key) and _HINT_BEFORE.search(above.rstrip() + " "):
            continue
        value, left, right = unquote(value)
        value = plain(value)
        if not value.strip() or _NOT_PLAIN.search(value):
            continue
        span = row.span(start + left, end - right)
        if occupied.isdisjoint(columns := range(span.start, span.end)):
            occupied.update(columns)
            shape = _shell_shape(shape, key, variables)
            resolved = variables.resolve(value, row.line.number, within=key if shape == "env" else "")
            taken[key, span.start] = Setting(key, resolved, shape, span, bare=start == end)
    return sorted(taken.values(), key=lambda setting: setting.span.start)


def _shell_shape(shape: str, key: str, variables: Variables) -> str:
    """An assignment without blanks is the shell's when the text uses the name as a variable."""
    return "env" if shape == "override" and (key.isupper() or key in variables.used) else shape


def _found(words: str, place: Place) -> Iterable[tuple[str, str, str, int, int]]:
    """Key, value as written, shape and the value's columns, the surest shapes first."""
    if found := _DUMP.match(words):
        value = found["value"].rstrip()
        yield found["key"], value, "dump", found.start("value"), found.start("value") + len(value)
        return
    if "add_argument(" in words:
        yield from _named(words, (_DECLARED,), "python")
        return
    if "environ" in words:
        yield from _named(words, (_ENVIRON,), "env")
    if "--" in words:
        yield from pieces(place, words)
        yield from flags(words)
    if "=" in words:
        yield from _assigned(words, place)
    if "_" in words or "." in words:
        yield from _said(words)


def _assigned(words: str, place: Place) -> Iterable[tuple[str, str, str, int, int]]:
    for found in _ASSIGNED.finditer(words):
        whole = place.expression(found)
        if whole is not None and not _is_hint(words, found.start(), found.end()):
            value, told = place.told(found, whole)
            if value:
                end = whole.end if whole.rows == 1 else len(place.row.words.rstrip())
                yield found["key"], value, "python", found.start("value"), end
            if told:
                continue
        if found["value"][0].isalpha() and words[found.end() : found.end() + 1] == "(":
            # a call: its arguments are read, its name is no value; a variable made of a quoted name stands for that name
            made = _MADE_OF.match(words, found.end())
            if made and not words[: found.start()].strip():
                yield found["key"], made["value"], "python", made.start("value"), made.end("value")
            continue
        if _EITHER.match(words, found.end()):
            continue  # one of two values, and nothing says which
        if not _is_hint(words, found.start(), found.end()):
            start, (value, end) = found.start("value"), _trimmed(found["value"], found.end("value"))
            if (moved := _CHAIN.match(words, end)) and value[0].isdigit() and not helped(words, moved.end()):
                value, (start, end) = moved["then"], moved.span("then")
            yield found["key"], value, _assignment_shape(found), start, end


def _is_hint(words: str, start: int, end: int) -> bool:
    """Whether a program suggests this setting; a line that begins with it may have lost the words before it, or some of their letters."""
    if _HINT_BEFORE.search(words, 0, start):
        return True
    return "try setting".endswith(words[:start].strip()) and bool(_HINT_AFTER.match(words, end))


def _named(words: str, patterns: Iterable[re.Pattern[str]], shape: str) -> Iterable[tuple[str, str, str, int, int]]:
    for pattern in patterns:
        for found in pattern.finditer(words):
            yield found["key"], found["value"], shape, found.start("value"), found.end("value")


def _said(words: str) -> Iterable[tuple[str, str, str, int, int]]:
    if found := _WIDE.match(words) or _CELLS.match(words):
        yield found["key"], found["value"], "dump", found.start("value"), found.end("value")
    for pattern in (_SAID, _ALONE) if "(" in words or "（" in words or "`" in words else (_SAID,):
        for found in pattern.finditer(words):
            moved = "moved" in pattern.groupindex and found["moved"]
            if moved and not _was_moved(words, found):
                continue
            if _SPECIFIC.search(found["key"]) and not _FILE.search(found["key"]):
                value = "then" if "then" in pattern.groupindex and found["then"] and _took(words, found) else "value"
                yield found["key"], found[value].rstrip(","), "dump", found.start(value), found.end(value)


def _took(words: str, found: re.Match[str]) -> bool:
    """Whether of “0.8 -> 0.5” the run that failed has the second: not where that is advised, or has helped."""
    before = words[max(0, found.start() - 80) : found.start()]
    advised = _ADVISED.search(before) and not (_TRIED.search(before) and _fails_still(words, found))
    return not advised and not helped(words, found.end())


def _was_moved(words: str, found: re.Match[str]) -> bool:
    """Whether the person has given the key this value, which a sentence that advises it or tells that it helped does not say."""
    before = words[max(0, found.start() - 80) : found.start()]
    did = _DID.search(f"{before} {found['moved']}") or not found["moved"].isascii() or _fails_still(words, found)
    return bool(did) and _took(words, found)


def _fails_still(words: str, found: re.Match[str]) -> bool:
    """Whether the line goes on to say that the run failed all the same."""
    return bool(_STILL.search(words, found.end(), found.end() + 300))


def _assignment_shape(found: re.Match[str]) -> str:
    if found["plus"] or "." in found["key"]:
        return "override"
    if found["typed"] or found["blank"] or found["tick"]:
        return "python"
    before = found.string[: found.start()].rstrip()
    after = found.string[found.end() : found.end() + 1]
    return "python" if before.endswith(("(", ",")) or after in (",", ")") else "override"


def _trimmed(value: str, end: int) -> tuple[str, int]:
    kept = value.rstrip(".:!?\\") if value[0] not in "\"'[(" else value
    return kept, end - (len(value) - len(kept))
