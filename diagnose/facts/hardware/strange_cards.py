"""Cards and accelerators that the catalogue does not hold: named as such, counted and sized by the words alone.

What shares the host's memory has no size of its own here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.hardware.cards import Mention, aside, names, tight
from diagnose.facts.hardware.cards import mentions as known_mentions
from diagnose.facts.sentences.prose import NUMERAL, numeral, span_of
from diagnose.facts.whose_run.others import of_others
from diagnose.knowledge.hardware import USUAL_MAKER, Gpu
from diagnose.types import Fact, Line

_LONG = 2000
_CONSUMER = (
    r"GTX\s?\d{3,4}(?:\s?(?:Ti|Super))?|RTX\s?(?:PRO\s?)?A?\d{4}(?:\s?(?:Ti|Super|Ada|D))?(?![A-Za-z\d])"
    r"|RX\s?\d{4}(?:\s?(?:XTX?|GRE))?|Arc\s[AB]\d{3}|Titan\s?(?:V|Xp?)(?![A-Za-z])"
)
_OF_SERVERS = (
    r"Tesla\s(?:K80|M40|M60|P4)|(?:NVIDIA\s)?(?:K80|M40|A16)(?=\s*\d{2}\s?GB?|\s*GPU)|NVIDIA A(?:2|16)|MI(?:50|60|100)|Gaudi\s?\d?"
    r"|(?:Cambricon\s)?MLU\s?\d{3}|(?:海光|Hygon)\s?(?:DCU\s?)?[KZ]\d{2,3}(?:_?AI)?|(?:沐曦|MetaX)\s?C\d{3}"
    r"|(?:摩尔线程|MTT)\s?S\d{2,4}|(?:昇腾|Ascend)\s?(?:910A|310\w?)"
)
_NAME = rf"(?P<name>{_CONSUMER}|{_OF_SERVERS})"
_SHARED = (
    r"(?P<shared>DGX Spark|GB10|TPU(?:\s?v\d\w{0,2}(?:-\d{1,4})?)?|Jetson(?:\s(?:AGX|Orin|Xavier|Nano|Thor)){0,2}|Strix Halo"
    r"|Mac(?:Book|\s?Studio|\s?mini)(?:\s(?:Pro|Air))?(?:\sM[1-5](?:\s(?:Pro|Max|Ultra))?)?|M[1-5] (?:Pro|Max|Ultra))"
)
_STRANGE = re.compile(
    rf"(?:(?<![A-Za-z0-9_.\-=/])(?P<count>{NUMERAL})\s*(?:[x×*]|张|块|卡|\s)\s*(?:(?:NVIDIA|GeForce|Intel|AMD|Radeon)\s)*)?(?<![A-Za-z0-9_.\-/])"
    rf"(?:{_NAME}|{_SHARED})s?(?![A-Za-z0-9_])"
    rf"(?:[\s,，(（\-]{{0,3}}(?P<size>\d{{1,3}})\s?Gi?B?(?![A-Za-z0-9])(?!\s*(?:内存|ram\b|of ram)))?"
    r"(?:\s*[)）]?\s*(?:[x×*]\s*(?P<times>\d{1,3})(?![\w.])|(?P<behind>\d{1,3})\s*[卡张块]))?",
    re.I | re.A,
)


def strange_cards(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> Iterator[tuple[Line, re.Match[str]]]:
    """The places that name such a card; groups: name or shared, count, times, behind, size."""
    known = names(gpus).packed
    for line in speech:
        for found in _STRANGE.finditer(line.words) if len(line.words) <= _LONG else ():
            if tight((found["name"] or found["shared"]).lower()) not in known:
                yield line, found


def mentions(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> list[Mention]:
    """Every mention of cards; where none of the catalogue is named, those of others first."""
    said = list(known_mentions(speech, gpus))
    return said if any(mention.gpu for mention in said) else [*_strange_mentions(speech, gpus), *said]


def _strange_mentions(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> Iterator[Mention]:
    """How many there are and what each holds, where the words tell it; of what shares the host's memory nothing."""
    for line, found in strange_cards(speech, gpus):
        word = found["count"] or found["times"] or found["behind"]
        if found["name"] and (word or found["size"]) and not of_others(line.words, found.start()):
            size = float(found["size"]) if found["size"] else None
            count = numeral(word) if word else None
            yield Mention(span_of(line, found), count=count, size=size, aside=aside(line.words, found))


def one_memory(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """Whether a machine is named whose cards have no memory of their own; a TPU has."""
    for line, found in strange_cards(speech, gpus):
        if (word := found["shared"]) and not word.upper().startswith("TPU"):
            return {"one_memory": Fact("one_memory", True, "read", written=word, span=span_of(line, found))}
    return {}


def told_strange(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> Iterator[str]:
    """A sentence for the first of them."""
    for _, found in strange_cards(speech, gpus):
        word = re.sub(r"\s+", " ", found["name"] or found["shared"])
        if found["name"]:
            yield f"{word} is not in the catalogue: what it holds counts where the text tells it."
        else:
            yield f"{word} is not in the catalogue: it shares its memory or is no GPU, so no limit is known and the estimate is a GPU's."
        return


def maker(known: Mapping[str, Fact], gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """Who makes the card, where it is not the maker of most."""
    card = known.get("gpu_model")
    vendor = next((gpu.vendor for gpu in gpus.values() if card is not None and gpu.title == card.value), USUAL_MAKER)
    if vendor == USUAL_MAKER:
        return {}
    return {"gpu_maker": Fact("gpu_maker", vendor, "derived", why="follows from the card")}
