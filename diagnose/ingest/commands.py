"""Launch commands with their continuation lines, and loose lists of flags or overrides that belong to none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.ingest.arguments import (
    ENDS,
    HOLDER,
    LAUNCHER,
    is_argument,
    is_assignment,
    opened,
    read_arguments,
)
from diagnose.ingest.lines import Row
from diagnose.ingest.shell import Token, Variables, tokens
from diagnose.ingest.starts import starts_command
from diagnose.types import Command, Setting

# A continuation, also one of another system's shell; blanks or a comment behind it are forgiven.
_MORE = re.compile(r"(?:\\{1,2}|(?<=[ ])[`^])[ \t]*(?:#.*)?$", re.A)
_ELLIPSIS = re.compile(r"[#\s]*(?:\.{3,}|…+|⋯)[^=]{0,80}$|[#\s]*[<(\[](?:\.{3,}|…+)[^=]{0,80}$", re.A)
_PROMPT = re.compile(
    r"(?:\([\w.-]{1,40}\) )?(?:\[?‹user›@‹host›[^$#%\n]{0,120}[$#%] ?|[$%+]{1,3} (?=\S)|>>> |![ ]?(?=[A-Za-z./~]))",
    re.A,
)
_DOTTED = re.compile(r"[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)+(?<!\.sh)(?<!\.py)$", re.A)
# A line that gives a variable a whole command or a list of arguments, which may go on with what the variable held before.
_HOLDS = re.compile(
    r"[A-Za-z_]\w*\+?=[\"'][ ]*(?:\$\{?\w+\}?[ ]+)?"
    r"(?=--[A-Za-z]|[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)+=|[a-z][\w./-]*[ ](?:[^\"']{0,200}[ ])?(?:--[A-Za-z]|[+~]{0,2}[a-z]\w*(?:\.\w+)+=))",
    re.A,
)
# … and that ends there: the next line is the program's that is handed the variable
_HOLDS_WHOLE = re.compile(r"""[ \t]*(?:export[ ]+)?[A-Za-z_]\w*=(["'])[^"']*\1[ \t]+\\$""", re.A)
_SHELL = re.compile(r"(?:\S{0,200}/)?(?:ba|z)?sh$", re.A)
_REST_OF_KEY = re.compile(r"[\w.]{1,80}=\S", re.A)
_BARE_FLAG = re.compile(r"--[A-Za-z][\w.-]*$", re.A)
_PLAIN_VALUE = re.compile(r"-?\d[\w.+-]*$|(?:[Tt]rue|[Ff]alse|[Nn]one)$|[\w.-]+/[\w./-]+$", re.A)
# a line that begins with a word and a colon is a log's, YAML's or a sentence's
_LABEL = re.compile(r"[ \t]*[A-Za-z][^\s=/\"'`$\\:]*:[^\s=/\"'`$\\]*(?:\s|$)", re.A)
# words that announce a command on their own line: “my command: torchrun …”, “命令：python …”
_ANNOUNCED = re.compile(r"(?<!usage)(?::[ \t]+[`\"']?|：[ \t]*`?)(?=[A-Za-z./$~])", re.I | re.A)
# a row of a list of processes, as ps, top, nvtop and a shell's history print it, which ends in a launcher and what it is given
_PROCESS = re.compile(
    r"\s*(?:[\w+.-]{1,32}\s+)?\d{2,8}\s[^\n]{0,160}?(?<=\s)(?=(?:\S{0,80}/)?(?:python\d?(?:\.\d+)?|torchrun|accelerate|deepspeed)\s)",
    re.A,
)
_SETTING = re.compile(r"[+~]{0,2}[A-Za-z_][\w.]{1,80}=[^\[{(\"'$\s]{1,400}$", re.A)
_LIST_MARK = re.compile(
    r"[，；、](?=[+~]{0,2}[A-Za-z_][\w.]{2,80}=(?!=))|[,;](?=[+~]{0,2}[A-Za-z]\w{0,40}[_.][\w.]{1,80}=(?!=))", re.A
)
_FEW = 3  # colons of a line behind which a command is looked for
_LINE_ENDS = frozenset({"\\", "\\ ", "\\\t", "\\\\", "^", "`"})  # what continues a line, also before a comment
_ENDS = ("```", "~~~", '"""', "'''", "Traceback (")


def read_commands(rows: Sequence[Row], variables: Variables) -> tuple[list[Command], list[Setting], set[int]]:
    """Commands, the settings of their flags and overrides, and the numbers of the lines that are used up.

    What a comment announces (“# for one card: GPUS=1 bash run.sh”) is the run's where the text has no other command.
    """
    found = _read(rows, variables, in_comments=False)
    if found[0] or not any(row.words.lstrip()[:1] == "#" for row in rows):
        return found
    return _read(rows, variables, in_comments=True)


def _read(
    rows: Sequence[Row], variables: Variables, *, in_comments: bool
) -> tuple[list[Command], list[Setting], set[int]]:
    commands: list[Command] = []
    settings: list[Setting] = []
    used: set[int] = set()
    at = 0
    while at < len(rows):
        first = [] if _LABEL.match(rows[at].words) else _first_tokens(rows[at])
        is_command = bool(first) and starts_command(first, _continues(rows[at]), rows[at + 1 : at + 2])
        told = in_comments or rows[at].words.lstrip()[:1] != "#"
        if told and not is_command and not _is_loose(first):
            announced = _announced(rows[at], rows[at + 1 : at + 2])
            first, is_command = announced or first, bool(announced)
        if not is_command and not _is_loose(first):
            at += 1
            continue
        chain, at_next, cut = _chain(rows, at, first)
        found_commands, found_settings = read_arguments(chain, variables, len(commands) if is_command else -1)
        last = rows[at_next - 1].line.number
        commands.extend(
            Command(words, rows[at].line.number, last, cut or open_end) for words, open_end in found_commands
        )
        settings.extend(found_settings)
        used.update(row.line.number for row in rows[at:at_next])
        at = at_next
    return commands, settings, used


def _is_loose(found: list[Token]) -> bool:
    """Whether a line outside of a command begins with a flag or an override, or only sets variables."""
    words = [token.text for token in found]
    return bool(words) and (is_argument(words[0]) and words[0][:3] != "---" or is_assignment(words))


def _first_tokens(row: Row) -> list[Token]:
    words = row.words
    stripped = words.lstrip(" \t`")
    if not stripped or stripped[0] == "#" or (stripped[0] > "~" and stripped[0] != "‹"):
        return []
    start = len(words) - len(stripped)
    if found := _PROMPT.match(stripped):
        start += found.end()
    elif stripped[0] in "-*" and stripped[1:2] == " ":
        start += 2
    return _tokens_from(row, start)


def _tokens_from(row: Row, start: int) -> list[Token]:
    words = row.words
    own = from_program(_parted(_held(tokens(row, start), row)))
    if words.rstrip()[-1] in "\\`^" or "\\ " in words or "\\\t" in words:
        own = _continued(own)
    return _without_tail(own)


def _announced(row: Row, after: Sequence[Row]) -> list[Token]:
    """The tokens of a command that stands behind words and a colon, or in a list of processes; none where none does."""
    if "--" not in row.words and "=" not in row.words:
        return []
    process = _PROCESS.match(row.words)
    ends = [process.end()] if process else [colon.end() for colon in _ANNOUNCED.finditer(row.words)]
    for end in ends[:_FEW]:
        found = _tokens_from(row, end)
        if found and starts_command(found, _continues(row), after):
            return found
    return []


def _parted(found: list[Token]) -> list[Token]:
    """A semicolon at the end of a word as a word of its own, and each of several settings that a list's marks join."""
    parts: list[Token] = []
    for token in [part for one in found for part in _listed(one)]:
        parts.append(token)
        if len(token.text) > 1 and token.text[-1] == ";" and token.text[-2] not in ";\\":
            parts[-1] = Token(token.text[:-1], token.row, token.start, token.end - 1)
            parts.append(Token(";", token.row, token.end - 1, token.end))
    return parts


def _listed(token: Token) -> list[Token]:
    """The settings of “a.b=1，c=2”, each a word of its own; any other word as it is."""
    cuts = [found.start() for found in _LIST_MARK.finditer(token.text)] if _SETTING.match(token.text) else []
    starts = [0, *(cut + 1 for cut in cuts)]
    return [
        Token(token.text[start:end], token.row, token.start + start, token.start + end)
        for start, end in zip(starts, [*cuts, len(token.text)], strict=True)
    ]


def from_program(found: list[Token]) -> list[Token]:
    """Without what only leads to the program: ``cd repo &&``, ``source env.sh;``."""
    start = at = 0
    while at < min(start + 8, len(found)):
        word = found[at].text
        if word in ENDS and at + 1 < len(found):
            start = at + 1
        elif "=" in word or word[0] in "-#" or LAUNCHER.match(word):
            break
        at += 1
    return found[start:]


def _held(found: list[Token], row: Row) -> list[Token]:
    """The words inside of ``ARGS="--a 1 --b 2"`` and of ``bash -c "python …"``; other tokens as they are."""
    if found and found[-1].text == "\\" and _HOLDS_WHOLE.match(row.words.rstrip()):
        found = found[:-1]
    if found and len(found) == 1 + (found[0].text == "export"):
        last = found[-1]
        if holder := HOLDER.match(last.text) or _HOLDS.match(last.text):
            return tokens(row, last.start + holder.end(), last.end - (last.text[-1] in "\"')"))
    for at, token in enumerate(found[1:], 1):
        if token.text[:8] in ('--wrap="', "--wrap='") and token.text[-1] == token.text[7] and len(token.text) > 9:
            return [*found[:at], *tokens(row, token.start + 8, token.end - 1), *found[at + 1 :]]
        inside = token.text[:1] in "\"'" and token.text[-1] == token.text[0] and len(token.text) > 2
        if inside and found[at - 1].text in ("-c", "-lc") and any(_SHELL.match(word.text) for word in found[:at]):
            return [*found[: at - 1], *tokens(row, token.start + 1, token.end - 1), *found[at + 1 :]]
    return [opened(found[0]), *found[1:]] if found else found


def _continued(found: list[Token]) -> list[Token]:
    """Without the backslashes that continued lines before they were put together into one."""
    kept: list[Token] = []
    for token in found:
        if token.text[:2] in ("\\ ", "\\\t") and len(token.text) > 2:
            token = Token(token.text[2:], token.row, token.start + 2, token.end)
        if token.text not in _LINE_ENDS or not kept:
            kept.append(token)
    return kept


def _without_tail(found: list[Token]) -> list[Token]:
    """The tokens up to a comment, without the backslash that continues the line."""
    for at, token in enumerate(found):
        if token.text[0] == "#" and (len(token.text) == 1 or at > 0):
            return found[:at]
    if found and found[-1].text.endswith("\\") and len(found[-1].text) > 1:
        last = found[-1]
        return [*found[:-1], Token(last.text[:-1], last.row, last.start, last.end - 1)]
    return found


def _continues(row: Row) -> bool:
    words = row.words.rstrip()
    whole = _HOLDS_WHOLE.match(words) and _HOLDS.match(words.lstrip())
    if whole or ("\\" not in words and words[-1:] not in ("`", "^")):
        return False
    if words[-1:] == "`" and not _MORE.search(words):
        words = words.rstrip("` ")  # a command in ticks
    return bool(_MORE.search(words))


def _chain(rows: Sequence[Row], at: int, first: list[Token]) -> tuple[list[Token], int, bool]:
    """All tokens of a command, the index of the row behind it, and whether the text breaks off inside it."""
    chain, cut, source = list(first), False, rows[at].source
    more = _continues(rows[at])
    at += 1
    while at < len(rows) and rows[at].source == source:
        row = rows[at]
        stripped = row.words.strip()
        if stripped and _ELLIPSIS.match(stripped):
            cut, more, at = True, True, at + 1
            continue
        if more and stripped[:1] == "#" and row.line.number == rows[at - 1].line.number + 1:
            at += 1
            continue
        found = _first_tokens(row)
        if not _belongs(row, chain, found, more, rows[at - 1]):
            break
        chain = _joined(chain, found)
        more = _continues(row)
        at += 1
    open_end = more and not _ELLIPSIS.match(rows[at - 1].words.strip())
    return chain, at, cut or open_end


def _belongs(row: Row, chain: list[Token], found: list[Token], more: bool, before: Row) -> bool:
    if not found or row.line.number != before.line.number + 1 or row.words.lstrip().startswith(_ENDS):
        return False
    if is_argument(found[0].text) or (not more and _is_cut_off(chain, found)):
        return True
    return more and found[0].text.replace("‹path›", "").isascii() and not _prose(found)


def _is_cut_off(chain: list[Token], found: list[Token]) -> bool:
    """Whether a narrow window broke the line: inside a key, or between a flag and its value."""
    last, first = chain[-1].text, found[0].text
    if _DOTTED.match(last):
        return _ends_in_key(chain, found)
    alone = len(found) == 1 or is_argument(found[1].text)
    return bool(_BARE_FLAG.match(last)) and alone and bool(_PLAIN_VALUE.match(first))


def _ends_in_key(chain: list[Token], found: list[Token]) -> bool:
    """Whether the chain ends in the start of a key and no module to run, and the rest of the key follows."""
    is_module = len(chain) > 1 and chain[-2].text == "-m"
    return not is_module and bool(_DOTTED.match(chain[-1].text) and _REST_OF_KEY.match(found[0].text))


def _joined(chain: list[Token], found: list[Token]) -> list[Token]:
    """Both, with a key put together that a narrow window broke; it stands where its value does."""
    last, first = chain[-1], found[0]
    if last.row is first.row or not _ends_in_key(chain, found) or _continues(last.row):
        return chain + found
    whole = Token(last.text + first.text, first.row, first.start - len(last.text), first.end)
    return [*chain[:-1], whole, *found[1:]]


def _prose(found: list[Token]) -> bool:
    """Whether a line behind a dangling backslash is a sentence: capital first, many words, no flag."""
    plain = [token.text for token in found]
    return len(plain) > 4 and plain[0][:1].isupper() and not any(is_argument(word) or "=" in word for word in plain)
