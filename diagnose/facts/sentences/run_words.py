"""Settings in a sentence, where no key gives them: ZeRO stage, ranks, batch words, lengths, samples a prompt, switches.

A value counts where the text gives one and no other; what was merely tried, advised or asked about is left out. Where words alone
tell of the run, what it failed with in a try counts if nothing else is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from diagnose.facts.sentences.form_marks import MARKS
from diagnose.facts.sentences.image_forms import pictured
from diagnose.facts.sentences.on_off import goes_well, switched
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.sentences.run_forms import ANY_BATCH, FORMS, IS
from diagnose.facts.sentences.switch_forms import SWITCHES, is_on, whose
from diagnose.facts.settings import written
from diagnose.facts.whose_run.almost import almost, in_vain
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Line, Span
from diagnose.units import KIB
from diagnose.vocabulary import Value

_ROUND_TOKENS = 128
# a length that rows have, which is no limit of them
_USUAL = re.compile(
    r"(?:\b(?:mean|average|avg\.?|median|typical|usual|real|actual|min(?:imum)?)|平均的?|实际的?|最短的?)\s*(?:real\s+|train\w*\s+)?$",
    re.I | re.A,
)
_USUALLY = re.compile(r"\s*(?:tokens?\s*)?[(（]?(?:on average|in average|avg\b|mean\b)", re.I | re.A)
_FIXED = {"none": "hf", "apart": "server", "nf4": "nf4", "int8": "int8"}  # by the group's name
_MODES = {"colocate": "colocated", "serve": "server"}
# so few rows are those of one card, as nearly everybody who fine-tunes counts them; in a batch of a whole step there are more
_ROWS = (
    rf"{ANY_BATCH}{IS}(?P<n>%s)(?![\w.,]*[A-Za-z\d%%]"
    r"|\s*(?:prompts?|k\b|(?:per|a) (?:node|step)|(?:in (?:total|all)|overall|altogether|globally)\b))"
)
_FEW = re.compile(_ROWS % "[2-8]", re.I | re.A)
# … of a trainer that is told no other batch
_ANY = re.compile(_ROWS % r"[2-9]|[1-5]\d|6[0-4]", re.I | re.A)
# “pp 8, ep 8”: capitals else, since “ep” is also an epoch
_BEHIND_A_DEGREE = "|".join(
    rf"(?<=[tpcdTPCD][pP]{mark}{number}{apart})"
    for mark in ("", "[ =:]")
    for number in (r"\d", r"\d\d")
    for apart in ("[ ,/+、]", ", ")
)
# the ranks of a model-parallel trainer, where no engine is named right before
_RANKS = tuple(
    (
        id,
        re.compile(
            rf"(?:(?<![\w-])|(?<=[pP]\d)|(?<=[pP]\d\d))(?<!vllm )(?<!sglang )(?<!rollout )(?<!infer )(?<!推理 )(?<!推理){form}"
            r"\s*[=:：]?\s*(?P<n>\d{1,3})(?![\d_%]|\.\d|[A-Za-z](?!P\d|p\d))",
            re.A,
        ),
    )
    for id, form in (
        ("tp", "(?:[Tt][Pp]|[Tt]ensor[ -][Pp]arallel(?:ism)?)"),
        ("pp", "(?:[Pp][Pp]|[Pp]ipeline[ -][Pp]arallel(?:ism)?)"),
        ("ep", rf"(?:EP|ep(?=\d)|(?:{_BEHIND_A_DEGREE})ep)"),
        # “cp” is also the shell's word for a copy: what it counts is none
        (
            "sp",
            rf"(?:CP|cp(?=\d)|(?:{_BEHIND_A_DEGREE})cp(?=[ =:]?\d{{1,3}}\s*(?:$|[^\w\s]|(?:[tped]|et)p[ =:]?\d))"
            r"|[Cc]ontext[ -][Pp]arallel(?:ism)?)",
        ),
    )
)
# only who splits layers speaks of stages, and of its own ranks beside them: “PP=4 TP=2 EP=8”
_STAGES = re.compile(r"(?<![\w-])[Pp][Pp]\s*[=:：]?\s*\d{1,3}(?![\d_%A-Za-z]|\.\d)", re.A)
# an engine that runs alone
_ALONE = {"trains": False, "rollout_mode": "server"}
# the same of a trainer that splits no layer: then only its engine does
_OF_ENGINE = (
    (
        "rollout_tp",
        re.compile(
            # in “TP1]” a rank stands before its message (sglang/srt/utils: configure_logger)
            r"(?<![\w-])(?:tp|tensor[ _-]parallel(?:ism)?|张量并行)(?:[ _-]?size)?\s*(?:[=:：]|[改设调换][到成为])?\s*"
            r"(?P<n>[1-9]\d?)(?![\w%]|\.\d|[A-Z\d ]{0,12}\])",
            re.I | re.A,
        ),
    ),
)
_STAGE_WORD = re.compile(
    r"(?<![\w-])(?P<key>deepspeed)\s*(?:也|都)?\s*(?:=|:|：|是|用的?是?|with|is|at)?\s*[`\"']?"
    r"(?P<value>(?:default-)?zero[-_ ]?[123](?:[-_ ]?offload)?)\b",
    re.I | re.A,
)


def run_words(
    speech: Sequence[Line], stated: Mapping[str, Fact], framework: Framework | None = None, *, alone: bool = False
) -> dict[str, Fact]:
    """Facts that sentences give and nothing else does; some mean what they do in the run's ``framework`` alone.

    ``alone``: no command tells of the run.
    """
    ranks = _ranks(speech, stated, framework)
    lines = [line for line in speech if len(line.words) <= 2000]
    found = facts_by_id(fact for line in lines for fact in _of_line(line, ranks) if fact.id not in stated)
    if alone:
        tried = facts_by_id(fact for line in lines for fact in _of_line(line, ranks, in_vain) if fact.id not in stated)
        found = tried | found
    # of several values those with which it fails
    left = facts_by_id(fact for line in lines for fact in _of_line(line, ranks, _fails) if fact.id not in stated)
    told = the_only(left) | the_only(found)
    if "micro_batch" not in {**stated, **left} and (few := _few_rows(speech, framework)):
        told["micro_batch"] = few
    return told


def _ranks(
    speech: Sequence[Line], stated: Mapping[str, Fact], framework: Framework | None
) -> Sequence[tuple[str, re.Pattern[str]]]:
    """What a plain TP means: the engine's where the trainer has no other, but for Megatron, of which nothing speaks here."""
    if {id: stated[id].value for id in ("trains", "rollout_mode") if id in stated} == _ALONE:
        return _OF_ENGINE
    if framework is None or any("megatron" in line.words.lower() for line in speech):
        return ()
    strategy = stated["strategy"].value if "strategy" in stated else framework.usual_strategy
    own = [key.key for key in framework.keys if key.fact == "tp"]
    engine = any(key.fact == "rollout_tp" for key in framework.keys)
    alone = strategy in ("ddp", "deepspeed", "fsdp", "fsdp2") and all("model_parallel" in key for key in own)
    return _OF_ENGINE if engine and alone else ()


