"""Models in words: names of the catalogue, names with a size, families, scripts, and a size alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.models.model_names import (
    NAMED,
    SIZE_IN_NAME,
    Name,
    find_model,
    named_in,
    packed,
    spoken_names,
    whole_name,
)
from diagnose.facts.sentences.prose import clause_of, span_of
from diagnose.facts.whose_run.others import of_others
from diagnose.knowledge.hardware import Models
from diagnose.types import Line
from diagnose.vocabulary import OFFLINE_ALGOS, ONLINE_ALGOS

_FILE = re.compile(r"\.(?:png|jpe?g|gif|sh|py|ya?ml|jsonl?|log|txt|md)$", re.I | re.A)
SIZED = re.compile(r"\d[bB]", re.A)  # in every name with a size
# what stands before the name of such a model: one that is never trained, and one that may be
_ROLE = r"(?:\s*(?:model|server))?\s*(?:is|was|[:：=(（]|用的?是?|是|为)?\s*(?:an?\s+)?[\w./-]{0,60}$"
_NEVER_TRAINED = re.compile(
    r"(?<![\w/.-])(?:teacher|judge|verifier|embedding|draft|genrm|reward (?:server|service|api)"
    rf"|裁判模型|打分模型|教师模型|老师模型){_ROLE}",
    re.I | re.A,
)
_USED_AS = re.compile(
    r"[`*)）\s]*(?:as|is|做|作为?|当作?|是)\s*(?:an?|the|our)?\s*(?:teacher|judge|verifier|draft|裁判|教师|打分)",
    re.I | re.A,
)
# the same behind the name, where no other name stands behind the role: “Qwen2.5-72B judge, …”
_NO_NAME = (
    r"(?!\s*(?:models?\s*)?(?:[:：=(（]|is\b|was\b|用|是)?\s*(?:[A-Za-z][\w.]{0,40}[-_ ]?)?\d)"
    r"(?![\w-]|\s*(?:forcing|train)|模型?训练)"
)
_NEVER_BEHIND = re.compile(
    rf"[`*)）\s]{{0,4}}(?:的\s*)?(?:teacher|judge|verifier|裁判(?:模型)?|教师模型|老师模型|打分模型)(?:\s+model)?{_NO_NAME}",
    re.I | re.A,
)
_SELDOM_BEHIND = re.compile(
    rf"[`*)）\s]{{0,4}}(?:的\s*)?(?:reward model|RM|critic|value model|奖励模型|价值模型)(?:\s+model)?{_NO_NAME}",
    re.I | re.A,
)
_TO_TRAIN = re.compile(
    r"(?:\btrain(?:s|ed|ing)?|\btun(?:e|ed|ing)|训练?)\s*(?:an?\s+|the\s+|my\s+|our\s+)?$", re.I | re.A
)
_SELDOM_TRAINED = re.compile(
    rf"(?<!train )(?<!training )(?<!train a )(?<!training a )(?<!训练)(?<!训)(?<!训练 )(?<!训 )(?<![\w/.-])"
    rf"(?:reward|critic|value|奖励模型){_ROLE}",
    re.I | re.A,
)
# a name of two models, such as a teacher's and its student's
_ONE_TO_ANOTHER = re.compile(r"\d[bB][-_]to[-_](?:[A-Za-z]\w*[-_])?\d", re.A)
# a name that stands for several sizes names no model
_MORE_SIZES = re.compile(r"^\s*(?:/|、|,|&|and|or|to|和|与|或|到)\s*\d{1,3}(?:\.\d+)?\s?[bB]\b", re.I | re.A)
_WELL = re.compile(
    r"\b(?:fine|works?|worked|no (?:problem|oom)\w*|enough|fits?|(?:is|was|runs) (?:ok(?:ay)?|good|well)"
    r"|without (?:any )?(?:problem|trouble|oom))\b"
    r"|没有?问题|没事|没爆|正常|不会|能跑|可以跑|够用|足够",
    re.I | re.A,
)
_BESIDE = re.compile(
    r"\b(?:instead of|compared (?:to|with)|unlike|reproduc\w+|replicat\w+"
    r"|previously|originally|wanted|(?:switched|moved|changed|went) from)\b[^,，;；.。]{0,20}$"
    r"|(?:复现|原来|之前|本来|以前|原本|想用|想跑|相比|从)[^,，;；。]{0,8}$",
    re.I | re.A,
)
# … or that the same happens with it
_ALIKE = re.compile(
    r"\s*(?:(?:shows?|showed|has|have|had|gives?|gave|does|did|behaves?) (?:exactly )?the same\b|(?:fails?|ooms?|crashes) (?:as well|too)\b"
    r"|(?:的)?也是?(?:一样|同样|这样|如此))",
    re.I | re.A,
)
_SWITCHED = re.compile(
    r"(?:(?:switch|mov|chang)\w*(?: \w+){0,3} to|replaced (?:it )?(?:by|with)|now with)\s+(?:an?\s+|the\s+)?$"
    r"|(?:换成|改成|换到|改用|换为|换了)\s*$",
    re.I | re.A,
)
_MACHINE = re.compile(
    r"\d[bB]-(?:[a-z0-9]+-){0,3}(?:worker|head|master|launcher|node|pod|trainer|rank)(?:-?\d+|-[a-z0-9]{5})$", re.A
)
# the owner's page of a model with its size behind it
_HUB_SIZED = re.compile(
    r"(?<![\w/.:-])[A-Za-z][\w.-]{1,40}/(?P<name>[A-Za-z][\w.-]{1,80})[`*]*\s*[(（]\s*~?(?P<size>\d{1,3}(?:\.\d+)?)\s?B\b",
    re.A,
)
# a name of capitals and small letters before a size and the word model
_MIXED = re.compile(
    r"(?<![\w/.-])(?P<word>(?=[A-Za-z]*[a-z])[A-Z][A-Za-z]*[A-Z][A-Za-z]*)[ -](?P<size>\d{1,3}(?:\.\d{1,2})?\s?[BM])\s+(?:models?\b|模型)",
    re.A,
)
_OF_RUNS = frozenset(
    (
        "train",
        "training",
        "run",
        "job",
        "exp",
        "test",
        "debug",
        "baseline",
        "my",
        "rl",
        "rlhf",
        "full",
        *ONLINE_ALGOS,
        *OFFLINE_ALGOS,
    )
)
_NOT_MODELS = frozenset(("lora", "qlora", "dora", "zero", "deepspeed"))
_TRAINED = re.compile(
    r"(?:\b(?:train|fine-?tune)(?:s|ing|ed)?\s+(?:of\s+)?(?:the\s+)?|训练?\s*|微调\s*)(?P<name>[A-Za-z]{2,20}-?\d\.\d(?:-?[A-Za-z]{1,10})?)(?![\w.-])",
    re.I | re.A,
)
# a family and a size inside a script's name: train_…_qwen_7b_… may be of any generation
_FAMILY = re.compile(r"[A-Za-z]+[-_]\d+[bB]", re.A)
SCRIPT = re.compile(r"(?<![\w.-])[\w./-]{1,120}\.(?:sh|py|ya?ml)\b|(?<=\s-m )[\w.]{1,120}", re.A)


def of_words(speech: Sequence[Line], models: Models) -> list[Name]:
    """Every name in the text; those that the person moved to first, those that all went well with marked."""
    found = sorted(_names(speech, models), key=lambda one: not one[1])
    return [name for name, _ in found]


def _names(speech: Sequence[Line], models: Models) -> Iterator[tuple[Name, bool]]:
    pattern = spoken_names(models) if models else None
    whole = packed("".join(line.words for line in speech))
    named = named_in(whole, models)
    for line in speech:
        words = packed(line.words) if named else ""
        taken: list[int] = []
        for found in pattern.finditer(line.words) if pattern and any(name in words for name in named) else ():
            name = found[0]
            slug = "" if _ONE_TO_ANOTHER.search(line.words, *found.span()) else find_model(name, models)
            if slug and _long_enough(name) and not _MORE_SIZES.match(line.words[found.end() :]):
                taken.append(found.start())
                other = whole_name(name, models)
                # words joined by underscores are a folder's or an experiment's name
                certain = bool(other) or "_" not in found["tail"]
                aside, moved = standing(line.words, found)
                scripts = [script.span() for script in SCRIPT.finditer(line.words)]
                shipped = any(start <= found.start() < end for start, end in scripts)  # a shipped example's name
                if _never_trained(line.words, found):
                    continue
                if shipped and _FAMILY.fullmatch(found["name"]) and line.words[: found.start()].endswith("_"):
                    continue
                aside |= shipped
                yield Name(other or name.strip(), span_of(line, found), certain=certain, slug=slug, aside=aside), moved
            elif slug:
                taken.append(found.start())
        for found in NAMED.finditer(line.words) if SIZED.search(line.words) else ():
            slug = find_model(found["name"], models)
            several = _MORE_SIZES.match(line.words[found.end() :])
            if (
                (_ONE_TO_ANOTHER.search(found["name"]) or several or (not slug and of_a_run(found["name"])))
                or _FILE.search(found["name"])
                or any(found.start() <= at < found.end() for at in taken)
                or _never_trained(line.words, found)
            ):
                continue
            aside, moved = standing(line.words, found)
            written = (slug and whole_name(found["name"], models)) or found["name"]
            yield Name(written, span_of(line, found, "name"), slug=slug, aside=aside), moved


def of_a_run(name: str) -> bool:
    """Whether a name with a size is made of nothing but words by which runs are told apart: ``grpo-7b``, ``my-sft-run-7b``.

    Or is that of one of the run's machines: ``big-32b-worker-3``.
    """
    if _MACHINE.search(name):
        return True
    size = SIZE_IN_NAME.search(name)
    parts = re.split(r"[-_.]+", name[: size.start()].lower()) if size else []
    return any(parts) and all(part in _OF_RUNS or part.isdigit() for part in parts if part)


def _never_trained(words: str, found: re.Match[str]) -> bool:
    behind = _NEVER_BEHIND.match(words, found.end()) and not _TO_TRAIN.search(
        words[max(0, found.start() - 24) : found.start()]
    )
    return bool(behind or _NEVER_TRAINED.search(words[: found.start()]) or _USED_AS.match(words, found.end()))


def _long_enough(name: str) -> bool:
    """Five letters, or fewer with a mark that no word has: a number behind a dash, capitals inside."""
    return len(packed(name)) >= 5 or bool(re.search(r"[A-Za-z]-\d|[a-z][A-Z]", name))


def standing(words: str, found: re.Match[str]) -> tuple[bool, bool]:
    """Whether the clause says that all went well with it or only compares, and whether the person moved to it."""
    _, clause = clause_of(words, found)
    before = words[max(0, found.start() - 32) : found.start()]
    well = bool(_WELL.search(clause)) and not FAILURE.search(clause)
    behind = _SELDOM_BEHIND.match(words, found.end()) and not _TO_TRAIN.search(before)
    other = (
        behind
        or _ALIKE.match(words, found.end())
        or _SELDOM_TRAINED.search(words[: found.start()])
        or of_others(words, found.start())
    )
    return well or bool(_BESIDE.search(before) or other), bool(_SWITCHED.search(before))


def of_family(speech: Sequence[Line], models: Models, stop: Iterable[str] = ()) -> Name | None:
    """What is surely a model's name though the catalogue does not hold it: a family with a size or a version, a hub page."""
    words = "".join(line.words for line in speech).lower()
    forms = _family_forms(models) if any(stem.lower() in words for stem in _stems(models)) else ()
    if forms and (turned := _turned(speech, models)):
        return turned
    for form in forms:
        for line in speech:
            found = form.search(line.words)
            if found and not _never_trained(line.words, found):
                several = _MORE_SIZES.match(line.words[found.end() :])
                return None if several else Name(found[0], span_of(line, found))
    others = _NOT_MODELS | {word.lower() for word in stop}
    for line in speech:
        if found := _HUB_SIZED.search(line.words):
            return Name(found["name"], span_of(line, found, "name"))
        if (found := _MIXED.search(line.words)) and found["word"].lower() not in others:
            return Name(f"{found['word']} {found['size']}", span_of(line, found))
    return _of_script(speech, models) or _trained(speech, others)


