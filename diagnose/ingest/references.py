"""Values that name another key of a configuration, as OmegaConf takes them: ``${policy.max_total_sequence_length}``.

By a path from the root or, behind dots, from the key's own section (one dot) or further up (two and more), and by the small sums
that configurations use; held against what OmegaConf 2.4.0 makes of 659 shipped files. What is not in the text, or stands there with two
values, stays as it is written.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import prod

from diagnose.types import Setting

_REFERENCE = re.compile(r"\$\{([^${}]{1,300})\}", re.A)
_PATH = re.compile(r"(\.*)([A-Za-z_][\w\-]*(?:\.[\w\-]+)*)", re.A)
_CALL = re.compile(r"([a-z_]+(?:\.[a-z]+)?)[ ]?:(.*)", re.A | re.S)
_DEPTH = 8  # of references within references
_MOST = 500  # characters of a value: those that double with each reference end here

_Number = int | float
# as trainers register them: NVIDIA-NeMo/RL@7ea279abf nemo_rl/utils/config.py, RLinf/RLinf@a3816b596 rlinf/utils/omega_resolver.py
_SUMS: Mapping[str, Callable[[list[_Number]], _Number]] = {
    "add": sum,
    "mul": prod,
    "multiply": prod,
    "max": max,
    "subtract": lambda given: operator.sub(*given),
    "div": lambda given: operator.truediv(*given),
    "int_div": lambda given: operator.floordiv(*given),
}


def resolved(settings: Iterable[Setting]) -> list[Setting]:
    """The settings, with what a reference of a file or an override stands for where the text tells it."""
    settings = list(settings)
    if not any("${" in one.value for one in settings):
        return settings
    config = _Config(settings)
    return [replace(one, value=config.value(one)) if "${" in one.value and _refers(one) else one for one in settings]


def _refers(setting: Setting) -> bool:
    """Whether OmegaConf reads it: in a shell's word a name without a dot is a variable."""
    return setting.shape == "yaml" or (setting.shape == "override" and "." in setting.value)


class _Config:
    """Key → its one value in the text: a command's where one sets it, else a file's; None where there are several."""

    def __init__(self, settings: list[Setting]) -> None:
        self.values: dict[str, str | None] = {}
        for of_commands in (False, True):
            told: dict[str, str | None] = {}
            for one in settings:
                if (one.command >= 0) is of_commands and one.shape in ("yaml", "override"):
                    told[one.key] = one.value if told.get(one.key, one.value) == one.value else None
            self.values |= told
        self.sections = {key.rpartition(".")[0] for key in self.values}
        self.known: dict[str, str | None] = {}

    def value(self, setting: Setting) -> str:
        """The setting's value with each reference replaced that the text can tell; else as it stands."""
        text = self._filled(setting.value, setting.key, _DEPTH)
        return setting.value if text is None else text

    def _filled(self, text: str, key: str, depth: int) -> str | None:
        while found := _REFERENCE.search(text):
            told = self._told(found[1].strip(), key, depth) if depth else None
            if told is None or len(text) > _MOST:
                return None
            text = text[: found.start()] + told + text[found.end() :]
        return text

    def _told(self, words: str, key: str, depth: int) -> str | None:
        if path := _PATH.fullmatch(words):
            return self._at(_absolute(path[1], path[2], key), depth)
        call = _CALL.fullmatch(words)
        if call is None:
            return None
        given = [part.strip() for part in call[2].split(",")]
        if call[1] == "oc.select":
            return self._selected(given, depth)
        return given[0] if call[1] == "oc.decode" else _sum(call[1], given)

    def _at(self, path: str, depth: int) -> str | None:
        value = self.values.get(path)
        if value is None or "${" not in value:
            return value
        if path not in self.known:
            self.known[path] = None  # for who refers to itself
            self.known[path] = self._filled(value, path, depth - 1)
        return self.known[path]

    def _selected(self, given: list[str], depth: int) -> str | None:
        """A key's value, else what stands in for it: only where the key's own section is there and lacks it."""
        path = given[0]
        if path in self.values:
            return self._at(path, depth)
        return given[1] if len(given) == 2 and path.rpartition(".")[0] in self.sections else None


def _absolute(dots: str, path: str, key: str) -> str:
    """The path from the root of what ``key`` names by ``path`` behind ``dots``."""
    if not dots:
        return path
    return ".".join([*key.split(".")[: -len(dots)], path])


def _sum(name: str, given: list[str]) -> str | None:
    if name == "not" and given in (["true"], ["false"], ["True"], ["False"]):
        return "false" if given[0].lower() == "true" else "true"
    try:
        result = _SUMS[name]([float(part) if "." in part else int(part) for part in given])
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return None
    return str(int(result) if result == int(result) else result)