def _few_rows(speech: Sequence[Line], framework: Framework | None) -> Fact | None:
    """A batch of no kind that is so small that it can only be one card's, or whose trainer is told no other, taken as that."""
    each = framework is not None and any(
        key.fact == "micro_batch" and key.key.startswith("per_device") for key in framework.keys
    )
    places = [
        (line, match)
        for line in speech
        if len(line.words) <= 2000
        for match in (_ANY if each else _FEW).finditer(line.words)
        if _fails(line.words, match)
    ]
    if len({match["n"] for _, match in places}) != 1:
        return None
    line, match = places[0]
    why = "a batch of so few rows nearly always means that of one card"
    if each:
        why = "this trainer's batch is told for each card"
    return Fact("micro_batch", int(match["n"]), "assumed", written=match[0].strip(), span=span_of(line, match), why=why)


def facts_by_id(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """The facts of each id in their order."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.id, []).append(fact)
    return found


def the_only(found: Mapping[str, Sequence[Fact]]) -> dict[str, Fact]:
    """The first fact of each id of which all are of one value."""
    return {id: facts[0] for id, facts in found.items() if len({fact.value for fact in facts}) == 1}


def _holds(words: str, match: re.Match[str]) -> bool:
    return not almost(words, match)


def _fails(words: str, match: re.Match[str]) -> bool:
    return not (almost(words, match) or goes_well(words, match))


def _of_line(
    line: Line,
    ranks: Sequence[tuple[str, re.Pattern[str]]],
    counts: Callable[[str, re.Match[str]], bool] = _holds,
) -> Iterator[Fact]:
    words = line.words.lower()
    marked = [id for id in FORMS if any(mark in words for mark in MARKS[id])]
    forms = [(id, form) for id in marked for form in FORMS[id]]
    for id, form in (*forms, *(_RANKS if "megatron" in words or (not ranks and _STAGES.search(line.words)) else ranks)):
        for match in form.finditer(line.words):
            if counts(line.words, match) and switched(line.words, match.start(), match.end()) is not False:
                value = _value(id, match)
                if value is None or (id.endswith("_length") and _usual(line.words, match)):
                    continue
                yield Fact(id, value, "read", written=match[0].strip(), span=span_of(line, match))
    yield from _switches(line, words, counts)


def _switches(line: Line, lowered: str, counts: Callable[[str, re.Match[str]], bool]) -> Iterator[Fact]:
    """What the words have on or off, of each role the first time they say which."""
    for id, marks, form in SWITCHES:
        told: set[str] = set()
        for match in form.finditer(line.words) if any(mark in lowered for mark in marks) else ():
            on = is_on(id, line.words, match)
            roles = [role for role in whose(id, line.words, match) if role not in told]
            told.update(roles)
            for role in roles if on is not None and counts(line.words, match) else ():
                if (switch := written.of(role, str(on).lower())) is not None:
                    yield Fact(role, switch, "read", written=match[0], span=span_of(line, match))


def _usual(words: str, match: re.Match[str]) -> bool:
    """Whether a length is what rows have, and no limit of them."""
    return bool(_USUAL.search(words[: match.start()][-32:]) or _USUALLY.match(words, match.end()))


def _value(id: str, match: re.Match[str]) -> Value | None:
    """The number with its k, or the word where the fact is one of a few."""
    groups = match.groupdict()
    if (fixed := next((value for name, value in _FIXED.items() if name in groups), None)) is not None:
        return fixed
    if id in ("max_pixels", "images_per_prompt"):
        return pictured(match)
    if "word" in groups:
        word = match["word"].lower()
        return written.of(id, _MODES.get(word, word))
    if "share" in groups:
        return float(match["share"])
    if "named" in groups:
        return match["named"].lower()
    if "eight" in groups:
        return "paged_adamw_8bit" if groups["paged"] else "adamw_8bit"
    if "on" in groups or "off" in groups:
        return "on" in groups
    if "full" in groups:
        return 3
    if "round" in groups and int(match["n"]) % _ROUND_TOKENS:
        return None
    return int(match["n"].replace(",", "")) * (KIB if groups.get("k") else 1)


def worded_settings(speech: Sequence[Line], given: Mapping[str, str]) -> dict[str, tuple[str, Span]]:
    """A launcher's stage named in a sentence, as the key that would set it; nothing where a key does, or where two are named."""
    if any(key.lower().rsplit(".", 1)[-1] == "deepspeed" for key in given):
        return {}
    found = [(match, line) for line in speech for match in _STAGE_WORD.finditer(line.words)]
    values = {match["value"].lower() for match, _ in found}
    if len(values) != 1:
        return {}
    match, line = found[0]
    return {match["key"]: (match["value"], span_of(line, match, "value"))}
