"""Names of models that only judge: “Skywork-Reward-Llama-3.1-8B”, “reward model: Qwen3-8B”. They are none of the model that is trained."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.types import Fact, Line, Paste

_NAME = re.compile(r"(?<![\w./-])(?=[\w./-]{0,80}\d)[A-Za-z][\w./-]{2,100}", re.A)
# a part of a name by which its makers say what it is for
_JUDGES = re.compile(r"(?:(?<=[-_/.])|^)(?:reward|rm|prm|orm|armorm|guard)(?=[-_.]|$)", re.I | re.A)
# the role before a name: “reward model is …”, “RM (…)”
_ROLE = re.compile(
    r"(?<![\w/.-])(?:reward[ -]models?|reward(?=\s*[:：=(（])|RM|PRM|奖励模型)"
    r"\s*(?:is|was|[:：=(（]|用的?是?|是|为)\s*(?:an?\s+|the\s+)?[`*]*$",
    re.I | re.A,
)
_BEHIND = re.compile(
    r"[`*)）]*\s*(?:as|做|作为?|当作?)\s*(?:an?|the|our|my)?\s*(?:reward|RM\b|PRM\b|奖励模型)", re.I | re.A
)
# that such a model is what is trained, in words or in a command
_TRAINED = re.compile(
    r"\btrain\w*\W+(?:\w+\W+){0,3}?(?:reward|RM\b|PRM\b)|\btrain_(?:rm|prm|reward)"
    r"|reward[ _-]?(?:model(?:l?ing)?[ _-])?(?:train|finetun|fine-tun)"
    r"|\b(?:stage|rlhf_type|task)\W{1,3}(?:rm|prm)\b|\breward(?:trainer|config)\b|训练?\s*(?:一?个\s*)?(?:奖励模型|reward|RM\b)",
    re.I | re.A,
)
_ONLY_JUDGED = frozenset(("rm", "sft", "dpo"))


def without_reward_models(paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact]) -> tuple[Line, ...]:
    """The lines with blanks in the place of such names; as they are where the run may train one."""
    algo = stated.get("algo")
    if algo is not None and algo.value in _ONLY_JUDGED:
        return tuple(speech)
    found = tuple(_blanked(line) for line in speech)
    told = any(new is not old for new, old in zip(found, speech, strict=True))
    return tuple(speech) if told and any(_TRAINED.search(line.words) for line in paste.lines) else found


def _blanked(line: Line) -> Line:
    words = line.words
    for name in _NAME.finditer(words):
        if _JUDGES.search(name[0]) or _ROLE.search(words[: name.start()]) or _BEHIND.match(words, name.end()):
            words = words[: name.start()] + " " * len(name[0]) + words[name.end() :]
    return line if words == line.words else replace(line, words=words)
