"""One card where nothing counts them: spoken of in the singular, of a laptop or a PC with Windows, or the one that somebody asks about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.hardware.card_patterns import ONE_CARD, RANK_OF
from diagnose.facts.hardware.cards import Mention
from diagnose.facts.sentences.lowered import Lowered
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.whose_run.others import of_others
from diagnose.types import Fact, Line

_PC = re.compile(
    r"(?<![\w/])[A-Z]:\\\\?(?:Users|[A-Za-z][\w .-]{0,60}\\)|‹path›\\|/mnt/[c-f]/|\bWSL\s?2?\b|\bMPS backend\b|\blaptop\b"
    r"|笔记本(?:电脑|\s*\d|上|的)",
    re.A,
)
_SEVERAL = re.compile(
    r"\btorchrun\b|\bNPROC_PER_NODE\b|--nproc|\bnum_processes\b|\bworld_size\b|\[rank[1-9]|\b(?:GPU|cuda:)\s?[1-9]\b|\d\s*[x×*]\s*(?:RTX|A\d|V100|T4)"
    r"|\bCUDA_VISIBLE_DEVICES=\d,|双卡|多卡|[两四八]张",
    re.I | re.A,
)
# every word for a PC holds one of these, in lower case
_MARKS = (":\\", "‹path›\\", "/mnt/", "wsl", "mps backend", "laptop", "笔记本")
_LONGEST = 2000


def one_card(speech: Sequence[Line]) -> dict[str, Fact]:
    """One card, where the text speaks of the card in the singular and nothing counts cards; those of all ranks, where it numbers one."""
    for line in speech:
        if (rank := RANK_OF.search(line.words)) and not of_others(line.words, rank.start()):
            return {"n_gpus": Fact("n_gpus", int(rank["n"]), "read", written=rank[0], span=span_of(line, rank))}
        if found := ONE_CARD.search(line.words):
            return {"n_gpus": Fact("n_gpus", 1, "read", written=found[0], span=span_of(line, found))}
    return {}


def one_of_a_pc(lines: Sequence[Line], lowered: Lowered) -> dict[str, Fact]:
    """One card, taken as such where the machine is a PC and nothing speaks of several."""
    if not any(mark in lowered.whole for mark in _MARKS):
        return {}
    read = [line for line in lines if len(line.words) <= _LONGEST]
    line, found = next(((line, found) for line in read if (found := _PC.search(line.words))), (None, None))
    if line is None or found is None or any(_SEVERAL.search(line.words) for line in read):
        return {}
    why = "a laptop or a PC nearly always has one card"
    return {"n_gpus": Fact("n_gpus", 1, "assumed", written=found[0], span=span_of(line, found), why=why)}


# asks for a number of cards, or speaks of more than one
_HOW_MANY = re.compile(
    r"\bhow many\b|\bmulti-?(?:gpu|card|node)|\b(?:gpus|cards|nodes)\b|几\s*[张块卡台]|多少\s*[张块卡台]|多[卡机]",
    re.I | re.A,
)


# asks how much memory a run takes, and counts nothing
_HOW_MUCH = re.compile(
    r"\bhow much\s+(?:v?ram|(?:gpu |video |cuda )?memory|vram memory)\b"
    r"|(?:多少|多大)\s*(?:[gG][bB]?\s*)?(?:的)?\s*显存|显存(?:要|需要)?\s*(?:多少|多大)",
    re.I | re.A,
)
_TRAINS = ("algo", "full_or_lora", "lora_rank", "micro_batch")
_DEGREES = ("tp", "pp", "ep", "sp", "rollout_tp")


def one_asked_about(lines: Sequence[Line], said: Sequence[Mention], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """One card, where somebody asks whether a run would fit and names the card in the singular, without a number.

    Not where the run's settings spread a model over several.
    """
    read = [line for line in lines if len(line.words) <= _LONGEST]
    if not said:
        return _one_measured_by(read, stated)
    if "planned" not in stated or any((mention.count or 1) > 1 or mention.nodes for mention in said):
        return {}
    if any(id in stated and stated[id].value not in (0, 1) for id in _DEGREES):
        return {}
    if any(_SEVERAL.search(line.words) or _HOW_MANY.search(line.words) for line in read):
        return {}
    texts = {line.number: line.text for line in lines}
    words = [texts[mention.span.line][mention.span.start : mention.span.end] for mention in said]
    if any(re.search(r"\ds\b", word, re.A) for word in words):
        return {}
    why = "a card that is named without a number"
    return {"n_gpus": Fact("n_gpus", 1, "assumed", written=words[0], span=said[0].span, why=why)}


def _one_measured_by(lines: Sequence[Line], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """One card, where somebody asks how much GPU memory a training takes, tells of no failure and counts no cards."""
    if "oom_kind" in stated or not any(id in stated for id in _TRAINS):
        return {}
    if any(_SEVERAL.search(line.words) or _HOW_MANY.search(line.words) for line in lines):
        return {}
    if any(id in stated and stated[id].value not in (0, 1) for id in (*_DEGREES, "n_nodes")):
        return {}
    line, found = next(((one, it) for one in lines if (it := _HOW_MUCH.search(one.words))), (None, None))
    if line is None or found is None:
        return {}
    why = "the memory of one card, where nobody counts them"
    return {"n_gpus": Fact("n_gpus", 1, "assumed", written=found[0], span=span_of(line, found), why=why)}