@lru_cache(maxsize=4)
def _stems(models: Models) -> tuple[str, ...]:
    return tuple(sorted({found[0] for model in models if (found := re.match(r"[A-Za-z]{4,}", model.title))}))


@lru_cache(maxsize=4)
def _family_forms(models: Models) -> tuple[re.Pattern[str], ...]:
    """A family of the catalogue with a size or a version that it does not hold: “llama-70B”, “Qwen 1.5B”."""
    if not _stems(models):
        return ()
    family = rf"(?<![\w/.-])(?:{'|'.join(_stems(models))})"
    return (
        re.compile(rf"{family}[\d.]*(?:-[A-Za-z]+)*[ -]?\d{{1,3}}(?:\.\d+)?[bBmM](?![\w/])", re.I | re.A),
        re.compile(rf"{family}-?\d(?:\.\d)?(?:-?VL|-?Omni|-?Next)?(?![\w/.-])", re.I | re.A),
    )


@lru_cache(maxsize=4)
def _turned_form(models: Models) -> re.Pattern[str]:
    """A size before a family with its version: “8b qwen3”, “7B Qwen2.5-VL”; none of several sizes."""
    family = rf"(?:{'|'.join(_stems(models))})[- ]?\d{{1,2}}(?:\.\d)?[A-Za-z]{{0,10}}(?:-[A-Za-z]{{1,12}}){{0,3}}"
    several = r"(?<![bB]/)(?<![bB] / )(?<![bB],)(?<![bB], )(?<![bB]、)(?<![bB]和)(?<!and )(?<!or )"
    return re.compile(
        rf"(?<![\w./-]){several}(?P<size>\d{{1,3}}(?:\.\d{{1,2}})?)\s?b[\s-]+(?:的\s*)?(?P<family>{family})(?![\w/-]|\.\w)",
        re.I | re.A,
    )


