"""Variables that a whole shell script sets and nothing in it takes: ``use_dynamic_bsz=True`` on a line of its own sets nothing there.

Of a script whose command takes others of its variables and stands there to its end. What somebody notes down beside a command, or a
part of a script, tells settings all the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from diagnose.ingest.lines import Row
from diagnose.types import Command, Setting

_SETS = re.compile(r"\s*(?P<name>[A-Za-z_]\w{0,80})=(?!=)(?:\S|$)", re.A)
# what stands between the variables of a script and the command that it starts
_OF_SHELL = re.compile(
    r"\s*(?:$|#|(?:set|export|unset|readonly|declare|local|cd|pushd|popd|source|echo|mkdir|rm|ulimit|sleep|wait|ray|pip3?|conda"
    r"|if|then|else|elif|fi|for|while|do|done|case|esac|shift|trap|module|which|nvidia-smi|python3?|bash|sh)(?=[\s;]|$)|[)\]}]|\. )",
    re.A,
)
_TAKEN = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w{0,80})", re.A)
# what a wrapper was called with, at the end of its command: the script itself is whole
_HANDED_ON = re.compile(r"\$(?:[@*]|\{[@*][^{}]{0,40}\})[\"']?\s*$", re.A)
_LEFT_OUT = re.compile(r"^\s*#?\s*(?:\.{3,}|…+)", re.A)


def without_unused(settings: Sequence[Setting], commands: Sequence[Command], rows: Sequence[Row]) -> list[Setting]:
    """The settings without such variables."""
    alone = {one.span.line: one.key for one in settings if _of_shell(one)}
    lines = {row.line.number: row.words for row in rows}
    alone = {
        line: key for line, key in alone.items() if (found := _SETS.match(lines.get(line, ""))) and found["name"] == key
    }
    if not alone or not commands:
        return list(settings)
    inside = {line for one in commands for line in range(one.first_line, one.last_line + 1)}
    block = {line for command in commands for line in _script(command, inside, lines) if line in alone}
    unused = {alone[line] for line in block} - _taken({alone[line] for line in block}, lines.values())
    return [one for one in settings if not (one.span.line in block and one.key in unused)]


def _of_shell(setting: Setting) -> bool:
    """Whether it may be a variable of the shell: upper-case ones are the environment's, which programs read themselves."""
    return (
        setting.command < 0
        and setting.shape in ("override", "env")
        and "." not in setting.key
        and not setting.key.isupper()
    )


def _script(command: Command, inside: Collection[int], lines: dict[int, str]) -> Iterator[int]:
    """The lines of the script above a command, from below; none unless that is whole and takes a variable that they set."""
    own = [lines[number] for number in range(command.first_line, command.last_line + 1) if number in lines]
    if any(_LEFT_OUT.match(words) for words in own) or (command.cut and not (own and _HANDED_ON.search(own[-1]))):
        return
    above, number = list[int](), command.first_line - 1
    while number in lines and (number in inside or _SETS.match(lines[number]) or _OF_SHELL.match(lines[number])):
        above.append(number)
        number -= 1
    given = {found["name"] for line in above if (found := _SETS.match(lines[line]))}
    if given & {found["name"] for words in own for found in _TAKEN.finditer(words)}:
        yield from above


def _taken(names: Collection[str], lines: Collection[str]) -> set[str]:
    """Which of the names stand anywhere but where they are set, and in no comment."""
    words = re.compile(rf"(?<![\w.\-])(?:{'|'.join(map(re.escape, names))})(?![\w.\-]|\+?=)", re.A) if names else None
    code = (one.partition(" #")[0] for one in lines if one.lstrip()[:1] != "#")
    return {found[0] for one in code for found in words.finditer(one)} if words else set()
