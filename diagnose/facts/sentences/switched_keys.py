"""A framework's own switches in a sentence, as the settings that they would be in a command: “vllm_enable_sleep 开了”."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from diagnose.facts.sentences.on_off import OF_ANOTHER, goes_well, switched
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.settings.spelling import normal
from diagnose.facts.whose_run.almost import almost
from diagnose.facts.whose_run.told_to import is_told_to
from diagnose.knowledge.records import Framework
from diagnose.types import Line, Paste, Setting
from diagnose.vocabulary import FACTS

_LONG = 2000
# a switch as one of a list of settings: “PPO 8B, colocate_all_models, …”
_LISTED_BEFORE = re.compile(r"(?:^|[,，、;；+＋(（。:：]|[加和与])\s*[`'\"“]?$", re.A)
_LISTED_AFTER = re.compile(r"^[`'\"”]?\s*(?:[,，、;；+＋)）。]|(?:还是|也|都|就)*\s*(?:爆|炸|OOM|挂)|$)", re.I | re.A)


def with_switches(paste: Paste, speech: Sequence[Line], framework: Framework) -> Paste:
    """The paste with the framework's switches that sentences put on or off, and no key sets, each where all sentences agree."""
    told = tuple(_settings(speech, framework, {normal(setting.key).rpartition(".")[2] for setting in paste.settings}))
    return replace(paste, settings=(*paste.settings, *told)) if told else paste


def _settings(speech: Sequence[Line], framework: Framework, given: Collection[str]) -> Iterator[Setting]:
    form = _switches(framework)
    found: dict[str, list[Setting]] = {}
    for line in speech:
        if len(line.words) > _LONG:
            continue
        for match in form.finditer(line.words):
            name = normal(match[0].lstrip("-").replace(" ", "_"))
            if name in given or almost(line.words, match) or goes_well(line.words, match):
                continue
            if is_told_to(line.words[: match.start()], line.words[match.end() :]):
                continue
            if (on := _state(line.words, match)) is not None:
                setting = Setting(name, str(on).lower(), "sentence", span_of(line, match))
                found.setdefault(name, []).append(setting)
    for settings in found.values():
        if len({setting.value for setting in settings}) == 1:
            yield settings[0]


def _state(words: str, match: re.Match[str]) -> bool | None:
    """On or off by a word; a name as it is written in code is on where it stands in a list."""
    on = switched(words, match.start(), match.end())
    listed = (
        "_" in match[0] and _LISTED_BEFORE.search(words[: match.start()]) and _LISTED_AFTER.match(words[match.end() :])
    )
    return True if on is None and listed else on


@lru_cache(maxsize=128)
def _switches(framework: Framework) -> re.Pattern[str]:
    """The last words of the framework's switches, of two words or more, with blanks or signs between them."""
    names = {
        normal(name).rpartition(".")[2]
        for key in framework.keys
        if not key.dead
        and (FACTS[key.fact].type == "bool" if key.fact else {"true", "false"} <= {word.lower() for word in key.values})
        for name in (key.key, *key.aliases)
    }
    words = sorted((name for name in names if "_" in name), key=len, reverse=True)
    parts = "|".join(re.escape(word).replace("_", "[ _-]") for word in words) or r"(?!)"
    return re.compile(rf"(?<![\w.=/-])(?:--(?=\w))?{OF_ANOTHER}(?:{parts})(?![\w=/-]|\.\w)", re.I | re.A)