def _turned(speech: Sequence[Line], models: Models) -> Name | None:
    """The only model of the catalogue that such words name."""
    found = [(match, line) for line in speech for match in _turned_form(models).finditer(line.words)]
    slugs = {find_model(f"{match['family']}-{match['size']}B", models) for match, _ in found}
    if len(slugs) != 1 or not (slug := slugs.pop()):
        return None
    match, line = found[0]
    aside, _ = standing(line.words, match)
    title = next(model.title for model in models if model.slug == slug)
    return None if aside else Name(title, span_of(line, match), slug=slug)


def _of_script(speech: Sequence[Line], models: Models) -> Name | None:
    """A script whose name holds a family of the catalogue and a size."""
    for line in speech:
        for found in SCRIPT.finditer(line.words):
            parts = re.split(r"[/_.-]", found[0].lower())
            stem = next((stem for stem in _stems(models) if stem.lower() in parts), "")
            size = next((part for part in parts if re.fullmatch(r"\d{1,3}b", part)), "")
            if stem and size:
                return Name(f"{stem.lower()}-{size.upper()}", span_of(line, found))
    return None


def _trained(speech: Sequence[Line], others: frozenset[str]) -> Name | None:
    """A word with a version that the text says is trained."""
    for line in speech:
        found = _TRAINED.search(line.words)
        if found and re.split(r"[\d-]", found["name"])[0].lower() not in others:
            return Name(found["name"], span_of(line, found, "name"))
    return None
