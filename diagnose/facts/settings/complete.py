"""Whether the paste holds the whole of what the run was started with, so that what nothing sets has the framework's default."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.types import Paste, Setting

# words with which people say that what they paste is a part
_PART = re.compile(
    r"\bonly the (?:ones|flags|keys|overrides|options|relevant|interesting)|\bcut to\b|\bexcerpt|\boverrides, only"
    r"|\brest (?:is |was )?(?:unchanged|the same|left out|did not fit|like |as |default)"
    r"|\b(?:relevant|interesting|important) (?:parts?|flags|options|keys|lines|settings|overrides)"
    r"|其[余他它](?:参数|的|配置)?(?:都|均)?(?:没有?|未|不)(?:动|改|变)|其[余他它](?:参数|配置)?(?:都是)?默认"
    r"|节选|部分(?:参数|配置|脚本)|相关(?:参数|配置)|主要参数",
    re.I | re.A,
)
# in lower case; any of them holds one of these
_PART_WORDS = (
    "only the", "cut to", "excerpt", "overrides, only", "rest ", "relevant", "interesting", "important", "其", "节选", "部分",
    "相关", "主要",
)  # fmt: skip
_MODEL = re.compile(
    r"(?:model|pretrain|checkpoint|ckpt)(?:[._](?:name|path|id|or|base)\w*)?$|^(?:sft|base)_model|model_path|model_name",
    re.I | re.A,
)
# a flag that cannot stand without a value: at the end of a paste the value was lost
_WANTS_VALUE = re.compile(
    r"(?:data|dataset|path|dir|file|url|name|key|len|length|size|steps|epochs|lr|rate|coef)$", re.I | re.A
)
LEFT_OUT = re.compile(r"^\s*#?\s*(?:\.{3,}|…+)\s*$", re.A)
_SCRIPT = (
    re.compile(r"\b\w+Trainer\(", re.A),
    re.compile(r"\.train\(", re.A),
    re.compile(r"from_pretrained\(|\bmodel\s*=\s*['\"]", re.A),
)
# this many keys make a configuration and no quotation of one
_KEYS = 10


def complete(paste: Paste) -> bool:
    """Whether a command, a configuration file or a script is there to its end, names a model, and nobody says that it is a part."""
    if says_part(paste):
        return False
    return _command(paste) if paste.commands else _file(paste) or _script(paste)


def instead_of(paste: Paste, script: str) -> bool:
    """Whether a whole configuration or command stands in the paste that may be what the named script holds now."""
    if says_part(paste):
        return False
    naming = {i for i in range(len(paste.commands)) if script in _words_of(paste, i)}
    own = [
        one for one in paste.settings if one.command not in naming and one.shape != "dump"
    ]  # an engine prints many of its own
    if _file(paste) or (len(own) >= _KEYS and _names_model(own)):
        return True
    return bool(paste.commands) and _command(paste) and _largest(paste) not in naming


def _words_of(paste: Paste, command: int) -> str:
    one = paste.commands[command]
    return "\n".join(line.text for line in paste.lines if one.first_line <= line.number <= one.last_line)


def _largest(paste: Paste) -> int:
    """The index of the command with the most settings."""
    sizes = [sum(setting.command == i for setting in paste.settings) for i in range(len(paste.commands))]
    return sizes.index(max(sizes))


def says_part(paste: Paste) -> bool:
    """Whether somebody says that what is pasted is a part."""
    whole = "\n".join([line.words for line in paste.lines]).lower()
    return any(word in whole for word in _PART_WORDS) and any(_PART.search(line.words) for line in paste.lines)


def _command(paste: Paste) -> bool:
    """The largest command, not cut."""
    largest = _largest(paste)
    command = paste.commands[largest]
    settings = [setting for setting in paste.settings if setting.command == largest]
    if any(word.endswith(".sh") for word in command.words):
        return False  # what else it sets stands in that file
    if not settings or not _names_model(settings):
        return False
    if settings[-1].bare and _WANTS_VALUE.search(settings[-1].key):
        return False
    # "$@" at the end hands on what a wrapper was called with: the person's own text is whole
    last = paste.line(command.last_line)
    return not command.cut or (last is not None and bool(re.search(r"""\$@["']?\s*$""", last.words)))


def _file(paste: Paste) -> bool:
    """A YAML configuration with a model and without a line of dots."""
    settings = [setting for setting in paste.settings if setting.shape == "yaml"]
    whole = len(settings) >= _KEYS and _names_model(settings)
    return whole and not any(LEFT_OUT.match(line.words) for line in paste.lines)


def _script(paste: Paste) -> bool:
    """A Python script that loads a model, makes a trainer and starts it."""
    lines = [line.words for line in paste.lines]
    whole = all(any(form.search(words) for words in lines) for form in _SCRIPT)
    return whole and not any(LEFT_OUT.match(words) for words in lines)


def _names_model(settings: Sequence[Setting]) -> bool:
    return any(_MODEL.search(setting.key.replace("-", "_")) for setting in settings)
