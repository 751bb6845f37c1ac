"""What a person answers: checked by the vocabulary's type; a refusal says the cure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from diagnose.facts.settings import written
from diagnose.facts.settings.answered_version import VERSIONS, version_in
from diagnose.knowledge import Knowledge
from diagnose.types import Fact
from diagnose.units import KIB
from diagnose.vocabulary import FACTS, FactSpec, Value

_SIZE = re.compile(r"([\d.,]+)\s*(?:(t)i?b?|(g)i?b?)?", re.I | re.A)
# the highest of each, from 0
_LEVELS = {"zero_stage": 3, "teacher_zero_stage": 3, "ref_zero_stage": 3, "reward_zero_stage": 3, "sleep_level": 2}
# algorithms as people write them out, by letters and digits alone
_ALGOS = {
    "rewardmodeling": "rm", "rewardmodelling": "rm", "rewardmodel": "rm", "reward": "rm",
    "supervisedfinetuning": "sft", "instructiontuning": "sft", "finetuning": "sft", "pt": "pretrain", "pretraining": "pretrain",
    "continuedpretraining": "pretrain", "drgrpo": "dr_grpo", "reinforceplusplus": "reinforce++", "onlinedpo": "online_dpo",
}  # fmt: skip
_COUNTED = ("machine", "sizes")  # whole numbers of these groups count what a run has or takes: none is no answer
# of images that there are none, of a card that nobody else is on it
_MAY_BE_NONE = ("max_pixels", "others_gib", "swap_space_gib")
_SIZES = {"gpu_mem_gib": "80 GB", "host_ram_gb": "760 GB", "swap_space_gib": "4 GB", "others_gib": "12 GB"}


def parse_answer(id: str, text: str) -> Value:
    """The value of an answer in the fact's own unit; raises ``ValueError`` with the cure.

    Sizes may carry GB, GiB, TB or TiB; people mean the same by GB and GiB when they speak of a card or of RAM.
    """
    spec, words = FACTS[id], text.strip()
    if id in _SIZES:
        return _size(id, words)
    if spec.type == "text":
        if not words:
            raise ValueError("An empty answer says nothing. Write a word, or leave the question open.")
        return version_in(id, words) if id in VERSIONS else words
    if words.lower() == "none" and "false" in dict(spec.options):
        return False  # of a choice that holds a no, which a key of the same name may leave unset instead
    # “none” is an answer where the options hold it, and not the empty value that it is of a key
    value = written.choice(spec, words) if spec.type == "choice" else written.as_fact(spec, words)
    if value is None:
        raise ValueError(f"“{words}” {_cure(spec)}")
    if spec.type in ("int", "number") and isinstance(value, (int, float)):
        _in_bounds(id, words, value)
    return value


def closed(id: str) -> bool:
    """Whether a number is a level of few, which its options name all."""
    return id in _LEVELS


def _in_bounds(id: str, words: str, value: float) -> None:
    if value < 0:
        raise ValueError(f"“{words}” is below zero. Write a number that is not.")
    if value == 0 and id not in _MAY_BE_NONE and (FACTS[id].group in _COUNTED or id == "params_b"):
        raise ValueError("0 is no answer here. Write 1 or more, or leave the question open.")
    if value > _LEVELS.get(id, value):
        raise ValueError(f"“{words}” is no such level. Write a number from 0 to {_LEVELS[id]}.")
    if id in written.SHARES and not 0 < value <= 1:
        raise ValueError(f"“{words}” is no share. Write a number above 0, at most 1, as 0.6.")
    if not written.possible(FACTS[id], value):
        raise ValueError(f"“{words[:40]}” is more than any run has. Write a smaller number.")


def checked(id: str, value: Value) -> Value:
    """An answer that may have its type already (the batch interface sends JSON values)."""
    spec = FACTS[id]
    if isinstance(value, str):
        return parse_answer(id, value)
    if not isinstance(value, int | float) or (isinstance(value, bool) and spec.type == "text"):
        raise ValueError(
            f"“{str(value)[:40]}” is no answer here. Write one word or one number, or leave the question open."
        )
    if spec.type == "bool" and not isinstance(value, bool) and value in (0, 1):
        return bool(value)
    if spec.type != "number" or isinstance(value, bool):
        return parse_answer(id, str(value))
    if id in _SIZES:
        return float(_size(id, str(value)))
    _in_bounds(id, str(value), float(value))
    return float(value)


def read_answers(answers: Mapping[str, Value], knowledge: Knowledge) -> tuple[dict[str, Fact], list[str]]:
    """Every answer as a fact, and a note for each that was refused. Unknown ids and empty answers are passed over."""
    facts: dict[str, Fact] = {}
    notes: list[str] = []
    for id, value in answers.items():
        if id not in FACTS or value is None or value == "":
            continue
        try:
            facts[id] = Fact(id, _known(id, checked(id, value), knowledge), "answered", written=str(value))
        except ValueError as refusal:
            notes.append(f"{FACTS[id].title}: {refusal}")
    return facts, notes


def _known(id: str, value: Value, knowledge: Knowledge) -> Value:
    """A framework by any of its names becomes its slug, an algorithm the word that is used here; whole numbers lose a decimal point."""
    if id == "framework":
        word = str(value).lower()
        for slug, framework in knowledge.frameworks.items():
            if word in (slug, framework.title.lower(), *(name.lower() for name in framework.detect.names)):
                return slug
            for fork in framework.forks:
                if word in (fork.id, fork.title.lower(), *(name.lower() for name in fork.detect.names)):
                    return fork.id
    if id == "algo":
        return _ALGOS.get(re.sub(r"[^a-z0-9]", "", str(value).lower()), str(value).lower())
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _size(id: str, words: str) -> float | int:
    found = _SIZE.fullmatch(words)
    try:
        size = float(found[1].replace(",", "")) * (KIB if found[2] else 1) if found else -1.0
    except ValueError:
        size = -1.0
    if not 0 <= size <= written.MOST or (size == 0 and id not in _MAY_BE_NONE):
        raise ValueError(f"“{words[:40]}” is no size. Write a number with GB or GiB, as {_SIZES[id]}.")
    return int(size) if size.is_integer() else size


def _cure(spec: FactSpec) -> str:
    if spec.type == "choice":
        return f"is none of the options. Write one of {', '.join(value for value, _ in spec.options)}."
    if spec.type == "bool":
        return "is neither yes nor no. Write true or false."
    if spec.type == "int":
        return "is no whole number. Write digits only, as 8."
    return "is no number. Write digits, as 0.6."
