"""A new word as the one in its place is spelled, and a new file beside the one that is named there."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from diagnose.facts.settings.written import bare
from diagnose.knowledge.records import Key

SWITCH = ("true", "false")
_NUMBER = re.compile(r"\d(?=\D*$)", re.A)  # the last of a name
_TYPE = re.compile(r"b?float\d{1,2}", re.A)
_REFERENCE = re.compile(r"\$\{([\w.]+)\}", re.A)


def beside(key: Key, present: str, new: str) -> str:
    """A word as its neighbour is spelled, a file of the framework's in the folder where the person keeps that one.

    A file of the person's own keeps its name but for its number: ``conf/ds_stage2.json`` becomes ``conf/ds_stage3.json``.
    """
    if present in ("True", "False") and new in SWITCH:
        return new.capitalize()
    if present.startswith("torch.") and _TYPE.fullmatch(new):
        return f"torch.{new}"
    if (told := _REFERENCE.fullmatch(present)) and told[1] in key.values:
        return new if new.startswith("${") else f"${{{new}}}"  # the name of another part of the file
    if key.new_in == "script":
        return renumbered(new, present) or new
    here, there = PurePosixPath(bare(present)), PurePosixPath(new)
    if "/" not in new:
        return new
    if here.name in {PurePosixPath(name).name for name in key.values}:
        return str(here.with_name(there.name))
    number = _NUMBER.search(there.stem)
    name = _NUMBER.sub(number[0], here.stem) if number else ""
    return str(here.with_name(name + here.suffix)) if name and there.stem.endswith(name) else new


def renumbered(word: str, present: str) -> str:
    """The file with the word for the one that is it but for its number: stage3 makes ``ds_stage3.json`` of ``ds_stage2.json``; or empty."""
    number, file = _NUMBER.search(word), PurePosixPath(bare(present))
    if number is None:
        return ""
    before, after = re.escape(word[: number.start()]), re.escape(word[number.end() :])
    name, found = re.subn(rf"{before}\d{after}", word, file.name, flags=re.A)
    return str(file.with_name(name)) if found else ""
