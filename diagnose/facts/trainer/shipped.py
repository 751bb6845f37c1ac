"""The files of settings that a project ships, where the paste names one: whether it is used as it is, and the model that it trains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from diagnose.conditions import in_range
from diagnose.facts.heard import Heard
from diagnose.facts.models.model import Read, read_model
from diagnose.facts.models.model_names import SIZE_IN_NAME, Name, find_model, params_of
from diagnose.facts.sentences.lowered import lower
from diagnose.facts.settings.complete import instead_of
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Default, Framework
from diagnose.types import Fact, Line, Paste

# Hydra's folder and name of a configuration: --config_path a --config_name b is a/b
_CONFIG_NAME = re.compile(r"['\"]?[\s\\]+--config[_-]name[\s=]+['\"]?", re.A)
# how a failure is told or printed: a file that is named behind it may be one that works
_FAILURE = re.compile(r"out ?of ?memory|no available memory|\boom|traceback|killed|显存", re.I | re.A)


def of_shipped(framework: Framework, paste: Paste) -> tuple[Default, ...]:
    """What the file says that the run used: of several the last one before the failure; nothing where one is pasted whole in its place."""
    text = _CONFIG_NAME.sub("/", paste.text)
    stems = [script for script in _scripts(framework) if script in text]
    places = {script: found for script in stems if (found := [one.start() for one in _whole(script).finditer(text)])}
    if not places:
        return ()
    end = max((found.start() for found in _FAILURE.finditer(text)), default=len(text))
    before = {script: max((at for at in found if at < end), default=-found[0]) for script, found in places.items()}
    used = max(before, key=lambda script: (before[script], len(script)))
    if instead_of(paste, used):
        return ()
    return tuple(one for one in framework.defaults if one.file and one.script == used)


def file_of(framework: Framework | None, paste: Paste) -> str:
    """The name of that file, "" for none."""
    return next((one.script for one in of_shipped(framework, paste)), "") if framework is not None else ""


@lru_cache(maxsize=64)
def _scripts(framework: Framework) -> frozenset[str]:
    """The names of all files that the framework's project ships."""
    return frozenset(one.script for one in framework.defaults if one.file)


@lru_cache(maxsize=1024)
def _whole(script: str) -> re.Pattern[str]:
    """A file's name, which may lack its ending, and not as a part of another's."""
    return re.compile(rf"(?<![\w.-]){re.escape(script)}(?![\w-]|\.(?!ya?ml\b|sh\b|toml\b)\w)", re.A)


def with_shipped(
    read: Read,
    paste: Paste,
    speech: Sequence[Line],
    framework: Framework | None,
    stated: Mapping[str, Fact],
    knowledge: Knowledge,
) -> Read:
    """The model that was read; where nobody names one, that of the named file, which people change: an assumption."""
    if framework is None:
        return read
    read = _told_beside(read, paste, speech, framework, stated, knowledge)
    if read.model is not None:
        return read
    told = stated.get("framework_version")
    version = str(told.value) if told is not None else None
    named = [
        one for one in of_shipped(framework, paste) if "model" in one.facts and in_range(one.since, one.until, version)
    ]
    return _of_file(read, named[-1], paste, knowledge) if named else read


def _told_beside(
    read: Read,
    paste: Paste,
    speech: Sequence[Line],
    framework: Framework,
    stated: Mapping[str, Fact],
    knowledge: Knowledge,
) -> Read:
    """What a person says of the model beside the file's name, where that tells another size than the name does: “my 32B run dies”."""
    files = _named(framework, paste) if of_shipped(framework, paste) else []
    told, size = read.facts.get("model"), read.facts.get("params_b")
    if not files or (told is not None and not any(_within(told, one, paste) for one in files)):
        return read
    settings = tuple(one for one in paste.settings if not any(file.script in one.value for file in files))
    own = read_model(replace(paste, commands=(), settings=settings), _beside(speech, files), stated, knowledge)
    other = own.facts.get("params_b")
    return own if other is not None and (size is None or float(other.value) != float(size.value)) else read


