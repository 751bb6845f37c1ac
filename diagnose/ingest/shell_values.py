"""What a shell's variables hold, and the words in which they stand, as far as a pasted script tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape
from typing import TypeVar

from diagnose.ingest.arithmetic import arithmetic

# what a word is made of beside plain characters; what is left of a dollar or a quote nobody can tell
_PART = re.compile(
    r"'(?P<plain>[^']*)'|\\(?P<kept>.)|(?P<quote>\")|\$\(\((?P<sum>(?:[^()]|\([^()]{0,80}\)){1,200}+)\)\)"
    r"|\$\{(?P<name>[A-Za-z_]\w{0,80}|[\d#])(?:(?P<how>:?[-+=?]|,,|\^\^)(?P<word>(?:[^{}]|\{[^{}]{0,200}\}){0,400}+))?\}"
    r"|\$(?P<bare>[A-Za-z_]\w{0,80}|[\d#])|(?P<glob>[*?\[])|[$`']",
    re.A | re.S,
)
# what a scheduler, a cloud, a shell or a launcher sets before the script begins, also where the script has a default for it
_BY_OTHERS = re.compile(
    r"(?:SLURM|PBS|LSB|OMPI|PMI|KUBERNETES|SKYPILOT|BEAKER|AZUREML|SM|MLP|VC|PAI|ARNOLD|METIS|CONDA|XDG)_\w+|HOME|USER|PATH|PWD|HOST|HOSTNAME|SHELL|TERM|LD_LIBRARY_PATH|OPTARG|OPTIND|REPLY|RANDOM"
    r"|SECONDS|BASH\w*|LINENO|EUID|UID|OSTYPE|VIRTUAL_ENV|JOB_ID",
    re.A,
)
# and what often is, where it has none
_MAYBE_BY_OTHERS = re.compile(
    r"(?:CUDA|NCCL|HF|HUGGING_?FACE|WANDB|AWS|RAY|PET|TORCH|NVIDIA|GPU|GPUS|NUM_GPUS|NPROC)_?\w*|(?:MASTER|LOCAL|NODE|WORLD|GLOBAL|GROUP)_\w+"
    r"|RANK|NNODES|NODES|N_NODES|NUM_NODES|N_GPUS|N_GPUS_PER_NODE|\w*_?(?:TOKEN|API_KEY|RANK|WORLD_SIZE)|DEBUG|CI|TMPDIR|PYTHONPATH",
    re.A,
)
_INTEGER = re.compile(r"-?\d{1,15}", re.A)
_CLASS = re.compile(r"\[[\^\[]", re.A)  # ``[^a]`` and ``[[:digit:]]``, which fnmatch reads otherwise
# “import a library of other cards, and echo one name or else another”: what it comes to where nothing in the text is of those cards
_PROBE = re.compile(
    r"\$\(\s*python3?\s+-c\s+['\"]?import \w{1,40}['\"]?[^()|&]{0,40}&&\s*echo\s+[\"']?\w{1,20}[\"']?"
    r"\s*\|\|\s*echo\s+[\"']?(?P<other>\w{1,20})[\"']?\s*\)",
    re.A,
)

_T = TypeVar("_T")


class UntoldError(Exception):
    """What a test comes to cannot be told from the text."""


def told(value: Callable[[], _T]) -> _T | None:
    """What is asked for; None where nobody can tell."""
    try:
        return value()
    except UntoldError:
        return None


@dataclass(slots=True)
class Values:
    """What the script's variables hold as far as it has gone; None where it has set one to what nobody can tell.

    ``whole``: the script shows the settings above, so that a name which is not among them is not set, unless another file that it has
    ``sourced`` may set it. ``arguments`` are those of the one call that is ``shown``, None where nobody can tell them; ``shifted``: the
    script has changed which of them is the first. ``usual``: no word of the text is of cards that libraries of their own serve.
    ``asked`` collects the names that were looked up.
    """

    held: dict[str, str | None] = field(default_factory=dict)
    whole: bool = False
    sourced: bool = False
    shown: bool = False
    shifted: bool = False
    arguments: tuple[str, ...] | None = None
    usual: bool = True
    asked: set[str] = field(default_factory=set)

    def of(self, name: str, default: bool) -> str | None:
        """The value; None where it is not set. ``default``: the script says what counts then."""
        self.asked.add(name)
        if name in self.held:
            if (value := self.held[name]) is None:
                raise UntoldError(name)
            return value
        if name.isdecimal() or name == "#":
            return self._argument(name, default)
        told = self.whole and not self.sourced and not _MAYBE_BY_OTHERS.fullmatch(name)
        if _BY_OTHERS.fullmatch(name) or not (told or default):
            raise UntoldError(name)
        return None

    def _argument(self, name: str, default: bool) -> str | None:
        """What it was called with; without a call in the text its own default counts."""
        if self.arguments is None or self.shifted or name == "0":
            if default and not self.shown and not self.shifted:
                return None
            raise UntoldError(name)
        if name == "#":
            return str(len(self.arguments))
        return self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else None

    def expand(self, word: str, pattern: bool = False) -> str:
        """A word of the shell with its variables put in and its quotes taken off; in a ``pattern`` what is quoted stands for itself."""
        quoted = False

        def put(found: re.Match[str]) -> str:
            nonlocal quoted
            if found["quote"]:
                quoted = not quoted
                return ""
            if found["name"] or found["bare"]:
                return escape(self._put(found)) if pattern and quoted else self._put(found)
            if found["sum"]:
                return str(self.sum_of(found["sum"]))
            if found["glob"]:
                return escape(found[0]) if pattern and quoted else found[0]
            text = found["kept"] if found["plain"] is None else found["plain"]
            if text is None or (quoted and found["plain"] is not None):
                raise UntoldError(word)
            if quoted and text not in '$`"\\':
                text = found[0]
            return escape(text) if pattern else text

        if "import" in word and self.usual:
            word = _PROBE.sub(r"\g<other>", word)
        return _PART.sub(put, word)

    def fits(self, text: str, pattern: str) -> bool:
        """Whether a pattern fits a text, as in ``[[ $X == a* ]]`` and in an arm of a case."""
        if _CLASS.search(pattern):
            raise UntoldError(pattern)
        return fnmatchcase(text, self.expand(pattern, pattern=True))

    def sum_of(self, text: str) -> int:
        value = arithmetic(self.expand(text), self._number)
        if value is None:
            raise UntoldError(text)
        return value

    def _number(self, name: str) -> int:
        return whole(self.of(name, default=False) or "0")

    def _put(self, found: re.Match[str]) -> str:
        how, name = found["how"] or "", found["name"] or found["bare"]
        value = self.of(name, how[-1:] in ("-", "="))
        if how[-1:] in ("-", "="):
            missing = value is None or (how[0] == ":" and not value)
            value = self.expand(found["word"]) if missing else value or ""
            if how[-1:] == "=":
                self.held[name] = value
            return value
        if how[-1:] == "+":
            return self.expand(found["word"]) if value or (value is not None and how == "+") else ""
        if how[-1:] == "?" and not value:
            raise UntoldError(name)
        value = value or ""
        return value.lower() if how == ",," else value.upper() if how == "^^" else value


def whole(text: str) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise UntoldError(text)
    return int(text)