def of_machine(heard: Heard, framework: Framework | None) -> Iterator[Heard]:
    """What tells of the machine, surest first: the text without the names of such files, of which one may hold a card's
    (``qwen2-7b_grpo_2_h800_fsdp_vllm.sh``), the whole text, and the comments of a configuration file with it."""
    files = _named(framework, heard.paste) if framework is not None else []
    if files:
        paste = replace(heard.paste, lines=tuple(_beside(heard.paste.lines, files)))
        yield heard._replace(paste=paste, lowered=lower(paste), speech=_beside(heard.speech, files))
    yield heard
    if heard.remarks is not heard.speech:
        yield heard._replace(speech=heard.remarks)


def _beside(lines: Sequence[Line], files: Sequence[Default]) -> list[Line]:
    return [replace(line, words=_without(line, files)) for line in lines]


def _named(framework: Framework, paste: Paste) -> list[Default]:
    return [one for one in framework.defaults if one.file and one.script in paste.text]


def _without(line: Line, files: Sequence[Default]) -> str:
    """The line's words with blanks in the place of the files' names, so that all else stays where it stands."""
    words = line.words
    for file in files:
        for start, end in _places(words, file.script):
            words = f"{words[:start]}{' ' * (end - start)}{words[end:]}"
    return words


def without_names(stated: dict[str, Fact], framework: Framework | None, paste: Paste) -> dict[str, Fact]:
    """The facts without those that are words of a file's own name, where the file that the run used tells something else."""
    used = of_shipped(framework, paste) if framework is not None else ()
    if framework is None or not used:
        return stated
    files = _named(framework, paste)
    told = {
        id
        for one in used
        for id, value in one.facts.items()
        if id in stated and id != "model" and stated[id].value != value
    }
    named = {
        id
        for id in told
        if stated[id].origin == "read" and not stated[id].key and any(_within(stated[id], one, paste) for one in files)
    }
    return {id: fact for id, fact in stated.items() if id not in named}


def _of_file(read: Read, default: Default, paste: Paste, knowledge: Knowledge) -> Read:
    """The file's model, unless a name or a size that was read is a person's own and no part of the file's name."""
    name = str(default.facts["model"]).rsplit("/", 1)[-1]
    said, size = read.facts.get("model"), read.facts.get("params_b")
    if (said is not None or read.unknown) and not _within(said, default, paste) and read.unknown not in default.script:
        return read
    sized = SIZE_IN_NAME.search(name)
    alike = size is None or (sized is not None and float(size.value) == float(sized[1]))
    if said is not None and alike:
        return read  # the name tells family and size, and older releases may have had another model of both
    if not alike and not _within(size, default, paste):
        return read
    record = knowledge.models.get(slug := find_model(name, knowledge.catalogue))
    why = f"{default.script} as it is shipped"
    found = {"model": name, "params_b": params_of(Name(name, None, slug=slug), record)}
    facts = {id: Fact(id, value, "assumed", why=why) for id, value in found.items() if value is not None}
    return Read(facts, record, "" if record else name)


def _within(fact: Fact | None, default: Default, paste: Paste) -> bool:
    """Whether what was read is a part of the file's own name, or is that name."""
    line = paste.line(fact.span.line) if fact is not None and fact.span is not None else None
    if fact is None or fact.span is None or line is None:
        return False
    if default.script in fact.written and default.script in line.text[fact.span.start : fact.span.end]:
        return True
    return any(start <= fact.span.start and fact.span.end <= end for start, end in _places(line.text, default.script))


def _places(words: str, script: str) -> list[tuple[int, int]]:
    """Where the script stands in a line, with its folders."""
    return [found.span() for found in re.finditer(rf"[^\s=\"']*{re.escape(script)}", words, re.A)]
